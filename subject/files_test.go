package subject

import (
	"os"
	"strings"
	"testing"

	"contend/internal/testenv"
)

func TestFilesAreWrittenAndRemoved(t *testing.T) {
	cfg := role("print", "{{dir}}")
	cfg.Files = map[string]string{"conf/a.conf": "listen {{addr}}; root {{dir}};", "b": "plain"}
	cfg.Ready.Log = "contend-subject-"
	s, err := Start(t.Context(), cfg)
	testenv.Must(t, err)
	dir := strings.TrimSpace(s.stdout.text())
	conf, err := os.ReadFile(dir + "/conf/a.conf")
	if want := "listen " + s.Addr("") + "; root " + dir + ";"; err != nil || string(conf) != want {
		t.Errorf("%q, %v, want %q", conf, err, want)
	}
	if plain, err := os.ReadFile(dir + "/b"); string(plain) != "plain" {
		t.Errorf("%q, %v", plain, err)
	}
	testenv.Must(t, s.Stop(t.Context()))
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestFilesMustStayInTheirFolder(t *testing.T) {
	for _, name := range []string{"../x", "/etc/x", ""} {
		cfg := role("end")
		cfg.Files = map[string]string{name: ""}
		_, err := Start(t.Context(), cfg)
		testenv.Says(t, err, "must stay below")
	}
	if _, err := Start(t.Context(), role("end", "{{dir}}")); err == nil {
		t.Error("{{dir}} without files: no error")
	}
}
