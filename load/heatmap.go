package load

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/hist"
)

// A Heatmap counts response times by when they were measured and how long they were. It has at
// most 60 columns of as many intervals of a Course each and 40 rows, from the shortest to the
// longest; each row is longer than the one before by about the same factor.
type Heatmap struct {
	// PerColumn is the number of intervals of a column, and Warmup how many columns, the first
	// ones, lie before the measured window.
	PerColumn int `json:"intervals_per_column"`
	Warmup    int `json:"warmup_columns,omitempty"`
	// Edges are the shortest time of each row, and what is longer than all of the last.
	Edges   []time.Duration `json:"edges_ns"`
	Columns []HeatColumn    `json:"columns"`
}

// The most columns and rows of a Heatmap.
const (
	maxColumns = 60
	maxRows    = 40
)

// A HeatColumn has the counts of the rows, without trailing zeros. As text it is the number of the
// first row that is not 0, from 0, and the counts from that row up: "7 1 0 12"; "" if all are 0.
type HeatColumn []int64

// MarshalText writes the text form.
func (c HeatColumn) MarshalText() ([]byte, error) {
	var text []byte
	for row, n := range c {
		if len(text) == 0 && n != 0 {
			text = strconv.AppendInt(text, int64(row), 10)
		}
		if len(text) > 0 {
			text = strconv.AppendInt(append(text, ' '), n, 10)
		}
	}
	return text, nil
}

// UnmarshalText reads what MarshalText writes.
func (c *HeatColumn) UnmarshalText(text []byte) error {
	fields := strings.Fields(string(text))
	if len(fields) == 0 {
		*c = nil
		return nil
	}
	first, err := strconv.Atoi(fields[0])
	if err != nil || first < 0 || first+len(fields)-1 > timeRows {
		return fmt.Errorf("column of a heatmap: begins with row %.20q and has %d counts; expected %d rows", fields[0], len(fields)-1, timeRows)
	}
	counts := make(HeatColumn, first, first+len(fields)-1)
	for _, field := range fields[1:] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("column of a heatmap: %.20q is no count", field)
		}
		counts = append(counts, n)
	}
	*c = counts
	return nil
}

// HeatmapOf returns the heatmap of times in their order, as of the rounds of a comparison: each
// is an interval; nil: there are none.
func HeatmapOf(list ...*hist.Histogram) *Heatmap {
	intervals := make([]Interval, len(list))
	for i, h := range list {
		for shortest, n := range h.Bars() {
			intervals[i].times.recordN(shortest, n)
		}
	}
	return heatmapOf(intervals, 0)
}

// heatmapOf returns the heatmap of intervals that still have their times, so many of them before
// the measured window; nil: there are no times.
func heatmapOf(intervals []Interval, before int) *Heatmap {
	low, high := math.MaxInt, 0
	for i := range intervals {
		for bucket := range intervals[i].times.each() {
			low, high = min(low, bucket), max(high, bucket+1)
		}
	}
	if low >= high {
		return nil
	}
	per := (high - low + maxRows - 1) / maxRows // buckets of a row
	h := &Heatmap{}
	for row := low; row < high+per; row += per {
		lowest, _ := lowestOf(row)
		h.Edges = append(h.Edges, lowest)
	}
	for columns := math.MaxInt; columns > maxColumns; {
		h.PerColumn++
		h.Warmup = (before + h.PerColumn - 1) / h.PerColumn
		columns = h.Warmup + (len(intervals)-before+h.PerColumn-1)/h.PerColumn
		h.Columns = make([]HeatColumn, columns)
	}
	for i := range intervals {
		column := &h.Columns[(i+h.Warmup*h.PerColumn-before)/h.PerColumn]
		for bucket, n := range intervals[i].times.each() {
			column.count((bucket-low)/per, n)
		}
	}
	return h
}

func (c *HeatColumn) count(row int, n int64) {
	for len(*c) <= row {
		*c = append(*c, 0)
	}
	(*c)[row] += n
}

func (c HeatColumn) plus(o HeatColumn) HeatColumn {
	sum := slices.Clone(c)
	for row, n := range o {
		if n > 0 {
			sum.count(row, n)
		}
	}
	return sum
}

// The rows of a column that any run can have: so many buckets each, four a doubling, each 19% longer than the
// one before.
const (
	timePer  = parts / 4
	timeRows = buckets / timePer
)

// timesOf returns how many times there are in each of these rows.
func timesOf(h *hist.Histogram) (times HeatColumn) {
	for shortest, n := range h.Bars() {
		times.count(bucketOf(shortest)/timePer, n)
	}
	return times
}

// HeatmapOfGenerators returns the heatmap of what generators measured, one column each; nil if no generator
// measured anything.
func HeatmapOfGenerators(list []Generator) *Heatmap {
	low, high := timeRows, 0
	for _, g := range list {
		for row, n := range g.Times {
			if n > 0 {
				low, high = min(low, row), max(high, row+1)
			}
		}
	}
	if low >= high {
		return nil
	}
	h := &Heatmap{PerColumn: 1}
	for row := low; row <= high; row++ {
		shortest, _ := lowestOf(row * timePer)
		h.Edges = append(h.Edges, shortest)
	}
	for _, g := range list {
		h.Columns = append(h.Columns, g.Times[min(low, len(g.Times)):])
	}
	return h
}

// measured returns how many times there are in the window and after it; nil has none.
func (h *Heatmap) measured() (sum int64) {
	if h == nil {
		return 0
	}
	for _, column := range h.Columns[h.Warmup:] {
		for _, n := range column {
			sum += n
		}
	}
	return sum
}

// Validate returns what no Close would have made.
func (c *Course) Validate() error {
	switch h := c.Heatmap; {
	case c.Width <= 0 || c.Width > math.MaxInt64/maxIntervals:
		return fmt.Errorf("intervals of %v", c.Width)
	case len(c.Intervals) > maxIntervals || c.Warmup < 0 || c.Warmup > len(c.Intervals):
		return fmt.Errorf("%d intervals, %d of the warm-up; expected at most %d", len(c.Intervals), c.Warmup, maxIntervals)
	case h == nil:
		return nil
	case h.PerColumn < 1 || h.Warmup < 0 || h.Warmup > len(h.Columns) || len(h.Columns) > maxColumns:
		return fmt.Errorf("a heatmap of %d columns; expected at most %d", len(h.Columns), maxColumns)
	case len(h.Edges) < 2 || len(h.Edges) > maxRows+1:
		return fmt.Errorf("a heatmap with %d edges; expected 2 to %d", len(h.Edges), maxRows+1)
	default:
		return h.validate()
	}
}

func (h *Heatmap) validate() error {
	for row, edge := range h.Edges {
		if edge < 0 || row > 0 && edge <= h.Edges[row-1] {
			return errors.New("a heatmap whose edges do not ascend")
		}
	}
	for _, column := range h.Columns {
		if len(column) >= len(h.Edges) {
			return errors.New("a heatmap with a column of more rows than it has")
		}
	}
	return nil
}
