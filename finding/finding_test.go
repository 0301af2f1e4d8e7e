package finding

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// page is how wide a page is, in columns.
const page = 100

func TestTable(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+(_[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, k := range Kinds() {
		switch {
		case !form.MatchString(k.Code), seen[k.Code]:
			t.Errorf("code %q is no word in snake_case, or is there before", k.Code)
		case k.When == "" || k.Advice == "" || strings.ContainsAny(k.When+k.Advice, "|{}\n"):
			t.Errorf("%s: when %q, what to do %q", k.Code, k.When, k.Advice)
		case k.Says == "" || strings.ContainsAny(k.Says, "{}\n") || utf8.RuneCountInString("! "+k.Code+": "+k.Says) > page:
			t.Errorf("%s: %s: no line of a page", k.Code, k.Says)
		}
		seen[k.Code] = true
	}
	for _, code := range []string{"incomplete", "rate_missed", "censored"} {
		if got := Advice(code); got != "lower the rate, raise the concurrency (-c), or allow more time (-d, or --grace of contend run)" {
			t.Errorf("advice %q for %s", got, code)
		}
		if got := Current(code); got != "incomplete" {
			t.Errorf("%s is said as %s now", code, got)
		}
	}
	if got := Advice("of_another_version"); got != "" {
		t.Errorf("advice %q for an unknown code", got)
	}
}

// After the words there is room for a figure such as +99.9%.
func TestFiguresFitALine(t *testing.T) {
	for _, k := range Kinds() {
		if line := "! " + k.Code + ": " + k.Says + " (+99.9%)"; k.Figure && utf8.RuneCountInString(line) > 100 {
			t.Errorf("%s is longer than a line of 100 columns", line)
		}
	}
}

func TestShort(t *testing.T) {
	for _, tt := range []struct {
		w    Warning
		want string
	}{
		{ServerBusy.Warning("the server used 92%% of the CPU it could get"), ServerBusy.Says + " (92%)"},
		{StartLag.Warning("p99 of the start lag is 217.3ms, more than 9s"), StartLag.Says + " (217.3ms)"},
		{DriftingRounds.Warning("the ratio changed by +5.1%%"), DriftingRounds.Says + " (+5.1%)"},
		{ServerBusy.Warning("it says no figure"), ServerBusy.Says},
		{TooFewValues.Warning("5 values, 95%%"), TooFewValues.Says},
		{Warning{Code: "censored", Text: "5 of 880 (0.568%)"}, "over 0.1% of iterations never started or never finished: the slowest (0.568%)"},
		{Warning{Code: "of_another_version", Text: "whatever"}, "whatever"},
	} {
		if got := tt.w.Short(); got != tt.want {
			t.Errorf("%v is %q, want %q", tt.w, got, tt.want)
		}
	}
}

func TestThresholdsAreInTheWords(t *testing.T) {
	for x, want := range map[float64]string{0.001: "0.1%", 0.1: "10%", 0.85: "85%", 0.99: "99%", 6: "6", 1000: "1,000"} {
		if got := threshold(x); got != want {
			t.Errorf("threshold(%v) is %q, want %q", x, got, want)
		}
	}
	words := map[string]string{}
	for _, k := range Kinds() {
		words[k.Code] = k.When
	}
	if !strings.HasPrefix(words[Errors.Code], "more than 0.1% of") || !strings.Contains(words[GeneratorShare.Code], "At 30% and above") {
		t.Errorf("words %q, %q", words[Errors.Code], words[GeneratorShare.Code])
	}
}

func TestWarningIsOfItsKind(t *testing.T) {
	w := Incomplete.Warning("%d of %d", 1, 2)
	if w != (Warning{Code: "incomplete", Text: "1 of 2"}) || *Incomplete.Refusal("%d of %d", 1, 2) != w {
		t.Errorf("warning %+v", w)
	}
	if got := w.About("a").String(); got != "a: 1 of 2" || w.String() != "1 of 2" {
		t.Errorf("about an arm it is %q, and %q without", got, w)
	}
	if !w.Is(Incomplete) || w.Is(Errors) || (*Warning)(nil).Is(Errors) {
		t.Error("Is is wrong")
	}
	if list := []Warning{w}; !Incomplete.In(list) || Errors.In(list) || Errors.In(nil) {
		t.Error("In is wrong")
	}
}

// Every row is given by somebody, and whoever gives a warning takes its code
// from a row.
func TestEveryRowIsGiven(t *testing.T) {
	rows := declared(t)
	if len(rows) != len(table) {
		t.Fatalf("%d variables hold %d rows", len(rows), len(table))
	}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if path == "../.build" { // deploy/flags has copies of others' code there
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, "../finding/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				for _, row := range given(n) {
					delete(rows, row)
				}
			case *ast.CompositeLit:
				if selected(n.Type) == "Warning" && literal(n) {
					t.Errorf("%s: a warning with a code that no row has", path)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for row := range rows {
		t.Errorf("nobody gives %s", row)
	}
}

// declared are the variables that hold rows.
func declared(t *testing.T) map[string]bool {
	file, err := parser.ParseFile(token.NewFileSet(), "kinds.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].IsExported() {
			rows[v.Names[0].Name] = true
		}
		return true
	})
	return rows
}

// given are the rows of warnings that a call gives: finding.X.Warning(…),
// finding.X.Refusal(…) and warn(finding.X, …), but not w.Is(finding.X).
func given(call *ast.CallExpr) []string {
	switch function := selected(call.Fun); function {
	case "Warning", "Refusal":
		if s, ok := call.Fun.(*ast.SelectorExpr); ok {
			return []string{selected(s.X)}
		}
	case "warn", "reason":
		return []string{selected(call.Args[0])}
	}
	return nil
}

// selected is X of finding.X, or a plain name.
func selected(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// literal reports whether a composite has a string for a field.
func literal(c *ast.CompositeLit) bool {
	for _, e := range c.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if _, ok := e.(*ast.BasicLit); ok {
			return true
		}
	}
	return false
}
