package report_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"contend/report"
)

// Documents of contend up to 0.2 have failures as texts alone. Their pages are those of the same
// failures as values.
func TestFailuresOfBefore(t *testing.T) {
	comparison := []report.Arm{{Name: "A", Does: "./orders -listen {{addr}}"}, {Name: "B", Does: "./orders -queue -listen {{addr}}"}}
	pages := screens()
	for _, tt := range []struct {
		page, command string
		arms          []report.Arm
		text          string
	}{
		{"died", "compare", comparison, "B: its process died: server B: ended unasked: exit status 7; end of its stderr:\n\tlistening\n\tout of luck"},
		{"unreached", "run", nil, "cannot reach http://localhost:9/: http: dial: dial tcp 127.0.0.1:9: connect: connection refused"},
		{"unreached", "run", nil, "cannot reach http://localhost:9/: dial tcp 127.0.0.1:9: connect: connection refused"},
		{"sweep", "sweep", []report.Arm{{Name: "server", Does: "./orders -listen {{addr}}"}}, "server server: fork/exec ./orders: no such file or directory"},
		{"both", "compare", comparison, "A: server A: not ready: ended unasked: exit status 2; end of its stderr:\n\tno port\nB: server B: not ready: ended unasked: exit status 2; end of its stderr:\n\tno port"},
		{"paths", "compare", comparison, "A: server A: fork/exec ./orders: no such file or directory\nB: server B: exec: \"orders\": executable file not found in $PATH"},
		{"nobody", "compare", []report.Arm{{Name: "A", Does: "http://localhost:1/"}, {Name: "B", Does: "http://localhost:2/"}},
			"A: cannot reach http://localhost:1/: dial tcp 127.0.0.1:1: connect: connection refused\nB: cannot reach http://localhost:2/: dial tcp 127.0.0.1:2: connect: connection refused"},
		{"start", "compare", comparison, "arm B: subject B: fork/exec ./orders: no such file or directory"},
		{"taken", "compare", comparison, "A: server A: another program listens at 127.0.0.1:80, on which the command insists: end that one"},
		{"astray", "compare", comparison, "A: server A: not ready after 10s: nobody listens at 127.0.0.1:80; it listens on port 81, while the URL has the port 80: put the same port into the URL and the command; it wrote nothing"},
		{"daemon", "compare", comparison, "A: server A: not ready: ended unasked: exit status 0; it wrote nothing"},
	} {
		d := &report.Document{Schema: report.Schema, Command: tt.command, Arms: tt.arms, Failure: tt.text}
		stored := new(bytes.Buffer)
		if err := d.Write(stored); err != nil {
			t.Fatal(err)
		}
		read, err := report.Read(stored)
		if err != nil {
			t.Fatal(err)
		}
		var want, got bytes.Buffer
		if err := errors.Join(pages["failed-"+tt.page].d.Screen(&want, report.Look{}), read.Screen(&got, report.Look{})); err != nil {
			t.Fatal(err)
		}
		page := strings.ReplaceAll(want.String(), "exited on its own", "ended unasked") // as those documents put it
		if got.String() != page {
			t.Errorf("%s:\n%s\nwant\n%s", tt.text, got.String(), page)
		}
	}
}
