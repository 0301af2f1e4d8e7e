package counter

import (
	"slices"
	"strings"
	"testing"

	"contend/guard"
)

func TestCanonical(t *testing.T) {
	tests := []struct {
		give string
		want string
		code int // of the problem
	}{
		{"/status/mutex", "/status/mutex", 0},
		{"/status/inputQ", "/status/inputq", 0},
		{"/status/INPUTQ-BATCH", "/status/inputq-batch", 0},
		{"/status/striped", "", 400},
		{"/status/Striped", "", 400},
		{"/status/nosuch", "", 404},
		{"/status/", "", 404},
		{"/status/mutex/", "", 404},
		{"/status/mutex/more", "", 404},
		{"/statusv2", "", 404},
		{"/STATUS/mutex", "", 404},
		{"/", "", 404},
		{"", "", 404},
	}
	for _, tt := range tests {
		t.Run(tt.give, func(t *testing.T) {
			got, bad := canonical(tt.give)
			code := 0
			if bad != nil {
				code = bad.code
			}
			if got != tt.want || code != tt.code {
				t.Errorf("canonical = %q, %d; want %q, %d", got, code, tt.want, tt.code)
			}
		})
	}
}

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

func TestEveryDesignThatReturnsAValueHasARoute(t *testing.T) {
	h := newTestHandler(t)
	for _, d := range guard.Designs() {
		if has := h.routes[pathDesigns+d.Name] != nil; has != (d.NewCounter != nil) {
			t.Errorf("%s: has a route: %v", d.Name, has)
		}
	}
}
