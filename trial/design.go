package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"contend/finding"
	"contend/metric"
	"contend/probe"
	"contend/setting"
)

// A Design says how arms are compared. NewDesign has the defaults.
type Design struct {
	// Rounds of fresh processes: the unit of replication, and the most that are run. The
	// trial ends before as soon as its primary metric is decided, at one of the looks after 7,
	// 8, 10, 13, 17, 22, 28, 34, … rounds at 95% confidence. Each look spends a part of the
	// significance level: see Look. A verdict needs at least 6; see Metrics. 0: as many as the
	// Duration leaves time for, at most 1000. Once it runs, the most there can be.
	Rounds int `json:"rounds" file:"compare.rounds" min:"0" max:"1000" words:"maximum rounds, with servers restarted in each; a verdict takes at least 6, and one for each default metric 9 (as many as --duration allows)"`
	// Duration is the most that the whole may take. 0: where Rounds are given, as long as
	// these take; else a minute for each candidate at each level. Once it runs, what it may take: no round is begun that
	// would not end in time, and what is under way a tenth later is dropped.
	Duration time.Duration `json:"duration_ns,omitempty" file:"compare.duration" flag:"duration,d" min:"0s" max:"720h" words:"time limit; stops earlier once decided (1m per candidate and level; no limit with --rounds)"`
	// Precision, if positive, ends the trial not with its verdicts but as soon as the
	// interval of the primary metric is no wider than this much to either side, as a
	// fraction, for every candidate and level, and the other metrics can be decided as
	// well.
	Precision float64 `json:"precision,omitempty" file:"compare.precision" unit:"percent" min:"0%" below:"100%" words:"stop once the interval of the primary metric is no wider than this to either side, instead of at the verdict; 0%: at the verdict"`
	// Pairs of blocks per round and level.
	Pairs int `json:"pairs" file:"compare.pairs" default:"4" min:"1" max:"10000" words:"pairs of blocks per round and level"`
	// Block is the measured length of a block. 0: it is chosen for each level after
	// the first warm-up, so that every arm answers about 200 times in it, from 50
	// to 500 ms. If four response times are longer the block is stretched to them.
	// However long it is, the measured time of all pairs together stays about the
	// same.
	Block time.Duration `json:"block_ns" file:"compare.block,load.duration" min:"0s" max:"720h" words:"measured *length* of a block, extended to four response times if that is longer (chosen after the first warm-up)"`
	// Warmup is driven and discarded once per round, level and arm, at least; it goes on
	// until the throughput is steady, up to four times as long or 2 s.
	Warmup time.Duration `json:"warmup_ns" file:"load.warmup" default:"50ms" min:"0s" max:"720h" words:"minimum warm-up per round, level and variant; it continues until throughput is steady"`
	// Levels of concurrency; empty means the plan's VUs.
	Levels []int `json:"levels,omitempty" file:"load.vus" flag:"concurrency,c" default:"10" min:"1" max:"1000000" required:"[1, 10, 100]" words:"*number* of callers; several numbers are levels, each compared separately"`
	// Metrics to compare. The first is the primary one: it has the whole significance level;
	// the others, those that both arms have, share that level, so that verdicts on m of them
	// need rounds with 2^(1−rounds) ≤ level ÷ m.
	Metrics []metric.Name `json:"metrics" file:"compare.metrics" flag:"metric" default:"throughput_per_s,response_p50_ns,response_p90_ns,response_p99_ns,response_p999_ns,server_cpu_ns_per_op,server_instructions_per_op,server_rss_bytes,errors" words:"*metrics* to compare; the first is the primary one, whose verdict counts (at a rate the default has no throughput)"`
	// MaxErrors is the share of failed and errored iterations beyond which there
	// is no verdict; in documents without it that of finding.Errors.
	MaxErrors float64 `json:"max_errors" file:"compare.max_errors" default:"0.1%" unit:"percent" min:"0%" below:"100%" words:"result is INVALID above this share of failed requests"`
	// AnswersMayDiffer allows arms whose answers differ.
	AnswersMayDiffer bool `json:"answers_may_differ,omitempty" file:"compare.answers_may_differ" words:"compare variants even if their responses differ in status, type or length"`
	// Duet drives both arms of a pair at the same time, each on CPUs of its own:
	// those of the two sets, which change hands at random from round to round
	// (Bulej et al., "Duet benchmarking: improving measurement accuracy in the
	// cloud", ICPE 2020). nil: one after the other. It takes exactly two arms.
	Duet [][]int `json:"duet_cpus,omitempty"`
	// Alone has one arm alive at a time, and says why: two of them cannot be. In a round
	// each is then driven for the first half of its blocks, and in the opposite order for
	// the other half, by a fresh process each time. "": all are alive in a round.
	Alone string `json:"alone,omitempty"`
	// Margin is the largest relative difference that does not matter, at least 0; nil:
	// what metric.Name.Margin says of each metric.
	Margin *float64 `json:"margin,omitempty" file:"compare.margin" unit:"percent" min:"0%" below:"100%" words:"largest difference to treat as equal (2%; 0.5% for counted events, 0.05% with --count)"`
	// Confidence of the intervals, within what stat.SequentialLevels takes.
	Confidence float64 `json:"confidence" default:"0.95" min:"0.5" max:"0.999"`
	// Seed decides every random choice.
	Seed uint64 `json:"seed" flag:"seed" default:"1" words:"seed for all random choices"`
	// ChangesOver has levels of a closed model where the generator is the limit of the
	// primary metric compared at a constant rate instead (ChangeOver).
	ChangesOver bool `json:"-"`
	// Pilot has the arms driven once before the first round that counts: it shows how long they
	// take to warm up, and whether the load generator needs more CPUs, which Widen gives it; it
	// returns false where it cannot.
	Pilot bool        `json:"-"`
	Widen func() bool `json:"-"`
	// Probe looks at the machine before and after stretches of blocks; nil: it
	// is not looked at. Nor is it where the primary metric is counted.
	Probe func() probe.Sample `json:"-"`
}

// MaxPairs bounds the Pairs of a Design.
const MaxPairs = 10_000

// NewDesign returns the design of a comparison with all defaults.
func NewDesign() Design {
	var d Design
	setting.Defaults(&d)
	return d
}

// PacedMetrics are those of a load at a rate. That is also the throughput of each arm that holds it, so the default
// metrics then begin with the median response time.
func PacedMetrics(list []metric.Name) []metric.Name {
	if slices.Equal(list, NewDesign().Metrics) {
		return list[1:]
	}
	return list
}

// MarginOf returns the largest relative difference in a metric that does not matter.
func (d Design) MarginOf(m metric.Name) float64 {
	if d.Margin != nil {
		return *d.Margin
	}
	return m.Margin()
}

// judged returns the cell with a plan that allows as many errors as the design.
func (d Design) judged(c Cell) Cell {
	if d.MaxErrors != finding.Errors.Refuses {
		c.Plan.MaxErrors = &d.MaxErrors
	}
	return c
}

// UnmarshalJSON reads a design; one that was stored before there was a MaxErrors
// means its default.
func (d *Design) UnmarshalJSON(text []byte) error {
	type plain Design
	read := plain{MaxErrors: finding.Errors.Refuses}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*d = Design(read)
	return nil
}

// Validate returns every mistake of the design at once.
func (d Design) Validate() error {
	errs := []error{setting.Check(d)}
	if len(d.Metrics) == 0 {
		errs = append(errs, setting.At(&d, &d.Metrics).Wrong("is empty; expected at least one, the primary one"))
	}
	if errs[0] == nil {
		errs = append(errs, d.tooShort(0, time.Duration(2*max(1, len(d.Levels))*d.Pairs)*d.Block)) // a round of two arms
	}
	if d.Duet != nil && (len(d.Duet) != 2 || len(d.Duet[0]) == 0 || len(d.Duet[1]) == 0) {
		errs = append(errs, fmt.Errorf("duet_cpus is %v; expected two sets", d.Duet))
	}
	if d.Duet != nil && d.Alone != "" {
		errs = append(errs, fmt.Errorf("duet_cpus: a duet needs both variants alive, but %s; put {{addr}} into the URL and the commands, or compare without a duet", d.Alone))
	}
	return errors.Join(errs...)
}
