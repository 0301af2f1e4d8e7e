package lazyregexp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"contend/internal/lazyregexp"
)

func TestNew(t *testing.T) {
	form := lazyregexp.New(`^a+$`)
	compiled := form()
	if !compiled.MatchString("aa") || compiled.MatchString("ab") || form() != compiled {
		t.Errorf("%v is compiled wrongly or twice", compiled)
	}
}

// Mistakes of expressions are found here, as a program does not find them when it starts.
func TestExpressions(t *testing.T) {
	compiled := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case path == "../../.build": // deploy/flags has copies of others' code there
			return filepath.SkipDir
		case err != nil || filepath.Ext(path) != ".go":
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			if f, is := call.Fun.(*ast.SelectorExpr); is && f.Sel.Name == "New" {
				if of, is := f.X.(*ast.Ident); is && of.Name == "lazyregexp" {
					compiled++
					if _, err := regexp.Compile(textOf(call.Args[0])); err != nil {
						t.Errorf("%s: %v", files.Position(call.Pos()), err)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil || compiled < 50 {
		t.Errorf("%d expressions: %v", compiled, err)
	}
}

// textOf is the text of an expression that is put together of literals, and of constants, for which their names do.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.Ident:
		return e.Name
	}
	return ""
}
