package ws

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
		{Config{}, []string{`scheme is ""; expected ws, wss`}},
		{Config{URL: "http://host/"}, []string{`scheme is "http"; expected ws, wss`}},
		{Config{URL: "ws:///path"}, []string{"no host"}},
		{Config{URL: "ws://me:secret@host/"}, []string{"user information", "xxxxx"}},
		{Config{URL: "ws://host/#x"}, []string{`fragment "x"`}},
		{Config{URL: "ws://höst/"}, []string{"not ASCII"}},
		{Config{URL: "ws://host/%zz"}, []string{`target is "ws://host/%zz": invalid URL escape`}},
		{Config{URL: "ws://me:secret@host:x/"}, []string{`target is "ws://…@host:x/", which is not a URL`}},
		{Config{URL: "ws://h/", TLS: wire.TLS{Insecure: true}}, []string{"insecure requires a wss URL"}},
		{Config{URL: "wss://h/", TLS: wire.TLS{CA: []byte("x"), Key: []byte("y")}}, []string{"ca_file holds no certificate in PEM form", "cert_file: tls: failed to find any PEM data"}},
		{Config{URL: "ws://h/", Mode: "shout", Match: "luck", MaxMessage: -1}, []string{`mode is "shout"; expected exchange, send or receive`, `match is "luck"; expected order or id`, "max_message is -1"}},
		{Config{URL: "ws://h/", Match: ByID}, []string{"id_path is missing"}},
		{Config{URL: "ws://h/", Match: ByID, Mode: Send, IDPath: "$.id"}, []string{`match is id, which does not apply to the mode send`}},
		{Config{URL: "ws://h/", IDPath: "$.id"}, []string{`id_path is "$.id", which needs match id`}},
		{Config{URL: "ws://h/", Match: ByID, IDPath: "id", AnswerIDPath: "$."}, []string{`id_path: path "id"`, `answer_id_path: path "$."`}},
		{Config{URL: "ws://h/", Match: ByID, IDPath: "$.id", Message: []byte("{")}, []string{"is not JSON"}},
		{Config{URL: "ws://h/", Match: ByID, IDPath: "$.id", Message: []byte("{}")}, []string{`data is "{}", which has nothing at id_path "$.id"`}},
		{Config{URL: "ws://h/", Message: []byte("\xff")}, []string{"not UTF-8"}},
		{Config{URL: "ws://h/", Mode: Receive, Message: []byte("x")}, []string{"data does not apply to the mode receive"}},
		{Config{URL: "ws://h/", Mode: Send, Check: contains("x")}, []string{"checks: the mode send has no answers to look at"}},
		{Config{URL: "ws://h/", Connections: wire.Connections{Sharing: wire.PerVU, N: 2}}, []string{"per-vu with N 2"}},
		{Config{URL: "ws://h/", Connections: wire.Connections{Sharing: 7}}, []string{"Sharing(7)"}},
		{Config{URL: "ws://h/", Header: []wire.Field{{Name: "Upgrade", Value: "x"}, {Name: "a b", Value: "c"}, {Name: "X", Value: "a\r\nb"}},
			Subprotocols: []string{"a,b"}},
			[]string{`header Upgrade is the handshake's own`, `"a b" is not a token`, "control character", `subprotocols is "a,b", which is not a token`}},
	} {
		_, err := New(test.config)
		wiretest.Mistakes(t, err, test.want...)
	}
}

// The id replaces the value in the message, as a string if that was one.
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
