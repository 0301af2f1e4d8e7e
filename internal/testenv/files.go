package testenv

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

// Update is the flag -update: [Golden] and those tests that compare tables of pages write what they found.
var Update = flag.Bool("update", false, "write golden files, and tables in pages, anew")

// Golden compares with a golden file. What differs stays next to it, in path.got.
func Golden[T ~string | ~[]byte](t testing.TB, path string, got T) {
	t.Helper()
	if *Update {
		Write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err == nil && bytes.Equal([]byte(got), want) {
		os.Remove(path + ".got")
		return
	}
	Write(t, path+".got", got)
	t.Errorf("%s differs from %s.got (go test -update rewrites it): %v", path, path, err)
}

// Read returns what a file has.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Write writes a file that only its user can read, and returns its path.
func Write[T ~string | ~[]byte](t testing.TB, path string, content T) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
