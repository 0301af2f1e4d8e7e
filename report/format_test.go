package report_test

import (
	"strings"
	"testing"
	"unicode"

	"contend/errkind"
	"contend/expect"
	"contend/load"
	"contend/metric"
	"contend/report"
	"contend/report/plain"
	"contend/trial"
)

func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 150)
	tests := []struct{ give, want string }{
		{"", "-\n"},
		{"word", "- word\n"},
		{long, "- " + long + "\n"}, // no line of its own before it
		{"a " + long + " b", "- a\n  " + long + "\n  b\n"},
		// 2 + 94 + 1 + 2 + 1 + 2 = 102: number and unit go to the next line together.
		{strings.Repeat("x", 94) + " 45 ms", "- " + strings.Repeat("x", 94) + "\n  45 ms\n"},
		// 2 + 49 · 2 = 100 columns of wide characters fill a line.
		{strings.Repeat("東", 49) + " z", "- " + strings.Repeat("東", 49) + "\n  z\n"},
	}
	for _, tt := range tests {
		if got := report.Wrap(tt.give); got != tt.want {
			t.Errorf("%q became\n%s\nwant\n%s", tt.give, got, tt.want)
		}
	}
}

// All lines of a table end in the same column, whatever is in it.
func TestTableAlignment(t *testing.T) {
	columns := []string{"name", "time", "÷"}
	rows := [][]string{{"東京", "1.63 µs", "9"}, {"e\u0301 accent", "-", "10"}, {"tab\there", "12 s", "1"}, {"short"}}
	lines := strings.Split(strings.TrimSuffix(report.TextTable(columns, rows...), "\n"), "\n")
	for _, line := range lines[:4] {
		if plain.Width(line) != plain.Width(lines[0]) {
			t.Errorf("line %q is %d wide, want %d", line, plain.Width(line), plain.Width(lines[0]))
		}
	}
	if len(lines) != 5 || !strings.HasPrefix(lines[1], "  東京 ") || !strings.HasSuffix(lines[2], "    -  10") {
		t.Errorf("table\n%s", strings.Join(lines, "\n"))
	}
}

// Where a row is too wide for a page its name is shortened, and not a figure.
func TestPageKeepsFigures(t *testing.T) {
	lines := report.PageTable([]string{"function", "A"}, []string{strings.Repeat("x", 200), "1,234"}, []string{"all", "5"})[1:]
	for i, end := range []string{" A", "x…  1,234", " 5"} {
		if plain.Width(lines[i]) != 100 || !strings.HasSuffix(lines[i], end) {
			t.Errorf("%q is %d wide, want 100 and %q at its end", lines[i], plain.Width(lines[i]), end)
		}
	}
}

func TestMarkdown(t *testing.T) {
	tests := []struct{ give, want string }{
		{`a|b`, `a\|b`},
		{`a\|b`, `a&#92;\|b`},
		{"`code` *bold* ~~gone~~ $math$", "\\`code\\` \\*bold\\* \\~\\~gone\\~\\~ \\$math\\$"},
		{"![x](http://evil/)[y](javascript:z)", `!\[x\](http://evil/)\[y\](javascript:z)`},
		{"<img src=x> &lt;", "&lt;img src=x&gt; &amp;lt;"},
		{"few_samples and _emphasis_ and __init__", `few_samples and \_emphasis\_ and \_\_init\_\_`},
	}
	for _, tt := range tests {
		if got := report.Escape(tt.give); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.give, got, tt.want)
		}
	}
	for give, want := range map[string]string{
		"# heading": `\# heading`, "- item": `\- item`, "-0.1%": "-0.1%", "---": `\---`, "1. item": `1\. item`,
		"96.0 kB": "96.0 kB", "2) item": `2\) item`, "=": `\=`, "": "", "+": `\+`, "12.": `12\.`,
	} {
		if got := report.MarkdownLine(give); got != want+"\n" {
			t.Errorf("%q became %q, want %q", give, got, want)
		}
	}
}

// Every row of a Markdown table has one cell per column, whatever is in it.
func TestMarkdownTable(t *testing.T) {
	hostile := []string{"a|b", `a\|b`, `\`, "|", "line\nbreak |", "`|`", "\x1b[2J|"}
	for _, cell := range hostile {
		got := report.MarkdownTable([]string{"x", "y"}, []string{cell, "1"}, []string{"b"})
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		for _, line := range lines {
			if bars := strings.Count(line, "|") - strings.Count(line, `\|`); len(lines) != 4 || bars != 3 || strings.Contains(line, `\\|`) {
				t.Errorf("cell %q broke the table:\n%s", cell, got)
			}
		}
	}
}

// Nothing that a server or a file says reaches a terminal unprinted.
func TestHostileTexts(t *testing.T) {
	hostile := "\x1b]0;title\a\x1b[2J\u202e\u009b1m|`<b>\xff %s %!d\r\nnext"
	r := closedResult("http://host/"+hostile, 1, 10)
	r.Planned, r.Errored = 11, map[errkind.Kind]int64{errkind.Kind(hostile): 1}
	r.Examples = map[errkind.Kind]string{errkind.Kind(hostile): strings.Repeat(hostile, 1000)}
	r.Stopped = load.StopReason(hostile)
	single := runDocument(r)
	single.Environment.CPU, single.Environment.Kernel, single.Version = hostile, hostile, hostile
	many := document("lab")
	many.AddCell(trial.Cell{Arm: hostile, Result: r})
	many.AddCell(trial.Cell{Arm: "other", Result: r})
	many.AddInProcess(trial.Cell{Arm: hostile, Result: r}, report.InProcess{Design: hostile, Class: hostile, Kind: hostile, Latency: spread(1, 1, 1)})
	many.Notes = []string{hostile}
	whole := document("lab")
	whole.Experiments = []report.Experiment{{
		ID: hostile, Title: hostile, Question: hostile, Source: hostile, Status: hostile, Error: hostile, Profile: hostile,
		Parts:        []report.Part{{Name: hostile, Title: hostile}},
		Published:    []report.Published{{Title: hostile, Environment: hostile, Notes: []report.Note{{Because: hostile}}, Rows: []report.PublishedFigure{{Arm: hostile, Metric: metric.Name(hostile)}}}},
		Analyses:     []report.Analysis{{Title: hostile, Columns: []string{hostile}, Rows: [][]string{{hostile}}, Sentence: []string{hostile}}},
		Expectations: []expect.Expectation{{Text: hostile}},
	}}
	whole.Derive()
	for _, d := range []*report.Document{single, many, whole} {
		_, text := written(t, d)
		markdown := rendered(t, d.Markdown)
		for _, view := range []string{string(text), markdown} {
			if i := strings.IndexFunc(view, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("%q reached the view:\n%s", view[i:i+4], view)
			}
			if strings.Contains(view, "MISSING") || strings.Contains(view, "EXTRA") {
				t.Errorf("a text was used as a format:\n%s", view)
			}
			if len(view) > 20_000 {
				t.Errorf("the view is %d bytes long", len(view))
			}
		}
		if strings.Contains(markdown, "<b>") {
			t.Error("markup reached the Markdown view")
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	page := report.Page{Answer: "2 workers", Columns: []string{"worker", "cores"}, Rows: [][]string{{"a\x1b[2J", "2"}, {"b", "16"}}, Remarks: []string{"one", "two"}}
	if err := page.Text(&b); err != nil {
		t.Fatal(err)
	}
	const want = "2 workers\n\n  worker    cores\n  a\\x1b[2J      2\n  b            16\n\n- one\n- two\n"
	if got := b.String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
