package wiretest

import (
	"strings"
	"testing"

	"contend/setting"
)

// Mistakes wants an error that says all of this, each of whose mistakes names a
// setting, and which does not tell what is secret: the word secret.
func Mistakes(t testing.TB, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", want)
		return
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	for _, m := range setting.Mistakes(err) {
		if m.Setting.Name == "" {
			t.Errorf("%q names no setting", m)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("%q tells a secret", err)
	}
}
