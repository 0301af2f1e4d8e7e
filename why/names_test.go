package why

import "testing"

func TestShortName(t *testing.T) {
	for name, want := range map[string]string{
		"crypto/internal/fips140/sha256.blockSHANI":                                  "sha256.blockSHANI",
		"net/http.(*conn).serve":                                                     "http.(*conn).serve",
		"contend/guard.(*inputQ[go.shape.int64,contend/guard.T[go.shape.int64]]).do": "guard.(*inputQ[…]).do",
		"contend/guard.newInputQ[go.shape.int64].func1":                              "guard.newInputQ[…].func1",
		"example.com/a/b.f(c/d)":                                                     "b.f(c/d)",
		"[unknown] in libfoo.so":                                                     "[unknown] in libfoo.so",
		"[vdso]":                                                                     "[vdso]",
		"std::vector<int>::operator[](unsigned long)":                                "std::vector<int>::operator[](unsigned long)",
		"render [clone .part.0]":                                                     "render [clone .part.0]",
		"":                                                                           "",
	} {
		if got := ShortName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
