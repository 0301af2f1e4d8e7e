package history

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"contend/stat"
)

// testingUnits are those of go test -bench, and of counts, as metrics, whose names end in their unit.
var testingUnits = map[string]string{
	"ns/op": "wall_ns_per_op", "B/op": "allocated_bytes_per_op", "allocs/op": "allocs_per_op", "instructions/op": CountedInstructions,
}

// longestBenchmark is the length of a line, in bytes, beyond which reading fails.
const longestBenchmark = 1 << 20

// ReadBenchmarks reads the Go benchmark format (golang.org/design/14313-benchmark-format): a result for each commit that
// a line "commit: HASH" names, with the median of each benchmark's lines, which were compared with nothing. Lines that
// are no benchmarks are ignored. measured is when the file was written, and units are metrics by units that go test
// does not have.
func ReadBenchmarks(r io.Reader, measured time.Time, units map[string]string) ([]Result, error) {
	b := &benchmarks{units: units, now: Result{Schema: Schema, Time: measured.UTC().Truncate(time.Second), Key: Key{Asked: "go test -bench"}}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestBenchmark)
	for n := 1; lines.Scan(); n++ {
		if err := b.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("line %d %w", n, err)
		}
	}
	b.end()
	for i, r := range b.results {
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("result %d: %w", i+1, err)
		}
	}
	return b.results, lines.Err()
}

type benchmarks struct {
	units   map[string]string
	now     Result // whose Values are those of the lines so far
	seen    map[Of][]float64
	results []Result
}

func (b *benchmarks) line(text string) error {
	if key, value, ok := strings.Cut(text, ":"); ok && key != "" && key[0] >= 'a' && key[0] <= 'z' && !strings.ContainsAny(key, " \t") {
		b.configure(key, strings.TrimSpace(value))
		return nil
	}
	fields := strings.Fields(text)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return nil
	}
	for i := 2; i+1 < len(fields); i += 2 {
		x, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return fmt.Errorf("has %q; expected a number before each unit", fields[i])
		}
		unit := fields[i+1]
		b.add(Of{Variant: strings.TrimPrefix(fields[0], "Benchmark"), Metric: cmp.Or(testingUnits[unit], b.units[unit], unit)}, x, i == 2)
	}
	return nil
}

func (b *benchmarks) configure(key, value string) {
	switch key {
	case "commit":
		if value != b.now.Commit {
			b.end()
			b.now.Commit, b.now.Committed = value, time.Time{}
		}
	case "commit-time":
		b.now.Committed, _ = time.Parse(time.RFC3339, value) // else it is not known
	case "cpu":
		b.now.Key.CPU = value
	case "pkg":
		b.now.Key.Asked = "go test -bench " + value
	}
}

func (b *benchmarks) add(of Of, x float64, primary bool) {
	if b.seen == nil {
		b.seen = map[Of][]float64{}
	}
	if _, ok := b.seen[of]; !ok {
		b.now.Values = append(b.now.Values, Value{Of: of, Primary: primary})
	}
	b.seen[of] = append(b.seen[of], x)
}

// end ends what is of one commit.
func (b *benchmarks) end() {
	for i := range b.now.Values {
		v := &b.now.Values[i]
		v.Value = stat.Median(b.seen[v.Of])
	}
	if len(b.now.Values) > 0 {
		b.results = append(b.results, b.now)
	}
	b.now.Values, b.seen = nil, nil
}
