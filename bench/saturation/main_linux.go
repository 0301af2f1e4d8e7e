// Saturation measures how often contend is right about the bottleneck: the load
// generator or the server. In every run one of them is throttled, so the truth is
// known: a result of a throttled generator must be INVALID (generator_saturated), one
// of a throttled server must not.
//
//	go run ./bench/saturation
//	go run ./bench/saturation -runs 40 -seed 7 -v
//
// A side is throttled to 10–50 % of a core, in half of the runs by the quota of a
// control group, if one can be made, and in the others by stopping and continuing it in
// periods of 5–50 ms. The generator is another process of this program, which measures
// contend's counter over HTTP as a comparison does, with kept connections or one per
// request.
//
// A run during which other programs used more than a quarter of the cores shows nothing
// about a throttle: it is counted, and repeated after a pause.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"contend/bench/internal/paired"
)

// The bars that the detector must hold.
const (
	leastRecall = 0.95
	mostAlarms  = 0.05
)

func main() {
	b := bench{}
	var generate string
	flag.IntVar(&b.runs, "runs", 100, "number of runs, half of them with a throttled generator")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of all random choices")
	flag.BoolVar(&b.verbose, "v", false, "print the figures of every run")
	flag.BoolVar(&b.crowded, "crowded", false, "repeat no run, however busy the machine is with other programs")
	flag.IntVar(&b.patience, "patience", 300, "how many runs may be repeated because the machine was busy with something else")
	flag.StringVar(&generate, "generate", "", "be the generator of this case instead (JSON)")
	paired.Main("saturation", func(ctx context.Context, w io.Writer, s paired.Setup) error {
		if generate != "" {
			return measure(ctx, w, s.Contend, generate)
		}
		b.contend = s.Contend
		return b.run(ctx, w)
	})
}

type bench struct {
	runs     int
	seed     uint64
	verbose  bool
	patience int
	contend  string
	groups   bool // control groups can be made
	crowded  bool
	repeated int
}

// A testCase is one labelled run.
type testCase struct {
	Generator bool          `json:"generator"` // the generator is throttled, not the server
	Quota     bool          `json:"quota"`     // by a quota, not by stopping it
	Limit     float64       `json:"limit"`     // share of a core, or of the time
	Period    time.Duration `json:"period"`    // of stopping
	VUs       int           `json:"vus"`
	Fresh     bool          `json:"fresh"` // a connection per request
}

func (c testCase) String() string {
	side, way, connections := "server", fmt.Sprintf("stopped in periods of %v", c.Period), "kept alive"
	if c.Generator {
		side = "generator"
	}
	if c.Quota {
		way = "quota"
	}
	if c.Fresh {
		connections = "per request"
	}
	return fmt.Sprintf("%s at %.0f %% (%s), %d VUs, connections %s", side, 100*c.Limit, way, c.VUs, connections)
}

// cases draws half of the runs with either side throttled, in random order.
func (b bench) cases() []testCase {
	random := rand.New(rand.NewPCG(b.seed, 5))
	list := make([]testCase, b.runs)
	for i := range list {
		list[i] = testCase{
			Generator: i%2 == 0, Quota: b.groups && i/2%2 == 0, Fresh: i/4%2 == 0,
			Limit:  0.1 + 0.4*random.Float64(),
			Period: (5*time.Millisecond + time.Duration(random.Int64N(int64(45*time.Millisecond)))).Round(time.Millisecond),
			VUs:    []int{10, 50, 200}[random.IntN(3)],
		}
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func (b *bench) run(ctx context.Context, w io.Writer) error {
	b.groups = canLimit()
	paired.PrintEnvironment(w)
	fmt.Fprintf(w, "seed %d, %d runs; quotas by control groups: %v\n", b.seed, b.runs, b.groups)
	found := map[bool]*[2]int{true: {}, false: {}} // refused, all; by who was throttled
	for i, c := range b.cases() {
		seen, err := b.undisturbed(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		saturated := seen.Refusal == "generator_saturated"
		if found[c.Generator][1]++; saturated {
			found[c.Generator][0]++
		}
		if b.verbose || saturated != c.Generator {
			fmt.Fprintf(w, "%3d %-5s %s: %s\n", i+1, map[bool]string{true: "right", false: "WRONG"}[saturated == c.Generator], c, seen)
		}
	}
	fmt.Fprintf(w, "%d runs were repeated because other programs used more than a quarter of the cores; load average now %s\n", b.repeated, paired.LoadAverage())
	print(w, "recall: a throttled generator was called saturated", found[true], func(share float64) bool { return share >= leastRecall },
		fmt.Sprintf("at least %.0f %%", 100*leastRecall))
	print(w, "false alarms: a throttled server was taken for a saturated generator", found[false],
		func(share float64) bool { return share <= mostAlarms }, fmt.Sprintf("at most %.0f %%", 100*mostAlarms))
	return nil
}

func print(w io.Writer, what string, n *[2]int, holds func(float64) bool, bar string) {
	fmt.Fprintf(w, "%s in %s; bar %s: %s\n", what, paired.Counted(n[0], n[1]), bar, paired.Outcome(holds(float64(n[0])/float64(n[1]))))
}

// seen is what the generator reports.
type seen struct {
	Refusal, Text                 string
	Findings                      []string
	Throughput, Generator, Server float64 // per second; cores used
	Machine, Cores                float64 // cores used, and there
	Waited, Stalled, Limit        float64 // seconds, seconds, cores
	Share                         float64 // of the cycle, in the generator
}

func (s seen) String() string {
	return fmt.Sprintf("refused %q %v; %.0f/s, generator %.2f and server %.2f cores, machine %.2f; generator waited %.2f s, stalled %.2f s, limit %.2g; %.0f %% of the cycle; %s",
		s.Refusal, s.Findings, s.Throughput, s.Generator, s.Server, s.Machine, s.Waited, s.Stalled, s.Limit, 100*s.Share, s.Text)
}

// undisturbed repeats a run until other programs leave three quarters of the cores.
func (b *bench) undisturbed(ctx context.Context, c testCase) (seen, error) {
	for {
		s, err := b.one(ctx, c)
		if others := s.Machine - s.Generator - s.Server; err != nil || b.crowded || others <= s.Cores/4 {
			return s, err
		}
		if b.repeated++; b.repeated > b.patience {
			return s, fmt.Errorf("other programs used more than a quarter of the cores in %d runs", b.repeated)
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (b *bench) one(ctx context.Context, c testCase) (seen, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return seen{}, err
	}
	me, err := os.Executable()
	if err != nil {
		return seen{}, err
	}
	return drive(ctx, c, me, "-contend", b.contend, "-generate", string(text))
}
