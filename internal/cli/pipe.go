package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/load"
	"contend/pipeline"
	"contend/protocol"
	"contend/protocol/pipe"
	"contend/trial"
)

func newPipe(a *app) *cobra.Command {
	l := &ladder{app: a}
	cmd := &cobra.Command{
		Use:   "pipe [RUNG ...]",
		Short: "Compare the ways to hand items from producers to consumers, in process",
		Long: "Compare pipelines in this process over buffer size, batch size, GOMAXPROCS and numbers of producers\n" +
			"and consumers. Every item is accounted for in the measured run. A rung is left out where it does not\n" +
			"take that many producers, consumers or that buffer.\n\n" +
			"Rungs: " + strings.Join(rungNames(), ", ") + ".",
		Example: indent + "contend pipe\n" + indent + "contend pipe chan spsc --buffer 0,100,10000 --procs 1,2",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.prepare(args); err != nil {
				return usage(err)
			}
			return l.run(cmd.Context())
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return rungNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&l.buffers, "buffer", []int{0, 10_000}, "buffer `sizes` in items")
	f.IntSliceVar(&l.batches, "batch", []int{32, pipeline.DefaultBatch}, "batch `sizes`, for the rungs that batch")
	f.StringSliceVar(&l.pairs, "workers", []string{"1:1", "4:1", "4:4"}, "`PRODUCERS:CONSUMERS`, for the rungs that take them")
	f.IntSliceVar(&l.procs, "procs", []int{1, runtime.NumCPU()}, "GOMAXPROCS `values`")
	f.BoolVar(&l.print, "print", true, "with the rung chan, also drive the published one that prints a line per item")
	f.DurationVarP(&l.duration, "duration", "d", 300*time.Millisecond, "measured length of each of 3 visits")
	f.Uint64Var(&l.seed, "seed", 1, "seed of the order")
	l.out.flags(cmd)
	return cmd
}

func rungNames() []string {
	var names []string
	for _, d := range pipeline.Designs() {
		names = append(names, d.Name)
	}
	return names
}

type ladder struct {
	*app
	designs        []pipeline.Design
	buffers        []int
	batches, procs []int
	pairs          []string
	print          bool
	duration       time.Duration
	seed           uint64
	out            output
	steps          []*step
}

// step is one rung with its settings.
type step struct {
	url     string
	procs   int
	results []*load.Result
}

func (s *step) label() string { return fmt.Sprintf("%s, GOMAXPROCS %d", s.url, s.procs) }

func (l *ladder) prepare(names []string) error {
	if len(names) == 0 {
		names = rungNames()
	}
	errs := []error{within("procs", l.procs, 1, 1024), within("buffer", l.buffers, 0, 10_000_000),
		within("batch", l.batches, 1, 1_000_000)}
	if l.duration < time.Millisecond {
		errs = append(errs, fmt.Errorf("--duration is %v, allowed are 1ms and more", l.duration))
	}
	for _, name := range names {
		d, err := pipeline.Lookup(name)
		errs = append(errs, err)
		if !slices.Contains(l.designs, d) {
			l.designs = append(l.designs, d)
		}
	}
	var workers [][2]int
	for _, text := range l.pairs {
		pair, err := parseWorkers(text)
		workers, errs = append(workers, pair), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return l.addLadder(distinct(workers))
}

// addLadder adds the steps for every number of cores.
func (l *ladder) addLadder(workers [][2]int) error {
	for _, procs := range slices.Sorted(slices.Values(distinct(l.procs))) {
		if l.print && slices.ContainsFunc(l.designs, func(d pipeline.Design) bool { return d.Name == "chan" }) {
			l.steps = append(l.steps, &step{url: fmt.Sprintf("pipe:chan?items=%d&print=true", printedItems), procs: procs})
		}
		for _, d := range l.designs {
			l.addSteps(d, procs, workers)
		}
	}
	if len(l.steps) == 0 {
		return errors.New("no rung takes any of these buffers and numbers of producers and consumers")
	}
	var errs []error
	for _, s := range l.steps {
		_, err := pipe.Parse(s.url)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func parseWorkers(text string) (pair [2]int, err error) {
	producers, consumers, ok := strings.Cut(text, ":")
	var err1, err2 error
	pair[0], err1 = strconv.Atoi(producers)
	pair[1], err2 = strconv.Atoi(consumers)
	if !ok || err1 != nil || err2 != nil || pair[0] < 1 || pair[1] < 1 {
		err = fmt.Errorf("--workers is %q, allowed is PRODUCERS:CONSUMERS, as in 1:1", text)
	}
	return pair, err
}

// addSteps adds the settings that the design takes.
func (l *ladder) addSteps(d pipeline.Design, procs int, workers [][2]int) {
	batches := l.batches
	if !d.Batched {
		batches = []int{0}
	}
	for _, pair := range workers {
		for _, buffer := range distinct(l.buffers) {
			for _, batch := range distinct(batches) {
				if pair[0] > d.MaxProducers || pair[1] > d.MaxConsumers || buffer < d.MinBuffer {
					continue
				}
				q := url.Values{"items": {strconv.Itoa(ladderItems)}}
				for key, n := range map[string]int{"buffer": buffer, "batch": batch} {
					if n > 0 {
						q.Set(key, strconv.Itoa(n))
					}
				}
				if pair != [2]int{1, 1} {
					q.Set("producers", strconv.Itoa(pair[0]))
					q.Set("consumers", strconv.Itoa(pair[1]))
				}
				l.steps = append(l.steps, &step{url: "pipe:" + d.Name + "?" + q.Encode(), procs: procs})
			}
		}
	}
}

// Items per iteration, so that a visit holds dozens of iterations.
const (
	ladderItems  = 100_000
	printedItems = 2_000
)

// ladderVisits is how often each step is measured, all steps in a new random
// order each time.
const ladderVisits = 3

func (l *ladder) run(ctx context.Context) error {
	opener, err := newOpener()
	if err != nil {
		return failed(err)
	}
	doc := newDocument("pipe")
	p := newProgress(l.Err)
	random := rand.New(rand.NewPCG(l.seed, 0))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for visit := range ladderVisits {
		for i, n := range random.Perm(len(l.steps)) {
			s := l.steps[n]
			p.show(float64(visit*len(l.steps)+i)/float64(ladderVisits*len(l.steps)), s.label())
			if err == nil && ctx.Err() == nil {
				err = s.visit(ctx, opener, l.duration)
			}
		}
	}
	p.clear()
	for _, s := range l.steps {
		if len(s.results) > 0 {
			doc.AddCell(trial.MergeCells(s.cells()))
		}
	}
	for _, d := range l.designs {
		doc.Notes = append(doc.Notes, fmt.Sprintf("%s: %s; order: %s; unpublished: %s", d.Name, d.Summary, d.Order, d.Unpublished))
	}
	return l.finish(ctx, doc, &l.out, err)
}

func (s *step) visit(ctx context.Context, opener protocol.Opener, d time.Duration) error {
	opened, err := opener.Open(ctx, protocol.At(s.url))
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(s.procs)
	result, err := load.Run(ctx, s.url, opened, load.Plan{VUs: 1, Warmup: d / 5, Duration: d})
	if err != nil {
		return err
	}
	if result.Failed > 0 {
		return fmt.Errorf("%s: %d of %d iterations lost or reordered items", s.url, result.Failed, result.Planned)
	}
	s.results = append(s.results, result)
	return nil
}

func (s *step) cells() []trial.Cell {
	cells := make([]trial.Cell, len(s.results))
	for i, r := range s.results {
		cells[i] = trial.Cell{Arm: s.label(), Result: r}
	}
	return cells
}
