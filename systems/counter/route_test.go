package counter

import (
	"slices"
	"strings"
	"testing"

	"contend/guard"
)

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{"/status/mutex", "/status/inputQ", "/status/striped", "/status/", "/status/a/b",
		"/status/\x00", "/status/\u017ftriped", "/x", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, bad := canonical(path)
		if bad != nil {
			if got != "" || bad.text == "" || (bad.code != 404 && bad.code != 400) {
				t.Errorf("canonical(%q) = %q, %+v", path, got, *bad)
			}
			return
		}
		name, found := strings.CutPrefix(got, pathDesigns)
		if !found || !slices.Contains(guard.Names(true), name) || !strings.EqualFold(got, path) {
			t.Errorf("canonical(%q) = %q", path, got)
		}
		if again, bad := canonical(got); again != got || bad != nil {
			t.Errorf("canonical(%q) = %q: not canonical", got, again)
		}
	})
}
