package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"contend/load"
	"contend/metric"
	"contend/setting"
	"contend/stat"
	"contend/trial"
)

// A Study compares lengths of blocks: two equal arms are driven in blocks of
// each length, and what a round then says of their throughput should be that
// they are equal.
type Study struct {
	// Lengths of a block, all different.
	Lengths []time.Duration `flag:"lengths" default:"20ms,50ms,100ms,200ms" min:"1ms" words:"block *lengths* to choose from"`
	// Rounds of fresh processes, each with all lengths in random order.
	Rounds int `flag:"rounds" default:"6" min:"2" max:"1000" words:"rounds, with servers restarted in each, for the lengths and in each comparison"`
	// Measured is the time of each arm in a round, the same for every length: a
	// shorter block means more pairs.
	Measured time.Duration `flag:"duration,d" default:"400ms" min:"1ms" max:"720h" words:"time to measure each side in a round"`
	// Warmup is driven and discarded once per round, length and arm.
	Warmup time.Duration `min:"0s" max:"720h"`
	// Seed decides every random choice.
	Seed uint64 `flag:"seed" default:"1" words:"seed for all random choices"`
}

// MaxLength is the greatest length of a block that is studied.
const MaxLength = time.Minute

// Validate returns every mistake of the study at once.
func (s Study) Validate() error {
	errs := []error{setting.Check(s)}
	lengths := setting.At(&s, &s.Lengths)
	if len(s.Lengths) == 0 {
		errs = append(errs, lengths.Wrong("is empty; expected at least one"))
	}
	least, most := s.Measured/trial.MaxPairs, min(s.Measured, MaxLength)
	for _, length := range s.Lengths {
		if length >= time.Millisecond && (length > most || length < least) {
			errs = append(errs, lengths.OutOf(length, fmt.Sprintf("%v to %v, of the %v measured in a round",
				max(time.Millisecond, least), most, s.Measured)))
		}
	}
	return errors.Join(errs...)
}

// A Length is what a length of blocks showed in a study.
type Length struct {
	Block time.Duration `json:"block_ns"`
	Pairs int           `json:"pairs"` // per round
	// RoundLogRatios are ln(candidate ÷ baseline) of the throughput of equal arms,
	// one per round.
	RoundLogRatios []float64 `json:"round_log_ratios"`
	// RoundSpread estimates the standard deviation of a round's log-ratio, which
	// is what a verdict is made of: mean |log-ratio| · √(π/2), since equal arms
	// have the mean 0, and a wild round sways it less than squares would.
	RoundSpread float64 `json:"round_spread"`
	// PairSpread estimates in the same way the standard deviation of a pair's
	// log-ratio around the median of its round; 0 with one pair.
	PairSpread float64 `json:"pair_spread,omitempty"`
	// Chosen is set for the shortest length whose RoundSpread is not clearly above
	// the smallest: at most 5%, or one standard error.
	Chosen bool `json:"chosen,omitempty"`
}

// Run drives the study. Both arms of a round serve all of its lengths, so that
// differences between processes are the same in every length. On an error, and
// when ctx is done, the lengths so far are returned with it.
func (s Study) Run(ctx context.Context, arms []trial.Arm, plan load.Plan, observe func(trial.Progress)) ([]Length, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if len(arms) != 2 {
		return nil, fmt.Errorf("study: have %d variants, 2 are needed", len(arms))
	}
	r := &studying{Study: s, arms: arms, plan: plan, observe: observe, random: rand.New(rand.NewPCG(s.Seed, 4)),
		lengths: make([]Length, len(s.Lengths)), pairs: make([][][]float64, len(s.Lengths))}
	var err error
	for n := 0; n < s.Rounds && err == nil; n++ {
		err = r.round(ctx, n)
	}
	for i := range r.lengths {
		r.lengths[i].Block, r.lengths[i].PairSpread = s.Lengths[i], withinSpread(r.pairs[i])
		r.lengths[i].RoundSpread = absoluteSpread(r.lengths[i].RoundLogRatios)
	}
	chooseLength(r.lengths)
	return r.lengths, err
}

type studying struct {
	Study
	arms    []trial.Arm
	plan    load.Plan
	observe func(trial.Progress)
	random  *rand.Rand
	lengths []Length
	pairs   [][][]float64 // log-ratios by length and round
}

func (s *studying) round(ctx context.Context, n int) error {
	return trial.Alive(ctx, s.arms, s.random, func(running []trial.Arm) error {
		for done, i := range s.random.Perm(len(s.Lengths)) {
			if s.observe != nil {
				s.observe(trial.Progress{
					Done:  (float64(n) + float64(done)/float64(len(s.Lengths))) / float64(s.Rounds),
					Label: fmt.Sprintf("round %d of %d, blocks of %v", n+1, s.Rounds, s.Lengths[i]), Between: true,
				})
			}
			if err := s.length(ctx, running, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// length drives one round of blocks of one length.
func (s *studying) length(ctx context.Context, arms []trial.Arm, i int) error {
	d := trial.NewDesign()
	d.Rounds, d.Pairs, d.Block = 1, trial.PairsIn(s.Measured, s.Lengths[i]), s.Lengths[i]
	d.Warmup, d.Metrics, d.Seed = s.Warmup, []metric.Name{metric.Throughput}, s.random.Uint64()
	d.Levels = nil // that of the plan
	trials, err := trial.Compare(ctx, arms, s.plan, d, nil)
	if err != nil {
		return err
	}
	for _, c := range trials.Comparisons {
		into := &s.lengths[i]
		into.RoundLogRatios = append(into.RoundLogRatios, c.RoundLogRatios...)
		for _, logs := range trials.PairLogRatios(metric.Throughput, c.Candidate, c.Concurrency) {
			into.Pairs = len(logs)
			s.pairs[i] = append(s.pairs[i], logs)
		}
	}
	return nil
}

// withinSpread is the absoluteSpread around the medians of groups, scaled for
// the medians having been read from the same values.
func withinSpread(groups [][]float64) float64 {
	var deviations []float64
	free := 0
	for _, group := range groups {
		sample, err := stat.NewSample(group)
		if err != nil {
			continue
		}
		sum, err := sample.Summary(0.95)
		if err != nil {
			continue
		}
		free += sum.N - 1
		for _, x := range group {
			deviations = append(deviations, x-sum.Median)
		}
	}
	if free == 0 {
		return 0
	}
	return absoluteSpread(deviations) * math.Sqrt(float64(len(deviations))/float64(free))
}

// absoluteSpread estimates the standard deviation of normal values around 0
// from their mean size (Geary 1935, "The ratio of the mean deviation to the
// standard deviation as a test of normality", Biometrika 27).
func absoluteSpread(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Abs(v)
	}
	return math.Sqrt(math.Pi/2) * sum / float64(max(1, len(values)))
}

// tellApart is by how much, at least, the spread of a round must be above the
// best for a length to count as worse. A convention of this project.
const tellApart = 0.05

// chooseLength marks the shortest length whose spread of a round is not clearly
// above the smallest: at most 5%, or one standard error of a spread from so
// many rounds, √((π/2 − 1)/rounds). Shorter is better among equals: more
// pairs in the same time, and a disturbance spoils fewer of them.
func chooseLength(lengths []Length) {
	best, rounds, chosen := math.Inf(1), math.MaxInt, -1
	for i := range lengths {
		lengths[i].Chosen = false
		if n := len(lengths[i].RoundLogRatios); n > 0 {
			best, rounds = min(best, lengths[i].RoundSpread), min(rounds, n)
		}
	}
	limit := best * (1 + max(tellApart, math.Sqrt((math.Pi/2-1)/float64(rounds))))
	for i, l := range lengths {
		if len(l.RoundLogRatios) > 0 && l.RoundSpread <= limit && (chosen < 0 || l.Block < lengths[chosen].Block) {
			chosen = i
		}
	}
	if chosen >= 0 {
		lengths[chosen].Chosen = true
	}
}
