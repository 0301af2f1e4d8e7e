package grpc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"contend/internal/testenv"
)

func TestSplitMessages(t *testing.T) {
	for _, test := range []struct {
		data   string
		arrays bool
		want   string // the messages, joined by |; "" for an error
	}{
		{`{"a": 1}`, false, `{"a": 1}`},
		{`{"a": 1} {"b": [2]}` + "\n{}", false, `{"a": 1}|{"b": [2]}|{}`},
		{`[{"a": 1}, {}]`, false, `{"a": 1}|{}`},
		{`[{}] {} [{}, {}]`, false, `{}|{}|{}|{}`},
		{`"text"`, false, `"text"`}, // the JSON form of google.protobuf.StringValue
		{`[1, 2] [3]`, true, `[1, 2]|[3]`},
		{`[]`, false, ""},
		{``, false, ""},
		{`{`, false, ""},
		{`{} ]`, false, ""},
		{`{"a": 1},{"b": 2}`, false, ""},
	} {
		messages, err := splitMessages([]byte(test.data), test.arrays)
		var texts []string
		for _, message := range messages {
			texts = append(texts, string(message))
		}
		if got := strings.Join(texts, "|"); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q: got %q, %v; want %q", test.data, got, err, test.want)
		}
	}
}

// An array and a sequence of the same messages are the same.
func TestSplitIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		for _, fields := range rapid.SliceOfN(rapid.MapOf(rapid.String(), rapid.Int()), 1, 5).Draw(t, "messages") {
			text, _ := json.Marshal(fields)
			texts = append(texts, string(text))
		}
		sequence, err1 := splitMessages([]byte(strings.Join(texts, "\n")), false)
		array, err2 := splitMessages([]byte("["+strings.Join(texts, ",")+"]"), false)
		if err1 != nil || err2 != nil || len(sequence) != len(texts) || len(array) != len(texts) {
			t.Fatalf("%q: %q, %v; %q, %v", texts, sequence, err1, array, err2)
		}
		for i := range texts {
			if string(sequence[i]) != texts[i] || string(array[i]) != texts[i] {
				t.Fatalf("message %d of %q: %s, %s", i, texts, sequence[i], array[i])
			}
		}
	})
}

func FuzzSplitMessages(f *testing.F) {
	for _, seed := range []string{threeItems, `[{"value": 1}, {}]`, "", "[]", "[[[]]]", `{"a": "\ud800"}`} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, arrays bool) {
		messages, err := splitMessages(data, arrays)
		if err == nil && len(messages) == 0 {
			t.Errorf("%q: no message and no error", data)
		}
		if err != nil {
			return
		}
		again, err := splitMessages(bytes.Join(asBytes(messages), []byte("\n")), true)
		if err != nil || !slices.EqualFunc(messages, again, slices.Equal) {
			t.Errorf("%q: %q, and as a sequence %q, %v", data, messages, again, err)
		}
	})
}

func asBytes(messages []json.RawMessage) [][]byte {
	var texts [][]byte
	for _, message := range messages {
		texts = append(texts, message)
	}
	return texts
}

// A mistake in one of many messages says which.
func TestMistakeInSequence(t *testing.T) {
	address := chatAt(t, nil)
	for _, test := range []struct{ data, want string }{
		{`{"value": 1} {"valu": 2}`, "message 2 of 2"},
		{`[{"value": 1}, {"value": "x"}, {}]`, "message 2 of 3"},
		{`{"value": 1} {"value"`, "not JSON"},
		{`[[{}]]`, "chat.Item"},
	} {
		_, err := New(t.Context(), chat(address, "Collect", test.data))
		testenv.Says(t, err, test.want)
	}
}
