// Package history keeps results over time in a folder that git can merge, and puts those of one question in the order
// of their commits.
//
// Each result is a file of its own that never changes, named by the SHA-256 of its content: a merge of two branches is
// the union of their files, on any host, and adding a result twice adds it once. The file history.json next to them
// names the anchor, the revision that all others are compared with. Nothing is removed here, whatever is in the folder.
package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Schema is the version of the form of results.
const Schema = "contend-history/1"

// A Result is what one command showed of one revision.
type Result struct {
	Schema string `json:"schema"`
	// Time is when it was measured.
	Time time.Time `json:"time"`
	// Commit is the full hash of the revision that was measured; "": it was none of git, or is not known.
	Commit string `json:"commit,omitempty"`
	// Committed is when that commit was made, and Subject the first line of its message; zero: not known.
	Committed time.Time `json:"committed,omitzero"`
	Subject   string    `json:"subject,omitempty"`
	// Changed says that the checkout had changes over the commit.
	Changed bool `json:"changed,omitempty"`
	// Anchor is the commit whose build was measured in turns with it, to which ratios refer; "": there was none.
	Anchor string `json:"anchor,omitempty"`
	// Repeats is set if it was measured to confirm a step.
	Repeats *Repeats `json:"repeats,omitempty"`
	Key     Key      `json:"key"`
	Values  []Value  `json:"values"`
}

// A Key says what was asked for and of what kind of machine. Fields that are not known are empty.
type Key struct {
	// Asked is the command line without names of revisions, lengths and outputs. Results that were asked for
	// alike are of one line.
	Asked string `json:"asked"`
	// Program is the version of contend where values are not relative to an anchor, as they may be the
	// generator's.
	Program   string `json:"program,omitempty"`
	Toolchain string `json:"toolchain,omitempty"`
	CPU       string `json:"cpu,omitempty"`
	Cores     int    `json:"cores,omitempty"`
	Kernel    string `json:"kernel,omitempty"`
	Placement string `json:"placement,omitempty"`
}

// Fields are the parts of a key by name, Asked first.
func (k Key) Fields() [][2]string {
	cores := ""
	if k.Cores > 0 {
		cores = strconv.Itoa(k.Cores)
	}
	return [][2]string{{"asked", k.Asked}, {"program", k.Program}, {"toolchain", k.Toolchain}, {"cpu", k.CPU}, {"cores", cores},
		{"kernel", k.Kernel}, {"placement", k.Placement}}
}

// Of names a value within the results of a question.
type Of struct {
	Experiment  string `json:"experiment,omitempty"`
	Part        string `json:"part,omitempty"`
	Variant     string `json:"variant,omitempty"` // "" where the revision tells variants apart
	Concurrency int    `json:"concurrency,omitempty"`
	Metric      string `json:"metric"`
}

// A Value is a metric as it was measured and, if there was an anchor, relative to that. Logarithms are natural.
type Value struct {
	Of
	// Primary says that the verdict was asked for of this metric.
	Primary bool    `json:"primary,omitempty"`
	Value   float64 `json:"value"`
	// Baseline is the value of the anchor, or of the baseline of a comparison without one; 0: there was none.
	Baseline float64 `json:"baseline,omitempty"`
	// Rounds are ln(value ÷ baseline) of each round, and Weights 1 ÷ their standard errors; nil: all are equal.
	Rounds  []float64 `json:"rounds,omitempty"`
	Weights []float64 `json:"weights,omitempty"`
	// LogRatio is their estimate, with the interval at the confidence 1 − Level; Level 0: no interval.
	LogRatio float64 `json:"log_ratio,omitempty"`
	Low      float64 `json:"log_ratio_low,omitempty"`
	High     float64 `json:"log_ratio_high,omitempty"`
	Level    float64 `json:"level,omitempty"`
	Verdict  string  `json:"verdict,omitempty"`
	// Reason is the code of why the verdict is INVALID; such a ratio is shown and not used.
	Reason string `json:"reason,omitempty"`
	// Functions are those that execute more or less than in the baseline, of counted instructions.
	Functions []Function `json:"functions,omitempty"`
	// Others are the instructions of the largest functions that execute as much as in the baseline, by name, and Scattered
	// those of functions that do not do the same in each repetition.
	Others    map[string]float64 `json:"others,omitempty"`
	Scattered map[string]float64 `json:"scattered,omitempty"`
}

// MostOthers is how long the names of Others and Scattered are together, in bytes: a result has a few kilobytes.
const MostOthers = 3000

// A Function is what one executes for an operation, in instructions, without what it calls.
type Function struct {
	Name     string  `json:"function"`
	Value    float64 `json:"value"`
	Baseline float64 `json:"baseline"`
}

// mostSubject is how much of the first line of a commit's message is kept, in characters.
const mostSubject = 72

// About adds what git knows of the commit.
func (r *Result) About(committed time.Time, subject string) {
	clipped := []rune(subject)
	r.Committed, r.Subject = committed, string(clipped[:min(len(clipped), mostSubject)])
}

// Compared reports whether there is a ratio that may be used.
func (v Value) Compared() bool { return v.Baseline > 0 && v.Verdict != "INVALID" && v.Verdict != "" }

// StandardError is that of LogRatio: of the weighted mean of the rounds or, where these are fewer than two, what a normal
// distribution has with the interval. It is 0 if neither is known.
func (v Value) StandardError() float64 {
	n := float64(len(v.Rounds))
	if n < 2 {
		if v.Level == 0 {
			return 0
		}
		return (v.High - v.Low) / 2 / (math.Sqrt2 * math.Erfinv(1-v.Level))
	}
	weight := func(i int) float64 {
		if v.Weights == nil {
			return 1
		}
		return v.Weights[i]
	}
	sum, mean, squares := 0.0, 0.0, 0.0
	for i, r := range v.Rounds {
		sum, mean = sum+weight(i), mean+weight(i)*r
	}
	mean /= sum
	for i, r := range v.Rounds {
		squares += weight(i) * weight(i) * (r - mean) * (r - mean)
	}
	return math.Sqrt(squares*n/(n-1)) / sum
}

// What a file may hold, far beyond what any command writes.
const (
	maxBytes  = 1 << 20
	maxLog    = 350
	maxValues = 10_000
)

// Encode is the content of a result's file: a line of JSON. It has no line break, which some checkouts would change.
func Encode(r Result) ([]byte, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// Decode reads the content of a result's file. Keys that it does not know are ignored.
func Decode(data []byte) (r Result, err error) {
	if len(data) > maxBytes {
		return r, fmt.Errorf("is longer than %d bytes", maxBytes)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	switch err := json.Unmarshal(data, &head); {
	case len(bytes.TrimSpace(data)) == 0:
		return r, errors.New("is empty")
	case err != nil:
		return r, fmt.Errorf("is damaged or no result: %w", err)
	case head.Schema != Schema:
		return r, fmt.Errorf("has the schema %q; this version reads %q", head.Schema, Schema)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("is damaged: %w", err)
	}
	return r, r.Check()
}

// Check returns the first thing that is wrong with a result.
func (r Result) Check() error {
	switch {
	case r.Schema != Schema:
		return fmt.Errorf("schema is %q; expected %q", r.Schema, Schema)
	case r.Time.IsZero():
		return errors.New("time is missing")
	case r.Key.Asked == "":
		return errors.New("key.asked is empty; expected a command line")
	case r.Repeats != nil && !(r.Repeats.Build >= 0 && r.Repeats.Build <= maxLog):
		return fmt.Errorf("repeats.build is %v; expected 0 to %d", r.Repeats.Build, maxLog)
	case len(r.Values) == 0 || len(r.Values) > maxValues:
		return fmt.Errorf("values are %d; expected 1 to %d", len(r.Values), maxValues)
	}
	for i, v := range r.Values {
		if err := v.check(); err != nil {
			return fmt.Errorf("values[%d].%w", i, err)
		}
	}
	return nil
}

func (v Value) check() error {
	if v.Metric == "" {
		return errors.New("metric is empty; expected a name")
	}
	for _, x := range []struct {
		key   string
		value float64
	}{{"value", v.Value}, {"baseline", v.Baseline}} {
		if math.IsNaN(x.value) || math.IsInf(x.value, 0) || x.value < 0 {
			return fmt.Errorf("%s is %v; expected 0 or more", x.key, x.value)
		}
	}
	for key, functions := range map[string]map[string]float64{"others": v.Others, "scattered": v.Scattered} {
		for name, x := range functions {
			if !(x >= 0 && x <= math.MaxFloat64) {
				return fmt.Errorf("%s has %v for %s; expected 0 or more", key, x, name)
			}
		}
	}
	for _, x := range append([]float64{v.LogRatio, v.Low, v.High}, v.Rounds...) {
		if !(math.Abs(x) <= maxLog) {
			return fmt.Errorf("log_ratio or rounds have %v; expected -%d to %[2]d", x, maxLog)
		}
	}
	if v.Weights != nil && len(v.Weights) != len(v.Rounds) {
		return fmt.Errorf("weights are %d for %d rounds", len(v.Weights), len(v.Rounds))
	}
	for _, w := range v.Weights {
		if !(w > 0 && w < 1e100) {
			return fmt.Errorf("weights have %v; expected more than 0", w)
		}
	}
	if !(v.Level >= 0 && v.Level < 1) || v.Low > v.High {
		return fmt.Errorf("log_ratio_low is %v and log_ratio_high %v at the level %v; expected an interval", v.Low, v.High, v.Level)
	}
	return nil
}
