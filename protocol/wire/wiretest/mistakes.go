package wiretest

import (
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/setting"
)

// Mistakes wants an error that says all of this, each of whose mistakes names a
// setting, and which does not tell what is secret: the word secret.
func Mistakes(t testing.TB, err error, want ...string) {
	t.Helper()
	testenv.Says(t, err, want...)
	if err == nil {
		return
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
