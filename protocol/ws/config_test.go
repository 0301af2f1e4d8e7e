package ws

import (
	"strings"
	"testing"

	"contend/protocol/wire"
)

func TestNewSaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   []string
	}{
		{Config{}, []string{`scheme "" is not ws or wss`}},
		{Config{URL: "http://host/"}, []string{`scheme "http" is not ws or wss`}},
		{Config{URL: "ws:///path"}, []string{"no host"}},
		{Config{URL: "ws://me:secret@host/"}, []string{"user information", "xxxxx"}},
		{Config{URL: "ws://host/#x"}, []string{`fragment "x"`}},
		{Config{URL: "ws://höst/"}, []string{"not ASCII"}},
		{Config{URL: "ws://host/%zz"}, []string{"URL"}},
		{Config{URL: "ws://me:secret@host:x/"}, []string{`URL "ws://…@host:x/": not a URL`}},
		{Config{URL: "ws://h/", TLS: wire.TLS{Insecure: true}}, []string{"TLS is set but URL is not wss"}},
		{Config{URL: "wss://h/", TLS: wire.TLS{CA: []byte("x"), Key: []byte("y")}}, []string{"TLS.CA", "TLS.Certificate and TLS.Key"}},
		{Config{URL: "ws://h/", Mode: "shout", Match: "luck", MaxMessage: -1}, []string{`mode is "shout"; allowed: exchange, send, receive`, `match is "luck"; allowed: order, id`, "max_message is -1"}},
		{Config{URL: "ws://h/", Match: ByID}, []string{"IDPath is empty"}},
		{Config{URL: "ws://h/", Match: ByID, Mode: Send, IDPath: "$.id"}, []string{`Match "id" does not apply to the mode send`}},
		{Config{URL: "ws://h/", IDPath: "$.id"}, []string{`needs Match "id"`}},
		{Config{URL: "ws://h/", Match: ByID, IDPath: "id", AnswerIDPath: "$."}, []string{`IDPath: path "id"`, `AnswerIDPath: path "$."`}},
		{Config{URL: "ws://h/", Match: ByID, IDPath: "$.id", Message: []byte("{")}, []string{"is not JSON"}},
		{Config{URL: "ws://h/", Match: ByID, IDPath: "$.id", Message: []byte("{}")}, []string{`nothing at IDPath "$.id"`}},
		{Config{URL: "ws://h/", Message: []byte("\xff")}, []string{"not UTF-8"}},
		{Config{URL: "ws://h/", Mode: Receive, Message: []byte("x")}, []string{"Message does not apply"}},
		{Config{URL: "ws://h/", Mode: Send, Check: contains("x")}, []string{"Check does not apply"}},
		{Config{URL: "ws://h/", Connections: wire.Connections{Sharing: wire.PerVU, N: 2}}, []string{"per-vu with N 2"}},
		{Config{URL: "ws://h/", Connections: wire.Connections{Sharing: 7}}, []string{"Sharing(7)"}},
		{Config{URL: "ws://h/", Header: []wire.Field{{Name: "Upgrade", Value: "x"}, {Name: "a b", Value: "c"}, {Name: "X", Value: "a\r\nb"}},
			Subprotocols: []string{"a,b"}},
			[]string{`"Upgrade" is the handshake's own`, `"a b" is not a token`, "control character", `"a,b" is not a token`}},
	} {
		_, err := New(test.config)
		if err == nil {
			t.Errorf("%+v: no error", test.config)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %q does not say %q", test.config, err, want)
			}
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q tells a secret", err)
		}
	}
}

// The id replaces what stands in the message, as a string where one stood.
func TestMessagesCarryTheID(t *testing.T) {
	for text, want := range map[string]string{
		`{"id": 0, "x": 1}`:      `{"id": 42, "x": 1}`,
		`{"id":"abc"}`:           `{"id":"42"}`,
		` {"x": {}, "id":null} `: ` {"x": {}, "id":42} `,
		`{"id":{"a":[1]}}`:       `{"id":42}`,
	} {
		m, err := newMessage(Config{Match: ByID, IDPath: "$.id", Message: []byte(text)})
		if got := string(m.before) + "42" + string(m.after); err != nil || got != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
}
