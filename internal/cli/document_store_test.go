package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"contend/internal/testenv"
)

// The last 20 documents are kept, and the newest is shown; other files stay.
func TestKeep(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, filepath.Join(home, "a [cache]"))
	}
	if path, err := newestKept(); err == nil {
		t.Fatalf("%s is the newest before any is kept", path)
	}
	doc := newDocument("lab")
	var paths []string
	for range mostKept + 2 {
		path, err := keep(doc)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		other := filepath.Join(filepath.Dir(path), "other.json")
		testenv.Write(t, other, "")
		if newest, err := newestKept(); err != nil || newest != path {
			t.Errorf("the newest is %s, %v; want %s", newest, err, path)
		}
	}
	folder := filepath.Dir(paths[0])
	left, err := kept(folder)
	if err != nil || !slices.Equal(left, paths[2:]) {
		t.Errorf("kept are %q, %v; want %q", left, err, paths[2:])
	}
	if _, err := os.Stat(filepath.Join(folder, "other.json")); err != nil {
		t.Error(err)
	}
}

// If nothing can be kept, a note says so.
func TestKeepNowhere(t *testing.T) {
	file := testenv.Write(t, filepath.Join(t.TempDir(), "file"), "")
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, file)
	}
	if path, err := keep(newDocument("lab")); err == nil || path != "" {
		t.Errorf("kept in %q, %v", path, err)
	}
	if _, err := newestKept(); err == nil {
		t.Error("there is a newest document in a file")
	}
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	if path, err := keep(newDocument("lab")); err == nil || path != "" {
		t.Errorf("kept in %q, %v", path, err)
	}
}
