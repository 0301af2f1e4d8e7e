package testenv

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// Main runs tests that wait more than they compute, so many at a time, and wants no goroutine to be left.
func Main(m *testing.M, parallel int) {
	_ = flag.Set("test.parallel", strconv.Itoa(parallel))
	goleak.VerifyTestMain(m)
}

// A T is a test, also one of package rapid.
type T interface {
	Helper()
	Errorf(string, ...any)
	Fatal(...any)
}

// Must ends a test in which something has failed that the rest of it needs.
func Must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Says wants an error with all of these words.
func Says(t T, err error, words ...string) {
	t.Helper()
	for _, part := range words {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, want %q in it", err, part)
		}
	}
}

// Files writes files, each of a name and a text, into a folder of the test's, and returns the path of the first.
func Files(t testing.TB, files ...string) (first string) {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		Must(t, os.WriteFile(path, []byte(files[i+1]), 0o644))
	}
	return filepath.Join(dir, files[0])
}
