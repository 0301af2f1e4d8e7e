// Blocks shows how the length of the blocks changes what a round of a
// comparison can see: the counter against itself over HTTP, each length with the
// same measured time in each round, all lengths in each round in random order.
// It is the study with which contend calibrate begins, for longer.
//
//	go run ./bench/blocks
//	go run ./bench/blocks -rounds 24 -lengths 20ms,100ms -each 2s
//
// The spread of a pair is that of ln(candidate ÷ baseline) within its round; that
// of a round is the one of the rounds' estimates, which is what a verdict is made
// of.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"contend/bench/internal/paired"
	"contend/experiment"
	"contend/load"
	"contend/protocol"
	"contend/trial"
)

func main() {
	s := trial.Study{Warmup: 200 * time.Millisecond}
	flag.IntVar(&s.Rounds, "rounds", 16, "rounds of fresh servers")
	flag.DurationVar(&s.Measured, "each", time.Second, "measured time of each arm in a round, for each length")
	lengths := flag.String("lengths", "10ms,20ms,50ms,100ms,200ms,500ms,1s", "lengths of a block")
	flag.Uint64Var(&s.Seed, "seed", 1, "seed of all random choices")
	paired.Main("blocks", func(ctx context.Context, w io.Writer, setup paired.Setup) error {
		return run(ctx, w, setup.Contend, s, strings.Split(*lengths, ","))
	})
}

func run(ctx context.Context, w io.Writer, contend string, s trial.Study, lengths []string) error {
	for _, text := range lengths {
		length, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		s.Lengths = append(s.Lengths, length)
	}
	counter := experiment.Subject{Serve: "counter --http {{addr}}"}
	e := experiment.OfSubjects(protocol.At("http://{{addr}}/status/atomic"), map[string]experiment.Subject{"a": counter, "b": counter})
	plan := load.Plan{VUs: 20, Duration: s.Measured, Timeout: 5 * time.Second}
	e.Parts[0].Design.Levels = []int{plan.VUs}
	paired.PrintEnvironment(w)
	fmt.Fprintf(w, "seed %d, %d rounds, %v of each arm per round and length\n", s.Seed, s.Rounds, s.Measured)
	o := experiment.Options{Self: []string{contend}, Seed: s.Seed}
	found, err := s.Run(ctx, []trial.Arm{e.Arm("a", o), e.Arm("b", o)}, plan, func(p trial.Progress) {
		fmt.Fprintf(os.Stderr, "%3.0f %%  %s\n", 100*p.Done, p.Label)
	})
	if err != nil {
		return err
	}
	return table(w, found)
}

func table(w io.Writer, lengths []trial.Length) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "block\tpairs\tspread of a pair\tspread of a round\tif pairs were independent\t\t")
	for _, l := range lengths {
		chosen := ""
		if l.Chosen {
			chosen = "chosen"
		}
		pair, independent := "-", "-"
		if l.PairSpread > 0 {
			pair = fmt.Sprintf("%.2f %%", 100*l.PairSpread)
			independent = fmt.Sprintf("%.2f %%", 100*l.PairSpread/math.Sqrt(float64(l.Pairs)))
		}
		fmt.Fprintf(t, "%v\t%d\t%s\t%.2f %%\t%s\t%s\t\n", l.Block, l.Pairs, pair, 100*l.RoundSpread, independent, chosen)
	}
	return t.Flush()
}
