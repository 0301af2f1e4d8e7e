package roundtrip

import (
	"testing"

	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

func TestNewSaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   []string
	}{
		{Config{}, []string{`scheme is ""`, `http is ""; expected 2, 3`}},
		{Config{URL: "ftp://h/", Version: "2"}, []string{`scheme is "ftp"; expected http, https`}},
		{Config{URL: "http://h/", Version: "3"}, []string{"HTTP/3 needs https"}},
		{Config{URL: "https:///x", Version: "3"}, []string{"no host"}},
		{Config{URL: "https://me:secret@h/", Version: "3"}, []string{"user information", "xxxxx"}},
		{Config{URL: "http://h/", Version: "2", TLS: wire.TLS{Insecure: true}}, []string{"insecure requires an https URL"}},
		{Config{URL: "https://h/", Version: "2", TLS: wire.TLS{CA: []byte("x"), Key: []byte("y")}}, []string{"ca_file holds no certificate in PEM form", "cert_file: tls: failed to find any PEM data"}},
		{Config{URL: "https://h/", Version: "3", TLS: wire.TLS{NoSNI: true}}, []string{"TLS.NoSNI is not possible"}},
		{Config{URL: "https://h/", Version: "2", ExpectStatus: []int{99, 1000}}, []string{"expect_status is 99; expected 100 to 999", "expect_status is 1000"}},
		{Config{URL: "https://h/", Version: "2", Method: "GE T"}, []string{`method is "GE T"; expected letters`}},
		{Config{URL: "https://h/", Version: "2", Sharing: wire.Connections{Sharing: wire.PerIteration, N: 2}}, []string{"per-iteration with N 2"}},
		{Config{URL: "https://h/", Version: "2", Header: []wire.Field{{Name: "connection", Value: "close"}, {Name: "a b", Value: "c"}, {Name: "X", Value: "a\nb"}}},
			[]string{`header connection is not possible in HTTP/2`, `"a b" is not a token`, "control character"}},
	} {
		_, err := New(test.config)
		wiretest.Mistakes(t, err, test.want...)
	}
}
