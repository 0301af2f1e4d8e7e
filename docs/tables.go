package docs

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"contend/finding"
	"contend/metric"
)

// held returns the table with this heading, in Markdown and with the heading, if
// the program holds it and the pages only repeat it; nil for any other.
func held(heading []string) [][]string {
	for _, table := range tables() {
		if slices.Equal(heading, table[0]) {
			return table
		}
	}
	return nil
}

// tables are those that the program holds. Every table of every page is looked for among them.
var tables = sync.OnceValue(func() [][][]string { return [][][]string{warnings(), endings(), metrics(), histograms()} })

func warnings() [][]string {
	rows := [][]string{{"code", "when", "what to do"}}
	for _, k := range finding.Kinds() {
		rows = append(rows, []string{"`" + k.Code + "`", k.When, k.Advice})
	}
	return rows
}

// endings are the codes that end a command with exit code 4, and the false claims that they prevent.
func endings() [][]string {
	rows := [][]string{{"code", "false claim of a run", "false claim of a comparison, sweep or search"}}
	for _, k := range finding.Kinds() {
		if k.OfRun+k.OfVerdict != "" {
			rows = append(rows, []string{"`" + k.Code + "`", cmp.Or(k.OfRun, "–"), k.OfVerdict})
		}
	}
	return rows
}

func metrics() [][]string {
	rows := [][]string{{"metric", "unit", "meaning", "how to read it"}}
	for _, m := range metric.Rows() {
		rows = append(rows, []string{called(m.Words, string(m.Name)), m.Kind.Unit(), m.Means, m.Read})
	}
	return rows
}

func histograms() [][]string {
	rows := [][]string{{"metric of times", "unit", "meaning", "how to read it"}}
	for _, h := range metric.Histograms() {
		if h.Name != "" {
			rows = append(rows, []string{called(h.Words, h.Name) + ", `" + h.Name + "_ns`", metric.Time.Unit(), h.Means, h.Read})
		}
	}
	return rows
}

// called names something in words and as it is written, once if that is the same.
func called(words, name string) string {
	if words == strings.ReplaceAll(name, "_", " ") {
		return words
	}
	return words + ", `" + name + "`"
}

// The sections with the tables.
var (
	ofCodes   = term("codes.md", "All codes")
	ofFigures = term("metrics.md", "All metrics")
)

func term(page, section string) Term {
	return Term{Source: saying(page, section), Page: page, Section: section, Kind: Word}
}

// programmed are the terms of the tables that the program holds: the figures and the
// codes. A code with the name of a figure is explained together with the figure.
func programmed() []Term {
	figures := figures()
	var codes []Term
	for _, k := range finding.Kinds() {
		advice := capital(plain(k.Advice))
		if k.Spares != "" {
			advice += "; " + plain(k.Spares)
		}
		at := slices.IndexFunc(figures, func(f Term) bool { return normal(f.Names[0]) == normal(k.Code) })
		if at >= 0 {
			figures[at].Read = "As a code, " + plain(k.Says) + ": " + plain(k.Advice)
			continue
		}
		t := ofCodes
		t.Names, t.What, t.Read, t.Topic = []string{k.Code}, plain(k.Says)+k.RefusedOver(), advice, "Codes of warnings and refusals"
		codes = append(codes, t)
	}
	return append(figures, codes...)
}

// figures are the metrics, the histograms and the statistics of times, and each
// statistic of each histogram.
func figures() []Term {
	var list []Term
	add := func(what, read string, also []string, names ...string) {
		t := ofFigures
		t.Names, t.What, t.Read, t.Topic = names, plain(what), plain(read), "Figures"
		t.First, t.Elsewhere = slices.Contains(metFirst, names[0]), slices.Concat(also, elsewhere[names[0]])
		list = append(list, t)
	}
	for _, m := range metric.Rows() {
		add(m.Means, m.Read, m.Also, m.Words, string(m.Name))
	}
	for _, s := range metric.Statistics() {
		add(s.Means, s.Read, nil, s.Words, s.Name)
	}
	for _, h := range metric.Histograms() {
		if h.Name == "" {
			add(h.Means, h.Read, nil, h.Words)
			continue
		}
		add(h.Means, h.Read, nil, h.Words, h.Name, h.Name+"_ns")
		for _, s := range metric.Statistics() {
			add(s.Means, capital(h.Words)+": "+h.Means, nil, h.Words+" "+s.Words, h.Name+" "+s.Words, h.Name+"_"+s.Name+"_ns")
		}
	}
	return list
}

// metFirst are the figures on the pages of most commands.
var metFirst = []string{"throughput", "response time", "p50", "p99", "max", "server CPU per op", "errors"}

// elsewhere is what other tools call a figure.
var elsewhere = map[string][]string{
	"throughput":          {"http_reqs", "ops"},
	"response time":       {"latency", "corrected latency", "tail latency", "request duration", "iteration duration", "http_req_duration"},
	"service time":        {"uncorrected latency"},
	"start lag":           {"queue time"},
	"exchange time":       {"RPC time"},
	"connect time":        {"http_req_connecting", "time to connect"},
	"first byte":          {"TTFB", "time to first byte", "http_req_waiting"},
	"mean":                {"average", "avg", "time per request"},
	"dropped":             {"never started", "not started"},
	"unfinished":          {"cut off by the end", "cut off"},
	"max":                 {"slowest", "worst"},
	"errors":              {"error rate", "failure rate", "failed requests", "http_req_failed", "socket errors"},
	"server CPU per op":   {"user time", "system time", "CPU time"},
	"bytes in per second": {"transfer rate", "data received"},
}

func capital(text string) string {
	if text == "" {
		return ""
	}
	first := []rune(text)[:1]
	return strings.ToUpper(string(first)) + strings.TrimPrefix(text, string(first))
}
