package check

import (
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"status in 200-299,304", "header A contains json", `body contains "a\n"`, `not body matches /a\/b/`, "size >= 100",
		`json $.a["b"][0]['c'] == 7`, "json $ exists", "json $.a!=x",
	} {
		f.Add(seed)
	}
	answer := Answer{Status: 200, Header: []byte("A: json\r\n"), Body: []byte(`{"a":{"b":[{"c":7}]}}`), Size: 21}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 200 {
			return
		}
		set, err := Parse(text)
		if err != nil {
			return
		}
		failed := set.Run(answer)
		if failed != "" && failed != strings.TrimSpace(text) {
			t.Errorf("%q: failed %q", text, failed)
		}
		turned, err := Parse("not " + text)
		if err == nil && (turned.Run(answer) == "") == (failed == "") {
			t.Errorf("%q and its opposite agree", text)
		}
	})
}
