package contend_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each room stays below its ceiling, and each has one.
func TestRoomsStaySmall(t *testing.T) {
	counted := countLines(t)
	for _, room := range slices.Sorted(maps.Keys(counted)) {
		now, ceiling := counted[room], rooms[room]
		t.Logf("%-24s %6d %6d", room, now.code, now.tests)
		if now.code > ceiling.code || now.tests > ceiling.tests {
			t.Errorf("%s has %d lines and %d of tests; its ceiling is %d and %d", room, now.code, now.tests, ceiling.code, ceiling.tests)
		}
	}
	for room := range rooms {
		if _, ok := counted[room]; !ok {
			t.Errorf("there is no room %s", room)
		}
	}
}

// countLines counts the lines of each room with code in them. Packages for tests, such as guard/guardtest,
// count as tests; generated code does not count.
func countLines(t *testing.T) map[string]size {
	counted := map[string]size{}
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || path != "." && entry.Name()[0] == '.'):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		n, err := codeLines(path)
		room, dir := roomOf(path), filepath.ToSlash(filepath.Dir(path))
		sum := counted[room]
		if strings.HasSuffix(path, "_test.go") || dir != room && strings.HasSuffix(dir, "test") {
			sum.tests += n
		} else {
			sum.code += n
		}
		counted[room] = sum
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return counted
}

// roomOf is the first folder of a path, and in internal/ and systems/ the first two.
func roomOf(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	switch {
	case len(parts) == 1:
		return "."
	case (parts[0] == "internal" || parts[0] == "systems") && len(parts) > 2:
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// codeLines counts the lines that have a part of a token other than a comment.
func codeLines(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, text, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil || ast.IsGenerated(parsed) {
		return 0, err
	}
	file := files.AddFile(path, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines, last := 0, 0
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return lines, nil
		}
		if kind == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(pos)
		end := first + strings.Count(literal, "\n")
		lines += end - max(first, last+1) + 1
		last = max(last, end)
	}
}

func TestCodeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.go")
	text := "// Package a.\npackage a\n\n/* one\ntwo */ var x = `1\n\n3` // rest\n\nfunc f() {\n\t// nothing\n}\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if n, err := codeLines(path); n != 6 || err != nil { // package; 3 of x; func and }
		t.Errorf("%d lines, want 6 (%v)", n, err)
	}
	for path, want := range map[string]string{"deps_test.go": ".", "load/a.go": "load", "guard/guardtest/a.go": "guard", "internal/cpu/a.go": "internal/cpu"} {
		if got := roomOf(path); got != want {
			t.Errorf("roomOf(%s) = %s, want %s", path, got, want)
		}
	}
}
