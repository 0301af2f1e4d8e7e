package docs_test

import (
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"contend/docs"
	"contend/finding"
	"contend/metric"
	"contend/report"
	"contend/trial"
)

// Whatever a report can print has an explanation: every code of a warning or
// refusal, every verdict, metric and key.
func TestEverythingIsExplained(t *testing.T) {
	index := docs.Read()
	for what, terms := range map[string][]string{
		"warning or refusal": codes(), "verdict": verdicts(t), "metric": metrics(), "key": keys(reflect.TypeFor[report.Document]()),
	} {
		if len(terms) < 7 {
			t.Errorf("only found %d of kind %s: %q", len(terms), what, terms)
		}
		slices.Sort(terms)
		for _, term := range slices.Compact(terms) {
			if len(index.Find(term)) == 0 {
				t.Errorf("no page explains the %s %s", what, term)
			}
		}
	}
}

// So has what stands above the columns of the views.
func TestEveryColumnIsExplained(t *testing.T) {
	files, err := filepath.Glob("../report/testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no views", err)
	}
	index := docs.Read()
	header := regexp.MustCompile(`(?m)^\| (.*) \|\n\| -`)
	of := regexp.MustCompile(`^(\w+): ours$|^\d+ % `)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range header.FindAllStringSubmatch(string(text), -1) {
			for column := range strings.SplitSeq(found[1], " | ") {
				column = of.ReplaceAllString(column, "")
				if len(index.Find(column)) == 0 && column != "" {
					t.Errorf("%s: no page explains the column %q", filepath.Base(file), column)
				}
			}
		}
	}
}

// So have the words in the sentences of the views, however they are spelled.
func TestWordsAreExplained(t *testing.T) {
	index := docs.Read()
	for _, word := range []string{
		"VU", "round", "rounds", "pair", "block", "stretch", "warm-up", "start lag", "throughput", "VERDICT", "margin", "level",
		"Hodges-Lehmann", "hodges–lehmann", "Bonferroni", "bonferroni's correction", "signed-rank", "permutation test", "sign-flip", "bootstrap",
		"rounds needed", "smallest difference", "false alarm", "A/A comparison", "calibration", "probe", "scatter", "half-width",
		"Little's law", "coordinated omission", "steady state", "USL", "Universal Scalability Law", "contention", "coherency",
		"peak", "optimum", "knee", "enough", "residual", "event loop", "not told apart", "fairness", "calls in flight",
		"server CPU/op", "response p99", "response_p999_ns", "start lag p99.9",
	} {
		if len(index.Find(word)) == 0 {
			t.Errorf("no page explains %q", word)
		}
	}
	for _, word := range []string{"", "xyzzy", "p99 xyzzy", "_", "'s"} {
		if found := index.Find(word); len(found) > 0 {
			t.Errorf("%q is explained by %q", word, found[0].Title)
		}
	}
}

// What is near is named, the nearest first.
func TestNear(t *testing.T) {
	index := docs.Read()
	for word, want := range map[string]string{"throughputt": "throughput", "generator_saturatd": "generator_saturated", "EQUIVALENTT": "EQUIVALENT"} {
		if near := index.Near(word); len(near) == 0 || near[0] != want {
			t.Errorf("near %s are %q, want %s first", word, near, want)
		}
	}
	if near := index.Near("xyzzyxyzzy"); len(near) > 0 {
		t.Errorf("near nonsense are %q", near)
	}
}

func codes() []string {
	var list []string
	for _, k := range finding.Kinds() {
		list = append(list, k.Code)
	}
	return list
}

// metrics are all metrics, by name and in words.
func metrics() []string {
	names := metric.Names()
	for _, name := range names {
		names = append(names, metric.Name(name).Words())
	}
	return names
}

// keys are the JSON keys of a type and of all types in it.
func keys(typ reflect.Type) []string {
	leaf := slices.ContainsFunc([]reflect.Type{typ, reflect.PointerTo(typ)}, func(t reflect.Type) bool {
		return t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || t.Implements(reflect.TypeFor[json.Marshaler]())
	})
	switch {
	case leaf, typ == reflect.TypeFor[*trial.Trials](): // those in a change-over are like others
	case typ.Kind() == reflect.Pointer, typ.Kind() == reflect.Slice, typ.Kind() == reflect.Map:
		return keys(typ.Elem())
	case typ.Kind() == reflect.Struct:
		var list []string
		for i := range typ.NumField() {
			field := typ.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			if name != "" {
				list = append(list, name)
			}
			list = append(list, keys(field.Type)...)
		}
		return list
	}
	return nil
}

// source is what the packages that warn and refuse are made of.
func source(t *testing.T, folders ...string) []*ast.File {
	var parsed []*ast.File
	for _, folder := range folders {
		files, err := filepath.Glob("../" + folder + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, f)
		}
	}
	return parsed
}

// verdicts are the constants of type Verdict.
func verdicts(t *testing.T) []string {
	var list []string
	for _, f := range source(t, "stat") {
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
				if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Verdict" {
					list = append(list, text(v.Values[0]))
				}
			}
			return true
		})
	}
	return list
}

func text(e ast.Expr) string {
	if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		if s, err := strconv.Unquote(literal.Value); err == nil {
			return s
		}
	}
	return ""
}
