package cli

import (
	"context"
	"errors"
	"fmt"
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
	"contend/report"
	"contend/setting"
	"contend/trial"
)

func newPipe(a *app) *cobra.Command {
	l := &ladder{app: a}
	cmd := &cobra.Command{
		Use:   "pipe [DESIGN ...]",
		Short: "Compare ways to hand items from producers to consumers, in process",
		Long: "Compare pipelines in this process over buffer size, batch size, GOMAXPROCS and numbers of producers\n" +
			"and consumers. The measured run accounts for every item. A design is skipped where it does not\n" +
			"support that buffer or that number of producers or consumers.\n\n" +
			"Designs: " + strings.Join(rungNames(), ", ") + ".",
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
	l.own = optionsOf(cmd, &l.ladderOptions, &l.remembered)
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
	own *options
	ladderOptions
	remembered
	designs []pipeline.Design
	steps   []*step
}

type ladderOptions struct {
	Buffers  []int         `flag:"buffer" default:"0,10000" min:"0" max:"10000000" words:"buffer *sizes* in items"`
	Batches  []int         `flag:"batch" default:"32,1024" min:"1" max:"1000000" words:"batch *sizes*, for the designs that batch"`
	Workers  []workers     `flag:"workers" default:"1:1,4:1,4:4" words:"*PRODUCERS:CONSUMERS*, for the designs that accept them"`
	Procs    []int         `flag:"procs" min:"1" max:"1024" words:"GOMAXPROCS *values* (default 1 and the number of CPUs)"`
	Print    bool          `flag:"print" default:"true" words:"with the design chan: also drive the published one, which prints a line per item"`
	Duration time.Duration `flag:"duration,d" default:"300ms" min:"1ms" max:"720h" words:"how long to measure each of 3 runs"`
	Seed     uint64        `flag:"seed" default:"1" words:"seed for the order"`
}

// workers are numbers of producers and consumers.
type workers struct{ producers, consumers int }

// UnmarshalText reads the form PRODUCERS:CONSUMERS.
func (w *workers) UnmarshalText(text []byte) error {
	producers, consumers, _ := strings.Cut(string(text), ":")
	p, err1 := strconv.Atoi(producers)
	c, err2 := strconv.Atoi(consumers)
	if err1 != nil || err2 != nil || p < 1 || c < 1 {
		return setting.NotAllowed(string(text), "PRODUCERS:CONSUMERS, as in 1:1")
	}
	*w = workers{p, c}
	return nil
}

// MarshalText returns the form PRODUCERS:CONSUMERS.
func (w workers) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d:%d", w.producers, w.consumers), nil
}

// step is one rung with its settings.
type step struct {
	url     string
	procs   int
	opener  protocol.Opener
	length  time.Duration // of a visit
	results []*load.Result
}

func (s *step) label() string { return fmt.Sprintf("%s, GOMAXPROCS %d", s.url, s.procs) }

func (l *ladder) prepare(names []string) error {
	err := errors.Join(l.own.read(), l.oneForm())
	if len(l.Procs) == 0 {
		l.Procs = slices.Compact([]int{1, runtime.NumCPU()})
	}
	designs, unknown := lookUp(names, rungNames(), pipeline.Lookup)
	if err := errors.Join(err, unknown); err != nil {
		return err
	}
	l.designs = designs
	return l.addLadder()
}

// addLadder adds the steps for every number of cores.
func (l *ladder) addLadder() error {
	for _, procs := range slices.Sorted(slices.Values(l.Procs)) {
		if l.Print && slices.ContainsFunc(l.designs, func(d pipeline.Design) bool { return d.Name == "chan" }) {
			l.steps = append(l.steps, &step{url: fmt.Sprintf("pipe:chan?items=%d&print=true", printedItems), procs: procs})
		}
		for _, d := range l.designs {
			l.addSteps(d, procs)
		}
	}
	if len(l.steps) == 0 {
		return errors.New("no design supports any of these buffers and numbers of producers and consumers")
	}
	var errs []error
	for _, s := range l.steps {
		_, err := pipe.Parse(s.url)
		errs = append(errs, err)
	}
	return setting.FlagErrors(errors.Join(errs...))
}

// addSteps adds the settings that the design takes.
func (l *ladder) addSteps(d pipeline.Design, procs int) {
	batches := l.Batches
	if !d.Batched {
		batches = []int{0}
	}
	for _, pair := range l.Workers {
		for _, buffer := range l.Buffers {
			for _, batch := range batches {
				if pair.producers > d.MaxProducers || pair.consumers > d.MaxConsumers || buffer < d.MinBuffer {
					continue
				}
				q := url.Values{"items": {strconv.Itoa(ladderItems)}}
				for key, n := range map[string]int{"buffer": buffer, "batch": batch} {
					if n > 0 {
						q.Set(key, strconv.Itoa(n))
					}
				}
				if pair != (workers{1, 1}) {
					q.Set("producers", strconv.Itoa(pair.producers))
					q.Set("consumers", strconv.Itoa(pair.consumers))
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

func (l *ladder) run(ctx context.Context) error {
	opener, err := l.newOpener()
	if err != nil {
		return failed(err)
	}
	for _, s := range l.steps {
		s.opener, s.length = opener, l.Duration
	}
	doc := newDocument("pipe")
	p := l.progress(l.UI)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	err = visitAll(ctx, p, l.Seed, l.steps, func() *report.Document { return l.add(&report.Document{Command: "pipe"}) })
	l.add(doc)
	for _, d := range l.designs {
		doc.Notes = append(doc.Notes, fmt.Sprintf("%s: %s; order: %s; unpublished: %s", d.Name, d.Summary, d.Order, d.Unpublished))
	}
	return l.finish(ctx, doc, &l.remembered, err)
}

// add takes what was measured into the document.
func (l *ladder) add(doc *report.Document) *report.Document {
	for _, s := range l.steps {
		if len(s.results) > 0 {
			doc.AddCell(trial.MergeCells(s.cells()))
		}
	}
	return doc
}

func (s *step) visit(ctx context.Context) error {
	opened, err := s.opener.Open(ctx, protocol.At(s.url))
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(s.procs)
	live := &trial.Live{Address: s.url, Target: opened}
	session, err := live.Open(ctx, 1)
	if err != nil {
		return err
	}
	defer session.Close()
	cell, err := live.Settled(ctx, session, load.Plan{VUs: 1, Warmup: s.length / 5, Duration: s.length})
	if err != nil {
		return err
	}
	if cell.Failed > 0 {
		return fmt.Errorf("%s: %d of %d iterations lost or reordered items", s.url, cell.Failed, cell.Planned)
	}
	s.results = append(s.results, cell.Result)
	return nil
}

func (s *step) cells() []trial.Cell {
	cells := make([]trial.Cell, len(s.results))
	for i, r := range s.results {
		cells[i] = trial.Cell{Arm: s.label(), Result: r}
	}
	return cells
}
