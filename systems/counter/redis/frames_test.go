package redis

import (
	"errors"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	for _, test := range []struct {
		name, text string
		ended      int
		wrong      bool
	}{
		{name: "nothing"},
		{name: "lines", text: "+OK\r\n-ERR no\r\n:7\r\n_\r\n#t\r\n,1.5\r\n(123\r\n", ended: 7},
		{name: "a long line", text: "+" + strings.Repeat("a", 1000) + "\r\n:1\r\n", ended: 2},
		{name: "strings", text: "$3\r\na\r\n\r\n$0\r\n\r\n$-1\r\n=5\r\ntxt:a\r\n!1\r\nx\r\n", ended: 5},
		{name: "a command", text: "*2\r\n$3\r\nGET\r\n$1\r\n*\r\n", ended: 1},
		{name: "arrays in arrays", text: "*2\r\n*2\r\n:1\r\n*0\r\n$-1\r\n*0\r\n*-1\r\n", ended: 3},
		{name: "a map, a set", text: "%1\r\n+a\r\n*1\r\n:1\r\n~1\r\n:1\r\n", ended: 2},
		{name: "a push answers nothing", text: ">1\r\n*1\r\n:1\r\n:1\r\n", ended: 1},
		{name: "half a value", text: "*2\r\n:1\r\n:2"},
		{name: "another type", text: "?1\r\n", wrong: true},
		{name: "no number", text: "*x\r\n", wrong: true},
		{name: "less than nothing", text: "$-2\r\n", wrong: true},
		{name: "a huge string", text: "$9999999\r\n", wrong: true},
		{name: "a huge array", text: "*999999\r\n", wrong: true},
		{name: "many large arrays", text: strings.Repeat("*200000\r\n", 2), wrong: true},
		{name: "a deep array", text: strings.Repeat("*1\r\n", maxReply/4+1), wrong: true},
		{name: "an endless line", text: "+" + strings.Repeat("a", maxReply), wrong: true},
		{name: "an empty line", text: "\r\n", wrong: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var whole, bits frames
			ended, err := whole.feed([]byte(test.text))
			if ended != test.ended || errors.Is(err, errProtocol) != test.wrong {
				t.Errorf("%d, %v, want %d", ended, err, test.ended)
			}
			ended = 0
			for i := 0; i < len(test.text); i++ {
				n, err := bits.feed([]byte{test.text[i]})
				if ended += n; err != nil && !test.wrong {
					t.Fatalf("byte by byte: %v", err)
				}
				if err != nil {
					break
				}
			}
			if ended != test.ended {
				t.Errorf("byte by byte: %d, want %d", ended, test.ended)
			}
		})
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("*2\r\n:1\r\n$1\r\na\r\n"), 3)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		var whole, parts frames
		want, wantErr := whole.feed(text)
		cut = min(max(cut, 0), len(text))
		got, err := parts.feed(text[:cut])
		if err == nil {
			var more int
			more, err = parts.feed(text[cut:])
			got += more
		}
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("in two parts %d, %v; at once %d, %v", got, err, want, wantErr)
		}
	})
}
