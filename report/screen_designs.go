package report

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"contend/internal/unit"
)

// guardScreen answers which guard is fastest.
func (d *Document) guardScreen() *screen { return d.guardContest().screen(d) }

func (d *Document) guardContest() *contest {
	c := &contest{question: "Fastest", slow: true, columns: []string{"time/op", "× the fastest", "log scale"},
		inField: func(kind string) string { return "for " + kind },
		atLevel: func(n int) string { return "with " + plural(n, "caller") },
		callers: func(n int) int { return n },
		shown:   func(e entrant) string { return unit.Duration(1e9 / e.perSec) },
		size: func(e entrant, first bool) string {
			return unit.Duration(1e9/e.perSec) + either(first, " per op", "")
		},
	}
	for _, r := range d.Results {
		if r.InProcess != nil {
			c.entrants = append(c.entrants, entrant{field: r.InProcess.Kind, level: r.Concurrency, design: r.InProcess.Design,
				perSec: r.ThroughputPerSec, target: r.Target, doubt: r.Doubt()})
		}
	}
	c.beside = func(e entrant) float64 {
		_, first, _ := c.leaders(e.field, e.level)
		return first.perSec / e.perSec
	}
	return c
}

// pipeScreen answers which pipeline carries most.
func (d *Document) pipeScreen() *screen { return d.pipeContest().screen(d) }

func (d *Document) pipeContest() *contest {
	c := &contest{question: "Most items/s", by: "producers:consumers", columns: []string{"items/s", "× plain chan", "log scale"},
		inField: func(workers string) string { return "for " + workers },
		atLevel: func(procs int) string { return "with GOMAXPROCS " + strconv.Itoa(procs) },
		callers: func(int) int { return 1 },
		shown:   func(e entrant) string { return unit.Rate(e.perSec) },
	}
	for _, r := range d.Results {
		c.entrants = append(c.entrants, piped(r))
	}
	c.beside = func(e entrant) float64 {
		for _, plain := range c.entrants {
			if plain.field == e.field && plain.level == e.level && plain.name() == plainChannel && plain.perSec > 0 {
				return e.perSec / plain.perSec
			}
		}
		return 0
	}
	c.size = func(e entrant, first bool) string {
		text := unit.Rate(e.perSec)
		if factor := c.beside(e); factor > 0 && e.name() != plainChannel {
			text += ", " + unit.Digits(factor) + "×" + either(first, " a plain channel", "")
		}
		return text
	}
	return c
}

// plainChannel is the pipeline that the others are compared with.
const plainChannel = "chan"

// piped reads how a pipeline was driven from its URL, and from its label, which has GOMAXPROCS
// after the URL.
func piped(r Result) entrant {
	e := entrant{perSec: r.ThroughputPerSec, target: r.Target, doubt: r.Doubt()}
	label, procs, _ := strings.Cut(r.Arm, ", GOMAXPROCS ")
	e.level, _ = strconv.Atoi(procs)
	design, query, _ := strings.Cut(strings.TrimPrefix(label, "pipe:"), "?")
	e.design = design
	settings, _ := url.ParseQuery(query) // one that cannot be read has none
	count := func(key string) int {
		n, _ := strconv.Atoi(settings.Get(key))
		return n
	}
	e.field = fmt.Sprintf("%d:%d", max(1, count("producers")), max(1, count("consumers")))
	var with []string
	for _, key := range []string{"buffer", "batch"} {
		if n := count(key); n > 0 {
			with = append(with, key+" "+unit.Count(n))
		}
	}
	if settings.Get("print") == "true" {
		with = append(with, "printing each")
	}
	e.with = strings.Join(with, " ")
	return e
}

// insideScreen answers what the choice of a guard can change inside a server.
func (d *Document) insideScreen(a Analysis) *screen {
	s := &screen{care: new(findings), hidden: len(d.Notes), mood: good, first: a.Answer,
		trust: "Upper bound, assuming a guard costs the same inside the server as in process", next: d.goesOn()}
	for _, r := range d.Results {
		for _, w := range r.Remarks() {
			s.care.addCode(w, "")
		}
		if doubt := r.Doubt(); doubt != nil && s.mood == good {
			s.mood, s.trust, s.next = doubted, invalid(*doubt), d.afterDoubt(doubt.Code)
			s.first = "Not valid: " + s.first
		}
	}
	s.rows(table{columns: a.Columns, rows: a.Rows})
	s.asides(a.Sentence)
	return s
}
