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
	"unicode"

	"contend/docs"
	"contend/errkind"
	"contend/finding"
	"contend/metric"
	"contend/report"
	"contend/trial"
)

// Whatever a report can print has an explanation: every code of a warning or
// refusal, every verdict, kind of error, metric and key.
func TestEverythingIsExplained(t *testing.T) {
	index := docs.Read()
	for what, terms := range map[string][]string{
		"warning or refusal": codes(), "verdict": verdicts(t), "error kind": errors(), "metric": metrics(), "key": keys(reflect.TypeFor[report.Document]()),
	} {
		if len(terms) < 7 {
			t.Errorf("only found %d of kind %s: %q", len(terms), what, terms)
		}
		slices.Sort(terms)
		for _, term := range slices.Compact(terms) {
			if found := index.Find(term); len(found) != 1 || what != "key" && found[0].Kind != docs.Word {
				t.Errorf("%d terms explain the %s %s, want 1: %+v", len(found), what, term, found)
			}
		}
	}
}

// What engineers know from k6, wrk, oha, ab, hyperfine and benchstat has one explanation.
func TestWordsOfOtherToolsAreExplained(t *testing.T) {
	index := docs.Read()
	for want, words := range map[string]string{
		"throughput":          "rps, qps, TPS, requests per second, requests/sec, http_reqs",
		"response time":       "latency, tail latency, http_req_duration, iteration duration",
		"mean":                "average, avg, mean, time per request",
		"percentile":          "percentile, percentiles, quantile, histogram, latency distribution",
		"first byte":          "ttfb, time to first byte, http_req_waiting",
		"errors":              "error rate, failed requests, http_req_failed, socket errors",
		"answers by status":   "status codes, non-2xx",
		"max":                 "slowest",
		"bytes in per second": "transfer rate",
		"server CPU per op":   "user time, system time",
		"concurrency":         "connections, users, vus, virtual users, vus_max, workers",
		"warm-up":             "warmup, warm-up",
		"pacer":               "stages, ramp, executor",
		"kept connection":     "keep-alive, keepalive",
		"think time":          "think time",
		"measured":            "duration",
		"timeout":             "time limit",
		"spread":              "stddev, standard deviation, variance, jitter, noise",
		"Hodges–Lehmann":      "outliers",
		"ratio":               "geomean",
		"INCONCLUSIVE":        "~",
		"difference":          "delta, speedup, vs base",
		"level":               "significance",
		"saturated":           "saturation, bottleneck",
		"expectation":         "threshold",
		"run":                 "scenario",
	} {
		for word := range strings.SplitSeq(words, ", ") {
			if found := index.Find(word); len(found) != 1 || found[0].Names[0] != want {
				t.Errorf("%q is explained by %+v, want %s alone", word, found, want)
			}
		}
	}
}

// A code that warns from one share on and refuses from another says both.
func TestExplainedCodesSayWhatIsRefused(t *testing.T) {
	found := docs.Read().Find("incomplete")
	if len(found) != 1 || !strings.HasPrefix(found[0].What, "over 0.1% ") || !strings.HasSuffix(found[0].What, "; INVALID above 1%") {
		t.Errorf("%+v", found)
	}
}

// So are words of sentences, however they are spelled, and the contents of cells.
func TestWordsAreExplained(t *testing.T) {
	index := docs.Read()
	for word, want := range map[string]string{
		"95% interval": "interval", "99.5% interval": "interval", "±5%": "±2%", "at p99": "p99", "in the median": "median",
		"exit code 4": "exit code 4", "4": "exit code 4", "VUs": "concurrency", "10 VUs": "concurrency", "Arm": "variant", "RPS": "throughput",
		"server CPU/op": "server CPU per op", "response p99": "response time p99", "response_p999_ns": "response time p99.9", "p99": "p99",
		"start lag p99.9": "start lag p99.9", "START-LAG": "start lag", "hodges-lehmann": "Hodges–Lehmann", "Bonferroni's correction": "Several metrics: Bonferroni's correction",
		"alpha": "α", "F": "F", "ƒ": "○", "rounds": "round", "7 rounds": "round", "A/A comparison": "A/A comparison", "failed": "failed", "PLANNED": "planned",
		"errors": "errors", "scatter": "spread", "round_share": "round_share", "held": "passed", "cv": "cv", "started": "started",
		"note": "note", "loop": "event loop", "fitted peak": "optimum", "connection refused": "refused", "callers": "caller", "1 note": "note", "2 notes": "note", "3 rounds": "round", "saturated": "saturated", "from due time": "due time", "95%, interval": "interval",
	} {
		found := index.Find(word)
		if len(found) != 1 {
			t.Errorf("%d terms explain %q: %+v", len(found), word, found)
			continue
		}
		if name := found[0].Names[0]; name != want {
			t.Errorf("%q is explained as %q, want %q", word, name, want)
		}
	}
	if found := index.Find("INVALID errors"); len(found) != 2 || found[0].Names[0] != "INVALID" || found[1].Names[0] != "errors" {
		t.Errorf("two words are explained by %+v", found)
	}
	for _, word := range []string{"", "xyzzy", "p99 xyzzy", "_", "'s", "7"} {
		if found := index.Find(word); len(found) > 0 {
			t.Errorf("%q is explained by %q", word, found[0].Names[0])
		}
	}
}

// A key that means several things says each of them, with where.
func TestKeysOfSeveralPlaces(t *testing.T) {
	found := docs.Read().Find("arms")
	if len(found) != 1 || !strings.HasPrefix(found[0].What, "in Top level: the variants") || !strings.HasPrefix(found[0].Read, "in trials: names") {
		t.Errorf("arms: %+v", found)
	}
}

// No explanation is the term itself in other words, and all that are words have a page and
// a section that exist.
func TestExplanationsSayMoreThanTheTerm(t *testing.T) {
	names := map[string]string{}
	type place struct{ page, section string }
	texts := map[place][]docs.Block{}
	for _, term := range docs.Read().Terms {
		name := term.Names[0]
		own := strings.Fields(strings.ToLower(strings.Join(term.Names, " ")))
		said := slices.DeleteFunc(strings.Fields(strings.ToLower(term.What)), func(word string) bool {
			return slices.Contains(own, strings.Trim(word, ".,:;()"))
		})
		if len(said) < 3 && len(strings.Fields(term.Read)) < 3 {
			t.Errorf("%s: %q says no more than the term", name, term.What)
		}
		if term.Kind != docs.Word {
			continue
		}
		at := place{term.Page, term.Section}
		if _, read := texts[at]; !read {
			texts[at] = docs.Text(at.page, at.section)
		}
		if term.Source == "" || len(texts[at]) == 0 {
			t.Errorf("%s: there is no section %q of %q", name, term.Section, term.Page)
		}
		for _, own := range term.Names {
			own = strings.ToLower(own)
			if names[own] != "" && names[own] != name {
				t.Errorf("%s is explained as %s and as %s", own, names[own], name)
			}
			names[own] = name
		}
	}
}

// The sources of terminology.md are links that lead somewhere.
func TestSourcesAreLinks(t *testing.T) {
	text, err := os.ReadFile("terminology.md")
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\[([^]]+)\]\(([a-z-]+\.md)#([^)]+)\)`).FindAllStringSubmatch(string(text), -1)
	if len(links) < 60 {
		t.Fatalf("found %d links", len(links))
	}
	for _, link := range links {
		page, err := os.ReadFile(link[2])
		if err != nil {
			t.Error(err)
		}
		for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(page), -1) {
			if anchor(heading[1]) == link[3] {
				link = nil
				break
			}
		}
		if link != nil {
			t.Errorf("%s: there is no such heading", link[0])
		}
	}
}

// anchor is the fragment by which a heading is linked to: letters and digits in lower case,
// and hyphens for spaces.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
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

func errors() []string {
	var list []string
	for _, kind := range errkind.All() {
		list = append(list, string(kind))
	}
	return list
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
