package cli

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"contend/report"
)

// The first of LC_ALL, LC_CTYPE and LANG that is set decides; a buffer is not a terminal, but
// COLUMNS gives its width.
func TestLooks(t *testing.T) {
	for _, tt := range []struct {
		env   map[string]string
		ascii bool
		width int
	}{
		{map[string]string{"LANG": "de_DE.UTF-8"}, false, 0},
		{map[string]string{"LANG": "C", "LC_CTYPE": "C.utf8", "COLUMNS": "60"}, false, 60},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_ALL": "POSIX", "COLUMNS": "wide"}, true, 0},
		{map[string]string{"COLUMNS": "-3"}, runtime.GOOS != "windows", 0},
		{map[string]string{}, runtime.GOOS != "windows", 0},
	} {
		want := report.Look{ASCII: tt.ascii, Width: tt.width}
		if got := lookOf(new(bytes.Buffer), func(key string) string { return tt.env[key] }); got != want {
			t.Errorf("%v: %+v, want %+v", tt.env, got, want)
		}
	}
}

func TestOneForm(t *testing.T) {
	v := views{Full: true}
	v.Brief = true
	if err := v.oneForm(); err == nil || err.Error() != "use only one of --full or --brief" {
		t.Error(err)
	}
	v.Full = false
	if err := v.oneForm(); err != nil {
		t.Error(err)
	}
	v.JSON = true
	if err := v.forms.oneForm(); err == nil || err.Error() != "use only one of --brief or --json" {
		t.Error(err)
	}
}

// What writes a document as JSON also has it in one line and as Markdown; ab keeps to the report of ab.
func TestFormsOfEveryDocument(t *testing.T) {
	documents := 0
	all(t, func(t *testing.T, cmd *cobra.Command) {
		if f := cmd.Flags().Lookup("json"); f == nil || !strings.Contains(f.Usage, "result file") || cmd.Name() == "ab" {
			return
		}
		documents++
		for _, form := range append(formFlags(""), "brief", "markdown", "output") {
			if cmd.Flags().Lookup(form) == nil {
				t.Errorf("%s has --json and no --%s", cmd.CommandPath(), form)
			}
		}
	})
	if documents < 10 {
		t.Errorf("%d commands write documents", documents)
	}
}
