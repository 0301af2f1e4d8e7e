package message

import (
	"slices"
	"testing"
)

// seeds adds messages, and every one of them cut and changed a little.
func seeds(f *testing.F, messages ...[]byte) {
	f.Helper()
	for _, m := range messages {
		f.Add(m)
		f.Add(m[:len(m)/2])
		f.Add(append(slices.Clone(m), ' '))
		f.Add(append([]byte{' '}, m...))
	}
	for _, text := range []string{
		"", "{", "{}", "null", "[]", "0", `{"":{}}`, `{"a":[[[[{"b":null}]]]],"ProtocolVersion":1}`,
		`{"ProtocolVersion":1,"ProtocolVersion":1}`, `{"TransactionID":18446744073709551616}`, `{"MIC":-0}`, `{"MIC":1e0}`,
		`{"\u004dIC":1}`, `{"ResultMessage":"\ud800\uDC00\/\b"}`, `{"ResultMessage":"\ud800"}`, "{\"a\":\"\xc3\x28\"}",
	} {
		f.Add([]byte(text))
	}
}

// compare wants a parser to accept what its reference accepts, and to read the same.
func compare(t interface{ Fatalf(string, ...any) }, data []byte, got any, err error, want any, wantErr error) {
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: %v; the reference: %v", data, err, wantErr)
	}
	if err == nil {
		if err := same(got, want); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
	}
}

func FuzzUpstream(f *testing.F) {
	for _, u := range upstreams() {
		seeds(f, AppendUpstream(nil, u))
	}
	seeds(f, []byte(exampleJSON))
	f.Fuzz(func(t *testing.T, data []byte) {
		u := upstreams()["full"] // what was read before leaves no trace
		err := ParseUpstream(data, u)
		want, wantErr := referenceUpstream(data)
		compare(t, data, u, err, want, wantErr)
		if err != nil {
			return
		}
		var again Upstream
		if err := ParseUpstream(AppendUpstream(nil, u), &again); err != nil {
			t.Fatal(err)
		}
		if err := same(&again, u); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	for _, a := range answers() {
		seeds(f, AppendAnswer(nil, a))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a := Answer{Transaction: 1, DevEUI: 2, MIC: 3, Reject: RejectOther, Text: "x"}
		err := ParseAnswer(data, &a)
		want, wantErr := referenceAnswer(data)
		compare(t, data, &a, err, want, wantErr)
		if err != nil {
			return
		}
		var again Answer
		if err := ParseAnswer(AppendAnswer(nil, &a), &again); err != nil || again != a {
			t.Fatalf("%+v, %v, want %+v", again, err, a)
		}
	})
}

func FuzzDownstream(f *testing.F) {
	for _, d := range downstreams() {
		seeds(f, appendDownstream(nil, d))
	}
	seeds(f, []byte(downstreamJSON))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ParseDownstream(data)
		want, wantErr := referenceDownstream(data)
		compare(t, data, d, err, want, wantErr)
		if err != nil {
			return
		}
		again, err := ParseDownstream(appendDownstream(nil, d))
		if err != nil {
			t.Fatal(err)
		}
		if err := same(again, d); err != nil {
			t.Fatal(err)
		}
	})
}
