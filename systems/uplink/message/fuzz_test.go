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

type fataler interface{ Fatalf(string, ...any) }

// compare wants a parser to accept what its reference accepts, and to read the same.
func compare(t fataler, data []byte, got any, err error, want any, wantErr error) {
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: %v; the reference: %v", data, err, wantErr)
	}
	if err == nil {
		if err := same(got, want); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
	}
}

// A format is a kind of message: texts of it, and a check that its parser reads of any text what the reference
// reads, whatever was read before, and the same again of what is written then. It returns the parser's error.
type format struct {
	texts []string
	check func(t fataler, data []byte) error
}

func upstreamFormat() format {
	f := format{texts: []string{exampleJSON}, check: func(t fataler, data []byte) error {
		u, again := upstreams()["full"], new(Upstream)
		err := ParseUpstream(data, u)
		want, wantErr := referenceUpstream(data)
		if compare(t, data, u, err, want, wantErr); err == nil {
			compare(t, data, again, ParseUpstream(AppendUpstream(nil, u), again), u, nil)
		}
		return err
	}}
	for _, u := range upstreams() {
		f.texts = append(f.texts, string(AppendUpstream(nil, u)))
	}
	return f
}

func answerFormat() format {
	f := format{check: func(t fataler, data []byte) error {
		a, again := &Answer{Transaction: 1, DevEUI: 2, MIC: 3, Reject: RejectOther, Text: "x"}, new(Answer)
		err := ParseAnswer(data, a)
		want, wantErr := referenceAnswer(data)
		if compare(t, data, a, err, want, wantErr); err == nil {
			compare(t, data, again, ParseAnswer(AppendAnswer(nil, a), again), a, nil)
		}
		return err
	}}
	for _, a := range answers() {
		f.texts = append(f.texts, string(AppendAnswer(nil, a)))
	}
	return f
}

func downstreamFormat() format {
	f := format{texts: []string{downstreamJSON}, check: func(t fataler, data []byte) error {
		d, err := ParseDownstream(data)
		want, wantErr := referenceDownstream(data)
		if compare(t, data, d, err, want, wantErr); err == nil {
			again, err := ParseDownstream(appendDownstream(nil, d))
			compare(t, data, again, err, d, nil)
		}
		return err
	}}
	for _, d := range downstreams() {
		f.texts = append(f.texts, string(appendDownstream(nil, d)))
	}
	return f
}

func (c format) fuzz(f *testing.F) {
	for _, text := range c.texts {
		seeds(f, []byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { _ = c.check(t, data) })
}

func FuzzUpstream(f *testing.F)   { upstreamFormat().fuzz(f) }
func FuzzAnswer(f *testing.F)     { answerFormat().fuzz(f) }
func FuzzDownstream(f *testing.F) { downstreamFormat().fuzz(f) }
