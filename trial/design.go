package trial

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"contend/probe"
)

// A Design says how arms are compared. All fields must be set, except where
// said otherwise.
type Design struct {
	// Rounds of fresh processes: the unit of replication. A verdict at 95 %
	// confidence needs at least 6. With a Precision it is the most that are run.
	Rounds int `json:"rounds"`
	// Precision, if positive, ends the trial as soon as the interval of the
	// primary metric is no wider than this much to either side, as a fraction,
	// for every candidate and level. It looks after 6, 8, 11, 15, 20, 26, …
	// rounds, and each look spends a part of the significance level: see Look.
	Precision float64 `json:"precision,omitempty"`
	// Pairs of blocks per round and level.
	Pairs int `json:"pairs"`
	// Block is the measured length of a block. Where four response times are
	// longer the block is stretched to them, and the pairs are as many fewer.
	Block time.Duration `json:"block_ns"`
	// Warmup is driven and discarded once per round, level and arm.
	Warmup time.Duration `json:"warmup_ns"`
	// Levels of concurrency; empty means the plan's VUs.
	Levels []int `json:"levels,omitempty"`
	// Metrics to compare. The first is the primary one: it carries the whole
	// significance level; the others are corrected for their number (Holm).
	Metrics []Metric `json:"metrics"`
	// MaxErrors is the share of failed and errored iterations beyond which there
	// is no verdict; 0 means that of finding.Errors.
	MaxErrors float64 `json:"max_errors,omitempty"`
	// Duet drives both arms of a pair at the same time, each on CPUs of its own:
	// those of the two sets, which change hands at random from round to round
	// (Bulej et al., "Duet benchmarking: improving measurement accuracy in the
	// cloud", ICPE 2020). nil: one after the other. It takes exactly two arms.
	Duet [][]int `json:"duet_cpus,omitempty"`
	// Margin is the largest relative difference that does not matter, at least 0.
	Margin float64 `json:"margin"`
	// Confidence of the intervals, in (0, 1).
	Confidence float64 `json:"confidence"`
	// Seed decides every random choice.
	Seed uint64 `json:"seed"`
	// Probe looks at the machine before and after stretches of blocks; nil: it
	// is not looked at.
	Probe func() probe.Sample `json:"-"`
}

// Validate returns every mistake of the design at once.
func (d Design) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("design: "+format, args...))
		}
	}
	check(d.Rounds >= 1 && d.Rounds <= 1000, "rounds is %d, allowed are 1 to 1000", d.Rounds)
	check(d.Pairs >= 1 && d.Pairs <= 10000, "pairs is %d, allowed are 1 to 10000", d.Pairs)
	check(d.Block >= time.Millisecond, "block is %v, allowed are 1ms and more", d.Block)
	check(d.Warmup >= 0, "warmup is %v, allowed are 0 and more", d.Warmup)
	check(len(d.Metrics) > 0, "metrics is empty, at least one is needed")
	check(d.Precision >= 0 && d.Precision < 1, "precision is %g, allowed are 0 (fixed rounds) to below 1", d.Precision)
	check(d.Precision == 0 || d.Confidence >= 0.5 && d.Confidence <= 0.999,
		"confidence is %g, allowed are 0.5 to 0.999 where precision ends the trial", d.Confidence)
	check(d.MaxErrors >= 0 && d.MaxErrors < 1, "max_errors is %g, allowed are 0 (the default) to below 1", d.MaxErrors)
	check(d.Duet == nil || len(d.Duet) == 2 && len(d.Duet[0]) > 0 && len(d.Duet[1]) > 0,
		"duet_cpus is %v, two sets are needed", d.Duet)
	check(d.Margin >= 0 && d.Margin < 1, "margin is %g, allowed are 0 to below 1", d.Margin)
	check(d.Confidence > 0 && d.Confidence < 1, "confidence is %g, allowed is more than 0 and less than 1", d.Confidence)
	for _, m := range d.Metrics {
		errs = append(errs, m.Check())
	}
	for _, n := range d.Levels {
		check(n >= 1, "level %d, allowed are 1 and more", n)
	}
	if m, found := repeated(d.Metrics); found {
		check(false, "metric %s is listed twice", m)
	}
	if n, found := repeated(d.Levels); found {
		check(false, "level %d is listed twice", n)
	}
	return errors.Join(errs...)
}

// repeated returns a value that stands in the list twice.
func repeated[T cmp.Ordered](list []T) (T, bool) {
	sorted := slices.Sorted(slices.Values(list))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i], true
		}
	}
	var none T
	return none, false
}
