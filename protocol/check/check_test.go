package check_test

import (
	"os"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/protocol/check"
)

var answer = check.Answer{
	Status: 201,
	Header: []byte("content-type: application/json; charset=utf-8\r\nSet-Cookie: a=1\r\nset-cookie:  b=2 \r\nX-Empty:\r\n"),
	Body: []byte(`{"ok": true, "user": {"id": 7, "name": "Ann \"A\" Lee", "big": 9007199254740993, "none": null},
		"items": [{"sku": "a-1"}, {"sku": "b/2"}], "odd key": 1.50, "twice": 1, "twice": 2}`),
	Size: 200,
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		give string
		want bool
	}{
		{"status == 201", true},
		{"status==201", true},
		{"status != 201", false},
		{"status in 200-299", true},
		{"status in 200,204,300-399", false},
		{"not status in 200,204", true},
		{"status >= 201", true},
		{"status > 201", false},
		{"status <= 201", true},
		{"status < 201", false},

		{"size == 200", true},
		{"size != 200", false},
		{"size >= 201", false},

		{"header Content-Type exists", true},
		{"header CONTENT-TYPE contains json", true},
		{"header Content-Type == json", false},
		{`header Content-Type == "application/json; charset=utf-8"`, true},
		{"header Set-Cookie == b=2", true},  // spaces around it are not part of it
		{"header Set-Cookie != b=2", false}, // one of them is
		{"header Set-Cookie != c=3", true},
		{"header Set-Cookie matches /^a=[0-9]$/", true},
		{"header X-Empty exists", true},
		{`header X-Empty == ""`, true},
		{"header X-None exists", false},
		{"not header X-None exists", true},
		{"header X-None != 1", true},
		{"header Cookie exists", false}, // only the end of a name

		{`body contains "ok"`, true},
		{`body contains '"ok": true'`, true},
		{`body contains "\"ok\": true"`, true},
		{"not body contains error", true},
		{`body matches /"id": \d+,/`, true},
		{`body matches /b\/2/`, true},
		{`body matches /(?i)ANN/`, true},
		{"body == ok", false},
		{"body != ok", true},

		{"json $ exists", true},
		{"json $.ok == true", true},
		{`json $.ok == "true"`, false}, // a string
		{"json $.user.id == 7", true},
		{"json $.user.id == 7.0", true}, // the same number
		{`json $.user.id == "7"`, false},
		{"json $.user.id != 8", true},
		{"json $.user.id < 8", true},
		{"json $.user.id >= 7.5", false},
		{"json $.user.name < 8", false}, // no number
		{`json $.user.name == 'Ann "A" Lee'`, true},
		{`json $.user.name contains '"A"'`, true},
		{`json $.user.name matches /^Ann/`, true},
		{`json $.user.id matches /7/`, false}, // no string
		{"json $.user.big == 9007199254740993", true},
		{"json $.user.big == 9007199254740992", false}, // the same float64
		{"json $.user.none == null", true},
		{"json $.user.none exists", true},
		{"json $.user.gone exists", false},
		{"json $.user.gone != 1", true},
		{"json $.user.id.deeper exists", false},
		{"json $.items[1].sku == b/2", true},
		{"json $.items[2] exists", false},
		{"json $.items.sku exists", false},
		{"json $[0] exists", false},
		{`json $["odd key"] == 1.5`, true},
		{`json $['odd key']==15e-1`, true},
		{"json $.twice == 2", true}, // the last one counts
	} {
		set, err := check.Parse(tt.give)
		if err != nil {
			t.Errorf("%s: %v", tt.give, err)
			continue
		}
		want := ""
		if !tt.want {
			want = tt.give
		}
		if got := set.Run(answer); got != want {
			t.Errorf("%s: got %q, want %q", tt.give, got, want)
		}
	}
}

func TestRunNamesTheFirst(t *testing.T) {
	set, err := check.Parse("status == 201", " size < 3 ", "body == x")
	testenv.Must(t, err)
	if got := set.Run(answer); got != "size < 3" {
		t.Errorf("got %q", got)
	}
	if set.Len() != 3 {
		t.Errorf("Len is %d", set.Len())
	}
}

func TestRunOnPartOfABody(t *testing.T) {
	for _, tt := range []struct{ give, want string }{
		{"body contains {", "body contains { (body too long)"}, // the part has it
		{"not body contains x", "not body contains x (body too long)"},
		{"json $.ok == true", "json $.ok == true (body too long)"},
		{"size == 200", ""},
		{"status == 201", ""},
	} {
		set, err := check.Parse(tt.give)
		testenv.Must(t, err)
		part := answer
		part.Truncated = true
		if got := set.Run(part); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.give, got, tt.want)
		}
	}
}

func TestNoChecks(t *testing.T) {
	empty, err := check.Parse()
	testenv.Must(t, err)
	for _, set := range []*check.Set{nil, {}, empty} {
		need := set.Needs()
		if got := set.Run(answer); got != "" || set.Len() != 0 || need.Status || need.Size || need.Body || need.Headers != nil {
			t.Errorf("got %q, %d checks, %+v", got, set.Len(), need)
		}
	}
}

func TestNeeds(t *testing.T) {
	for _, tt := range []struct {
		give               string
		status, size, body bool
		headers            string
	}{
		{"status == 200", true, false, false, ""},
		{"size == 200", false, true, false, ""},
		{"body contains x", false, false, true, ""},
		{"json $ exists", false, false, true, ""},
		{"header A exists; header b == 1; header B == 2", false, false, false, "a b"},
	} {
		set, err := check.Parse(strings.Split(tt.give, "; ")...)
		testenv.Must(t, err)
		need := set.Needs()
		if need.Status != tt.status || need.Size != tt.size || need.Body != tt.body || strings.Join(need.Headers, " ") != tt.headers {
			t.Errorf("%s: got %+v", tt.give, need)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ give, want string }{
		{"", `position 1: what is checked is ""; expected status, size, header, body, json`},
		{"stats == 200", `position 1: what is checked is "stats"; expected`},
		{"not stats == 200", `position 5: what is checked is "stats"; expected`},
		{"status = 200", `position 8: operator is "="; expected == != < <= > >= in`},
		{"status contains 2", `position 8: operator is "contains"; expected`},
		{"status", `position 7: operator is ""; expected`},
		{"status == abc", `position 11: "abc" is not a whole number from 0 to 999`},
		{"status == 2000", `position 11: "2000" is not a whole number from 0 to 999`},
		{"status ==", "position 10: there is no value after =="},
		{"status in 299-200", `position 11: "299-200" is not a status`},
		{"status in 200,", `position 11: "" is not a status`},
		{"size > 1e3", `position 8: "1e3" is not a whole number`},
		{"size in 1-2", `position 6: operator is "in"; expected`},
		{"header contains x", `position 17: operator is "x"; expected exists == != contains matches`},
		{"header", `position 7: "" is not the name of a header`},
		{"header A: == 1", `position 8: "A:" is not the name`},
		{"body exists", `position 6: operator is "exists"; expected == != contains matches`},
		{"body contains two words", `position 19: "words" is too much: a value with spaces needs quotes`},
		{`body contains "x`, "position 15: the string has no closing quote"},
		{`body contains 'x`, "position 15: the string has no closing quote"},
		{`body contains "\q"`, "position 15: the string has no closing quote or an escape that is unknown"},
		{"body matches re", "position 14: matches needs a regular expression between slashes"},
		{"body matches /re", "position 14: the regular expression has no closing slash"},
		{"body matches /(/", "position 14: parsing regexp: missing closing ): `(`"},
		{"json user.id == 7", "position 6: a JSON path begins with $"},
		{"json $user == 7", `position 7: "u" cannot follow here`},
		{"json $. == 7", "position 8: there is no name after the point"},
		{"json $..id == 7", "position 8: there is no name after the point"},
		{"json $.* == 7", "position 8: there is no name after the point"},
		{"json $[*] == 7", "position 8: there is no index"},
		{"json $[-1] == 7", "position 8: there is no index"},
		{"json $[1 == 7", "position 9: a closing ] is missing"},
		{"json $['a == 7", "position 8: the string has no closing quote"},
		{"json $.a == {}", "position 13: {} is an object or array"},
		{"json $.a < x", `position 12: "x" is not a number`},
		{`json $.a < "1"`, `position 12: "1" is not a number`},
	} {
		_, err := check.Parse(tt.give)
		testenv.Says(t, err, tt.want)
	}
}

func TestParseReportsAllMistakes(t *testing.T) {
	_, err := check.Parse("stats == 200", "status == 200", "json id == 7")
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v", err)
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	set, err := check.Parse("status in 200-299", "size > 10", "header Content-Type contains json", "body contains items",
		`body matches /"id": \d+/`, "json $.user.id == 7", "json $.user.id < 7.5", "json $.items[1].sku == b/2")
	testenv.Must(t, err)
	if failed := set.Run(answer); failed != "" {
		t.Fatal(failed)
	}
	if n := testing.AllocsPerRun(100, func() { set.Run(answer) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRun(b *testing.B) {
	for _, text := range []string{
		"status in 200-299", "header Content-Type contains json", "body contains sku",
		`body matches /"sku": "b/`, "json $.items[1].sku == b/2",
	} {
		b.Run(strings.Fields(text)[0]+"_"+strings.Fields(text)[1], func(b *testing.B) {
			set, err := check.Parse(text)
			testenv.Must(b, err)
			b.ReportAllocs()
			for b.Loop() {
				set.Run(answer)
			}
		})
	}
}

func TestDocumentedChecks(t *testing.T) {
	text, err := os.ReadFile("../../docs/data-and-checks.md")
	testenv.Must(t, err)
	_, block, _ := strings.Cut(string(text), "```check\n")
	block, _, closed := strings.Cut(block, "\n```")
	if _, err := check.Parse(strings.Split(block, "\n")...); !closed || err != nil {
		t.Error(err)
	}
}
