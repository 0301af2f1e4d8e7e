package experiment

import (
	"strings"
	"testing"

	"contend/protocol"
)

// What a worker offers is described as in an experiment, and every mistake is reported with its line.
func TestParseOffered(t *testing.T) {
	t.Parallel()
	o, err := ParseOffered("subjects.yaml", []byte(`address: 10.0.0.9
subjects:
  mutex: {command: "./orders -listen {{addr}}", ready: {http: /health}, env: [MODE=mutex], dir: /srv}
  nginx: {command: "nginx -c {{dir}}/nginx.conf", files: {nginx.conf: "listen {{addr}};"}, requires: nginx}
  ours: {serve: "counter --http {{addr}}"}
`))
	if err != nil {
		t.Fatal(err)
	}
	starters := o.Starters([]string{"contend"})
	if len(starters) != 3 || starters["mutex"] == nil || o.Subjects["mutex"].Ready.HTTP != "/health" || o.Address != "10.0.0.9" {
		t.Errorf("%+v", o)
	}
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{"the file is empty: it needs at least servers (key subjects)"}},
		{"address: 10.0.0.9", []string{"1:1: subjects is missing: the servers that the worker starts, by name"}},
		{"address: localhost\nsubjects:\n  a: {command: './a {{adr}}', envs: [A=1]}\n  b: {url: 10.0.0.1:80}\n  c: {command: subject:a}\n  d: {}\n", []string{
			`1:10: address is "localhost"; expected an IP address of this machine`,
			"3:16: subjects.a.command has the placeholder {{adr}}",
			"3:31: subjects.a.envs: unknown field; expected ",
			"4:12: subjects.b.url is given, but a worker starts its servers",
			`5:16: subjects.c.command is "subject:a", but this is the file of the worker`,
			"6:3: subjects.d is missing: one of command, serve and url",
		}},
		{"address: 0.0.0.0\nsubjects: {a: {command: a}}", []string{`address is "0.0.0.0"`}},
	} {
		_, err := ParseOffered("subjects.yaml", []byte(c.text))
		if err == nil {
			t.Errorf("%s: no mistake", c.text)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", c.text, err, want)
			}
		}
	}
}

// A subject of a worker is a name instead of a command, and nothing else.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{"subject:a": "a", "subject:host/7/a": "host/7/a", "./subject:a": "", "": "", "subject:": "?"} {
		if got := (Subject{Command: command}).Elsewhere(); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	for _, c := range []struct {
		subject Subject
		url     string
		want    string
	}{
		{Subject{Command: "subject:a"}, "http://{{addr}}/", ""},
		{Subject{Command: "subject:host/7/a"}, "ws://h:{{port}}/", ""},
		{Subject{Command: "subject:"}, "http://{{addr}}/", `is "subject:"; expected subject:NAME or subject:WORKER/NAME`},
		{Subject{Command: "subject:a b"}, "http://{{addr}}/", `is "subject:a b"; expected subject:NAME`},
		{Subject{Command: "subject:a", Env: []string{"A=1"}}, "http://{{addr}}/", "subject:a has a command, with all that belongs to it, in the file of its worker"},
		{Subject{Command: "subject:a"}, "http://127.0.0.1:80/", "which has no {{addr}} or {{port}}"},
	} {
		err := OfSubjects(protocol.At(c.url), map[string]Subject{"A": c.subject}).Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.subject, err, c.want)
		}
	}
}

func FuzzParseOffered(f *testing.F) {
	f.Add("subjects: {a: {command: './a {{addr}}'}}")
	f.Add("address: 1.2.3.4\nsubjects:\n  a: {serve: counter}")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOffered("f", []byte(text))
		if err == nil && len(o.Subjects) == 0 {
			t.Errorf("%q offers nothing", text)
		}
	})
}
