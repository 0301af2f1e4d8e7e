// Package count compares what an operation of servers costs in instructions, which the simulator of valgrind's
// cachegrind counts function by function. Other programs on the machine change nothing in it: a regression of two parts
// in a thousand is seen on any machine. It shows no time: neither waiting nor the kernel, caches or contention.
//
// A server is started several times under the simulator, driven for a fixed number of iterations with enough callers
// that it has no idle time, and ended; it is counted from its first instruction to its last. Two runs of different
// length are subtracted, so that the start and the end cancel. The unit of replication is such a pair of fresh processes.
package count

import (
	"math"
	"time"

	"contend/finding"
	"contend/stat"
	"contend/why/symbol/work"
)

// A Design has the settings of counting.
type Design struct {
	Count bool `json:"-" file:"compare.count" flag:"count" words:"count the instructions per request under a simulator (valgrind) instead of timing them: exact on a busy machine, also in CI; 4 repetitions, or --rounds"`
}

const (
	// Repetitions are how many there are if nothing else is asked for.
	Repetitions = 4
	// Margin is the difference that does not matter, as a share of all instructions of the baseline.
	Margin = 0.0005
	// Callers drive a server if nothing else is asked for: a server that waits for requests runs its scheduler.
	Callers = 32
)

// Counts are what was counted, and what follows from it.
type Counts struct {
	// Tool counted, as in valgrind-3.19.0.
	Tool string   `json:"tool"`
	Arms []string `json:"arms"` // the first is the baseline
	// Operation is what is counted for: request, or iteration of a script.
	Operation   string `json:"operation"`
	Concurrency int    `json:"concurrency"`
	Repetitions int    `json:"repetitions"` // planned
	// Measured are the iterations by which the longer run of a repetition is longer.
	Measured int64 `json:"measured_iterations"`
	// Margin is the largest difference that does not matter, as a share of all instructions of the baseline.
	Margin      float64      `json:"margin"`
	Runs        []Run        `json:"runs"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	// Missing says what could not be counted, and why.
	Missing []string      `json:"missing,omitempty"`
	Elapsed time.Duration `json:"elapsed_ns"`
}

// Done is how many repetitions every arm has, of two runs each.
func (c *Counts) Done() int {
	least := math.MaxInt
	for _, arm := range c.Arms {
		runs := 0
		for _, r := range c.Runs {
			if r.Arm == arm {
				runs++
			}
		}
		least = min(least, runs/2)
	}
	return least
}

// PerOp are all instructions of an operation of an arm, in each repetition that it has. Both runs of a repetition are
// subtracted.
func (c *Counts) PerOp(arm string) (totals []float64) {
	runs := map[int][]Run{}
	for _, r := range c.Runs {
		if r.Arm != arm {
			continue
		}
		of := append(runs[r.Repetition], r)
		if runs[r.Repetition] = of; len(of) == 2 && of[0].Iterations != of[1].Iterations {
			totals = append(totals, float64(of[1].Instructions-of[0].Instructions)/float64(of[1].Iterations-of[0].Iterations))
		}
	}
	return totals
}

// A Run is one life of a server.
type Run struct {
	Arm        string `json:"arm"`
	Repetition int    `json:"repetition"` // from 1
	Iterations int64  `json:"iterations"`
	// Wrong is how many of them failed, or got no response.
	Wrong int64 `json:"wrong,omitempty"`
	// Processes that wrote their counts.
	Processes    int   `json:"processes"`
	Instructions int64 `json:"instructions"`
}

// A Basis is what a verdict is about.
type Basis string

// The bases.
const (
	Work  Basis = "work"  // the functions whose counts agree, and those that differ by more than their scatter
	Total Basis = "total" // all instructions: too few agree
)

// A Comparison is what the candidate executes more or less than the baseline.
type Comparison struct {
	Baseline  string       `json:"baseline"`
	Candidate string       `json:"candidate"`
	Verdict   stat.Verdict `json:"verdict"`
	// Reason is why there is no verdict.
	Reason  *finding.Warning `json:"reason,omitempty"`
	Decides Basis            `json:"decides,omitempty"`
	// Total is the sum of Work and Scattered, which are the functions that do not do the same in each repetition.
	Total     Difference `json:"total"`
	Work      Difference `json:"work"`
	Scattered Difference `json:"runtime_and_scheduling"`
	// Looked is the number of functions. Rows and Runtime are those that differ, the greatest difference first.
	Looked  int   `json:"functions"`
	Rows    []Row `json:"rows,omitempty"`
	Runtime []Row `json:"runtime_rows,omitempty"`
	// Others are the functions that together with Rows are 99% of the candidate's instructions, the largest first, at
	// most 200.
	Others []Cost `json:"other_functions,omitempty"`
	// Events are what was counted without the simulator.
	Events   []Event           `json:"events,omitempty"`
	Warnings []finding.Warning `json:"warnings,omitempty"`
}

// A Difference is in instructions per operation.
type Difference struct {
	Baseline  float64 `json:"baseline_instructions_per_op"`
	Candidate float64 `json:"candidate_instructions_per_op"`
	Value     float64 `json:"instructions_per_op"`
	// Low and High are the ends of the interval at the confidence 1 − Level. Level 0 means no interval.
	Low   float64 `json:"instructions_per_op_low"`
	High  float64 `json:"instructions_per_op_high"`
	Level float64 `json:"level,omitempty"`
}

func (d Difference) excludes0() bool { return d.Level > 0 && (d.Low > 0 || d.High < 0) }

// A Row is a function: what it executes itself, without what it calls. The intervals of all rows hold together.
type Row struct {
	Name string    `json:"function"`
	Kind work.Kind `json:"kind,omitempty"`
	// Agrees says that the counts agree from repetition to repetition, in both variants.
	Agrees bool `json:"agrees"`
	Difference
	// Lines are those of its source in which it differs, the greatest difference first.
	Lines []Line `json:"lines,omitempty"`
}

// A Cost is what a function executes itself for an operation.
type Cost struct {
	Name         string  `json:"function"`
	Instructions float64 `json:"instructions_per_op"`
	// Agrees says that the counts agree from repetition to repetition, in both variants.
	Agrees bool `json:"agrees"`
}

// Decisive is the difference that the verdict is about.
func (c Comparison) Decisive() Difference {
	if c.Decides == Total {
		return c.Total
	}
	return c.Work
}
