package docs

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")

// Each promise of the router names tests, which exist.
func TestPromisesHaveTests(t *testing.T) {
	page, err := os.ReadFile("uplink.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## What is promised to whom\n")
	section, _, _ = strings.Cut(section, "\n## ")
	source := sourceOfTests(t, "../systems/uplink")
	rows := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| does what |") {
			continue
		}
		rows++
		names := testName.FindAllStringSubmatch(line, -1)
		if len(names) == 0 {
			t.Errorf("no test in %s", line)
		}
		for _, name := range names {
			if !strings.Contains(source, "func "+name[1]+"(") {
				t.Errorf("there is no %s", name[1])
			}
		}
	}
	if rows == 0 {
		t.Error("no promises")
	}
}

// sourceOfTests returns the text of all tests in a folder.
func sourceOfTests(t *testing.T, folder string) string {
	t.Helper()
	var text strings.Builder
	files := os.DirFS(folder)
	err := fs.WalkDir(files, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := fs.ReadFile(files, path)
		text.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}
