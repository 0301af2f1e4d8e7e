package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"contend/docs"
)

// No comment of the code has a word that terminology.md says not to say instead of a plain one. It may
// have the names of things in code, such as arm.
func TestCommentsArePlain(t *testing.T) {
	terms := docs.Read().Terms
	plain := slices.IndexFunc(terms, func(term docs.Term) bool { return term.Names[0] == "plain words" })
	not := regexp.MustCompile(`(?i)\b(` + strings.Join(terms[plain].Not, "|") + `)s?\b`)
	comments := 0
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if path == "../.build" { // deploy/flags has copies of others' code there
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		comments += len(f.Comments)
		for _, c := range f.Comments {
			text := strings.Join(strings.Fields(c.Text()), " ")  // a phrase may continue on the next line
			text = strings.TrimPrefix(text, "Beside reads the ") // the name of a method of metrics
			if found := not.FindAllString(text, -1); len(found) > 0 {
				t.Errorf("%s: %q in %s", files.Position(c.Pos()), found, text)
			}
		}
		return nil
	})
	if err != nil || comments < 10_000 {
		t.Errorf("%d comments: %v", comments, err)
	}
}
