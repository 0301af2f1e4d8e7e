package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"contend/finding"
	"contend/internal/unit"
)

// mostOfContest are the lines for tables on a page about designs in this process.
const mostOfContest = 14

// alike is the share by which the speeds of two designs may differ without being ranked:
// each was measured for a fraction of a second, and there is no interval. It is a
// convention of this project.
const alike = 0.10

// A contest is what designs did in this process: in one or several fields, such as kinds of
// operation, at one or several levels, such as numbers of callers.
type contest struct {
	entrants []entrant
	question string                             // how the first line begins
	by       string                             // what tells fields apart, if their names do not say
	inField  func(string) string                // "for add-get"
	atLevel  func(int) string                   // "with 100 callers"
	shown    func(entrant) string               // its figure
	size     func(e entrant, first bool) string // its figure in the first line
	beside   func(entrant) float64              // its speed as a multiple of a reference; 0: not known
	columns  []string                           // over the figure, the reference, and the bars
	slow     bool                               // figures are times: the longer the bar, the slower
	callers  func(int) int                      // VUs of a comparison at a level
}

// An entrant is a design as it was driven.
type entrant struct {
	field  string
	level  int
	design string
	with   string // its settings; "": none
	perSec float64
	target string
	doubt  *finding.Warning
}

func (e entrant) name() string { return strings.TrimSpace(e.design + " " + e.with) }

func (c contest) fields() []string {
	return distinct(c.entrants, func(e entrant) string { return e.field })
}

func (c contest) levels() []int {
	return slices.Sorted(slices.Values(distinct(c.entrants, func(e entrant) int { return e.level })))
}

// ranked are those of a field at a level, the fastest first.
func (c contest) ranked(field string, level int) []entrant {
	list := slices.DeleteFunc(slices.Clone(c.entrants), func(e entrant) bool { return e.field != field || e.level != level })
	slices.SortStableFunc(list, func(a, b entrant) int { return cmp.Compare(b.perSec, a.perSec) })
	return list
}

// leaders names the fastest design and those that are alike, and returns the fastest;
// false if no design did anything there.
func (c contest) leaders(field string, level int) (names string, first entrant, ok bool) {
	var list []string
	ranked := c.ranked(field, level)
	for _, e := range ranked {
		if !(e.perSec > 0) || e.perSec*(1+alike) < ranked[0].perSec {
			break
		}
		if !slices.Contains(list, e.design) {
			list = append(list, e.design)
		}
	}
	if len(list) == 0 {
		return "", entrant{}, false
	}
	return enumerated(list), ranked[0], true
}

// screen is the page of the contest; nil: nobody took part.
func (c contest) screen(d *Document) *screen {
	if len(c.entrants) == 0 {
		return nil
	}
	s := &screen{care: new(findings), hidden: len(d.Notes), mood: good}
	s.first = c.answer()
	refused := slices.DeleteFunc(slices.Clone(c.entrants), func(e entrant) bool { return e.doubt == nil })
	doubts := distinct(refused, func(e entrant) string { return e.doubt.Code })
	s.trust = fmt.Sprintf("Ignore differences below %.0f%%: each design ran for %s, in random order, with no confidence interval", 100*alike, d.eachMeasured())
	if len(refused) > 0 {
		s.mood, s.first = doubted, "Not "+either(len(refused) < len(c.entrants), "all ", "")+"valid: "+strings.ToLower(s.first[:1])+s.first[1:]
		s.trust = fmt.Sprintf("INVALID (%s): %d of %d results, marked !", strings.Join(doubts, ", "), len(refused), len(c.entrants))
	}
	for _, r := range d.Results {
		for _, w := range r.Remarks() {
			if !slices.Contains(doubts, w.Code) {
				s.care.addCode(w, "")
			}
		}
	}
	if s.next = cmp.Or(c.next(), Step{AllDesigns, "contend " + d.Command}); len(refused) > 0 {
		s.next = d.afterDoubt(doubts[0])
	}
	c.tables(s, mostOfContest)
	return s
}

// eachMeasured is how long each entrant was measured.
func (d *Document) eachMeasured() string {
	longest := time.Duration(0)
	for _, r := range d.Results {
		longest = max(longest, r.Duration)
	}
	return window(longest)
}

// answer names the fastest: with one field at the lowest and at the highest level, with
// several at the highest.
func (c contest) answer() string {
	fields, levels := c.fields(), c.levels()
	last := levels[len(levels)-1]
	var cases []string
	add := func(where string, level int, fields ...string) {
		names, fastest, ok := c.leaders(fields[0], level)
		if !ok {
			return
		}
		slowest := fastest
		for _, f := range fields[1:] {
			if _, first, _ := c.leaders(f, level); first.perSec > fastest.perSec {
				fastest = first
			} else if first.perSec < slowest.perSec {
				slowest = first
			}
		}
		size := c.size(fastest, len(cases) == 0)
		if from, to := c.shown(fastest), c.shown(slowest); from != to {
			if size = from + " to " + to; len(cases) == 0 {
				size = from + " to " + c.size(slowest, true)
			}
		}
		cases = append(cases, strings.TrimSpace(names+" "+where)+" ("+size+")")
	}
	scope := ""
	switch {
	case len(fields) > 1:
		if scope = c.atLevel(last); c.by != "" {
			scope += " by " + c.by
		}
		for _, g := range c.grouped(fields, last) {
			add(c.inField(enumerated(g)), last, g...)
		}
	case len(levels) > 1:
		scope = strings.TrimSpace(c.inField(fields[0]) + " " + c.by)
		add(c.atLevel(levels[0]), levels[0], fields...)
		add(c.atLevel(last), last, fields...)
	default:
		scope = strings.Join(strings.Fields(c.inField(fields[0])+" "+c.by+" "+c.atLevel(last)), " ")
		add("", last, fields...)
	}
	if len(cases) == 0 {
		return "Nothing succeeded"
	}
	return strings.TrimSpace(c.question+" "+scope) + ": " + strings.Join(cases, ", ")
}

// grouped are the fields with the same leaders at a level, together.
func (c contest) grouped(fields []string, level int) [][]string {
	var groups [][]string
	var by []string
	for _, f := range fields {
		names, _, _ := c.leaders(f, level)
		if i := slices.Index(by, names); i >= 0 {
			groups[i] = append(groups[i], f)
		} else {
			groups, by = append(groups, []string{f}), append(by, names)
		}
	}
	return groups
}

// tables draws everything where there is room for it, and else who leads everywhere, and those
// of the first field at the highest level.
func (c contest) tables(s *screen, room int) {
	fields, levels := c.fields(), c.levels()
	if len(c.entrants)+1 <= room {
		s.rows(c.chart(room, fields, levels))
		return
	}
	if lead := c.leading(fields, levels); len(fields)*len(levels) > 1 && len(lead.rows)+1 <= room-3 {
		s.rows(lead)
		room -= len(lead.rows) + 1
	}
	s.rows(c.chart(room, fields[:1], levels[len(levels)-1:]))
}

// mostColumns is how many levels fit next to each other.
const mostColumns = 4

// leading has the fastest of each field at each level.
func (c contest) leading(fields []string, levels []int) table {
	for len(levels) > mostColumns { // the first and the last stay
		levels = slices.Delete(slices.Clone(levels), len(levels)/2, len(levels)/2+1)
	}
	t := table{columns: []string{strings.ToLower(c.question)}}
	for _, n := range levels {
		t.columns = append(t.columns, strings.TrimPrefix(c.atLevel(n), "with "))
	}
	for _, f := range fields {
		row := []string{f}
		for _, n := range levels {
			cell := "-"
			if _, first, ok := c.leaders(f, n); ok {
				cell = first.design + " " + c.shown(first)
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// chart draws the entrants of these fields and levels, as many as there is room for, on a
// logarithmic scale that begins at a tenth of the smallest.
func (c contest) chart(room int, fields []string, levels []int) table {
	var groups [][]entrant
	low, high := math.Inf(1), 0.0
	for _, f := range fields {
		for _, n := range levels {
			list := c.ranked(f, n)
			for _, e := range list {
				if e.perSec > 0 {
					low, high = min(low, e.perSec), max(high, e.perSec)
				}
			}
			if len(list) > 0 {
				groups = append(groups, list)
			}
		}
	}
	t := table{columns: append([]string{"", ""}, c.columns[:2]...), over: c.columns[2]}
	for _, list := range groups {
		shown := list
		if len(list) > room-1 {
			shown = c.fewer(list, room-2)
		}
		where := list[0].field + ", " + strings.TrimPrefix(c.atLevel(list[0].level), "with ")
		for i, e := range shown {
			if i > 0 {
				where = ""
			}
			c.add(&t, e, where, low, high)
		}
		if rest := len(list) - len(shown); rest > 0 {
			t.rows, t.bars = append(t.rows, []string{"", fmt.Sprintf("%d more: add --full", rest), "", ""}), append(t.bars, bar{})
		}
	}
	return c.headed(t, len(groups))
}

// headed has the field and the level of a single group over its designs.
func (c contest) headed(t table, groups int) table {
	if groups != 1 {
		return t
	}
	t.columns[1] = t.rows[0][0]
	t.columns = t.columns[1:]
	for i := range t.rows {
		t.rows[i] = t.rows[i][1:]
	}
	return t
}

// fewer leaves n of a ranked list: each design at its fastest, and the reference of the
// others.
func (c contest) fewer(list []entrant, n int) []entrant {
	var designs []string
	kept := slices.DeleteFunc(slices.Clone(list), func(e entrant) bool {
		seen := slices.Contains(designs, e.design)
		designs = append(designs, e.design)
		return seen && c.beside(e) != 1
	})
	for len(kept) > max(1, n) {
		i := len(kept) - 1
		if c.beside(kept[i]) == 1 && i > 1 {
			i--
		}
		kept = slices.Delete(kept, i, i+1)
	}
	return kept
}

func (c contest) add(t *table, e entrant, where string, low, high float64) {
	row, b := []string{where, e.name(), "-", "-"}, bar{remark: either(e.doubt != nil, "!", "")}
	if e.perSec > 0 {
		share := logShare(e.perSec, low, high)
		if c.slow {
			share = logShare(1/e.perSec, 1/high, 1/low)
		}
		row[2], b.share = c.shown(e), share/2
		if factor := c.beside(e); factor > 0 {
			row[3] = unit.Digits(factor)
		}
	} else {
		b.remark = "!"
	}
	t.rows, t.bars = append(t.rows, row), append(t.bars, b)
}

// next is the command that tells the two fastest apart, in the first field at the highest
// level, with an interval; "": there are no two.
func (c contest) next() Step {
	levels := c.levels()
	level := levels[len(levels)-1]
	var targets, designs []string
	for _, e := range c.ranked(c.fields()[0], level) {
		if !slices.Contains(designs, e.design) {
			designs, targets = append(designs, e.design), append(targets, "'"+e.target+"'")
		}
	}
	if len(targets) < 2 {
		return Step{}
	}
	return Step{compareTwo, fmt.Sprintf("contend compare -c %d %s", c.callers(level), strings.Join(targets[:2], " "))}
}
