package report_test

import (
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"contend/internal/testenv"
)

// typed is what somebody else wrote, which pages repeat as it is: claims, flags, URLs, paths of documents, times of day,
// the words of servers, and what one machine has.
var typed = regexp.MustCompile(`(?:[<>=]=?|&[gl]t;|\bsteps:|\bport|:) ?[\d./,s:-]+(?:ns|ms|s)?|(?:^|[ (])--?[a-zA-Z][\w-]*[ =]\S+|\S+://\S+|\d{4}-\d\d-\d\d\S*|'[^']*'|│.*|\S+=\S+|SetBlockProfileRate\S+`)

// Every figure has one form on all pages.
func TestFiguresHaveOneForm(t *testing.T) {
	wrong := map[string]*regexp.Regexp{
		"an exponent":                   regexp.MustCompile(`\d[eE][+-]?\d+\b`),
		"no space before a unit":        regexp.MustCompile(`\d(?:ns|µs|ms|[kMG]?B)\b`),
		"a space before a percent sign": regexp.MustCompile(`\d %`),
		"thousands that are not apart":  regexp.MustCompile(`(?:^|[ (×±+−-])\d{4,}(?:\.\d+)?(?:[ ),;/×%]|$)`),
	}
	for _, pattern := range []string{"screen-*.txt", "full-*.txt", "*.md"} {
		files, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			for n, line := range pageLines(t, file) {
				for what, form := range wrong {
					if found := form.FindString(typed.ReplaceAllString(line, "")); found != "" {
						t.Errorf("%s:%d: %q has %s: %s", file, n+1, found, what, line)
					}
				}
			}
		}
	}
}

// A figure of a first line is rounded as in the row below that has it.
func TestFirstLinesAreRoundedAsRows(t *testing.T) {
	figure := regexp.MustCompile(`([\d,]+(?:\.\d+)?)( ?(?:/s|[nµm]?s\b|%|×))`)
	files, err := filepath.Glob("testdata/screen-*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		var first []string
		lines := pageLines(t, file)
		for n, line := range lines {
			if n >= 2 && strings.HasPrefix(lines[n-2], "== ") {
				first = figure.FindAllString(typed.ReplaceAllString(line, ""), -1)
				continue
			}
			for _, row := range figure.FindAllString(typed.ReplaceAllString(line, ""), -1) {
				for _, said := range first {
					a, b := figure.FindStringSubmatch(said), figure.FindStringSubmatch(row)
					if a[2] == b[2] && a[1] != b[1] && alike(t, a[1], b[1]) {
						t.Errorf("%s:%d: %s below %s", file, n+1, row, said)
					}
				}
			}
		}
	}
}

// alike reports whether one of two numbers is the other in fewer digits.
func alike(t *testing.T, a, b string) bool {
	digits := func(number string) (value float64, n int) {
		plain := strings.ReplaceAll(number, ",", "")
		value, err := strconv.ParseFloat(plain, 64)
		if err != nil {
			t.Fatal(err)
		}
		return value, len(strings.TrimLeft(strings.TrimRight(strings.Replace(plain, ".", "", 1), "0"), "0"))
	}
	x, n := digits(a)
	y, m := digits(b)
	fewer := min(n, m)
	rounded := func(v float64) string { return strconv.FormatFloat(v, 'e', max(0, fewer-1), 64) }
	return n != m && fewer >= 2 && rounded(x) == rounded(y) && math.Abs(x-y) < 0.005*max(x, y)
}

func pageLines(t *testing.T, file string) []string {
	t.Helper()
	text := testenv.Read(t, file)
	return strings.Split(string(text), "\n")
}
