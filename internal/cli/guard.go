package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/guard"
	"contend/hist"
	"contend/load"
	target "contend/protocol/guard"
	"contend/report"
	"contend/trial"
)

// How long each visit of a cell of the grid of `contend guard` takes.
const (
	guardBlock  = 80 * time.Millisecond
	guardWarmup = 15 * time.Millisecond
)

func newGuard(a *app) *cobra.Command {
	g := &guardGrid{app: a}
	in := &inside{app: a, grid: g}
	cmd := &cobra.Command{
		Use:   "guard [DESIGN ...]",
		Short: "Compare designs that guard shared state, in process",
		Long: "Compare guards in this process: operations per second, latency, CPU and allocations per operation,\n" +
			"and fairness, for each kind of operation and each number of callers.\n\n" +
			"Kinds: add (blind), add-get (add and return the value), read-mostly, section (critical section).\n" +
			"Designs: " + strings.Join(guard.Names(false), ", ") + ".\n\n" +
			"With --inside URL, also load that server and relate the cost of each design to the cost of a call.\n" +
			"This shows how much the choice can change, at most, and whether a comparison is worth running.",
		Example: indent + "contend guard mutex atomic inputQ --callers 1,100\n" + indent + "contend guard --callers 1,2,4,8,16,32,64,128,256,512,1000\n" +
			indent + "contend guard mutex inputQ --inside http://localhost:8080/status",
		RunE: func(cmd *cobra.Command, args []string) error {
			if in.own.has("inside") {
				return in.run(cmd.Context(), in.prepare(args))
			}
			if err := errors.Join(in.needed(), g.prepare(args)); err != nil {
				return usage(err)
			}
			return g.run(cmd.Context())
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return guard.Names(false), cobra.ShellCompDirectiveNoFileComp
		},
	}
	g.own = optionsOf(cmd, &g.gridOptions, &g.remembered)
	in.flags(cmd)
	return cmd
}

type guardGrid struct {
	*app
	own *options
	gridOptions
	remembered
	designs []guard.Design
	cells   []*guardCell
}

type gridOptions struct {
	Kinds   []target.Kind `flag:"kind" default:"add,add-get,read-mostly,section" words:"*kinds* of operation"`
	Callers []int         `flag:"callers" default:"1,2,8,100" min:"1" max:"100000" words:"*numbers* of calling goroutines"`
	Section time.Duration `flag:"section" default:"200ns" above:"0s" max:"1s" words:"length of the critical section, for the kind section"`
	Seed    uint64        `flag:"seed" default:"1" words:"seed for all random choices"`
}

// guardCell is one design under one kind of operation and number of callers.
type guardCell struct {
	config  target.Config
	design  guard.Design
	callers int
	results []*load.Result
	stats   []target.Stats
	mallocs uint64 // in the measured windows
}

func (g *guardGrid) prepare(names []string) error {
	mistakes := errors.Join(g.own.read(), g.oneForm())
	designs, err := lookUp(names, guard.Names(false), guard.Lookup)
	if err := errors.Join(mistakes, err); err != nil {
		return err
	}
	g.designs = designs
	return g.addCells()
}

// addCells fills the grid, except for what a design cannot do.
func (g *guardGrid) addCells() error {
	for _, kind := range g.Kinds {
		for _, n := range g.Callers {
			for _, d := range g.designs {
				c := target.Config{Design: d.Name, Kind: kind, Seed: g.Seed}
				if kind == target.Section {
					c.Section = g.Section
				}
				if c.Check() == nil {
					g.cells = append(g.cells, &guardCell{config: c, design: d, callers: n})
				}
			}
		}
	}
	if len(g.cells) == 0 {
		return errors.New("no design supports any of these kinds (striped returns no value)")
	}
	return nil
}

func (g *guardGrid) run(ctx context.Context) error {
	doc := newDocument("guard")
	p := g.progress(g.UI)
	err := visitAll(ctx, p, g.Seed, g.cells, func() *report.Document { return g.add(&report.Document{Command: "guard"}) })
	g.add(doc)
	doc.Notes = g.notes()
	return g.finish(ctx, doc, &g.remembered, err)
}

// add takes what was measured into the document.
func (g *guardGrid) add(doc *report.Document) *report.Document {
	for _, c := range g.cells {
		if len(c.results) > 0 {
			doc.AddInProcess(c.sum())
		}
	}
	return doc
}

func (c *guardCell) label() string {
	return fmt.Sprintf("%s, %s, callers %d", c.design.Name, c.config.Kind, c.callers)
}

// visit drives the cell once with a guard of its own.
func (c *guardCell) visit(ctx context.Context) error {
	t, err := target.New(c.config)
	if err != nil {
		return err
	}
	defer t.Close()
	live := &trial.Live{Address: c.config.URL(), Target: t}
	session, err := live.Open(ctx, c.callers)
	if err != nil {
		return err
	}
	defer session.Close()
	var before, after runtime.MemStats
	cell, err := live.Settled(ctx, session, load.Plan{VUs: c.callers, Warmup: guardWarmup, Duration: guardBlock,
		AtEdge: func(e load.Edge) {
			if e == load.WindowOpens {
				runtime.ReadMemStats(&before)
			} else {
				runtime.ReadMemStats(&after)
			}
		}})
	if err != nil {
		return err
	}
	stats, err := t.Stats(ctx)
	if err == nil {
		err = stats.Check()
	}
	if err != nil {
		return fmt.Errorf("guard %s: %w", c.design.Name, err)
	}
	c.results, c.stats = append(c.results, cell.Result), append(c.stats, stats)
	c.mallocs += after.Mallocs - before.Mallocs
	return nil
}

// sum merges the visits.
func (c *guardCell) sum() (trial.Cell, report.InProcess) {
	p := report.InProcess{Design: c.design.Name, Class: string(c.design.Class), Kind: string(c.config.Kind),
		Latency: hist.New(), ClockPair: c.stats[0].Clock}
	for _, s := range c.stats {
		p.Latency.Merge(s.Latency)
		p.Jain += s.Jain / float64(len(c.stats))
		p.MinMax += s.MinMax / float64(len(c.stats))
	}
	result := load.Merge(c.results...)
	if result.Ops > 0 {
		p.AllocsPerOp = float64(c.mallocs) / float64(result.Ops)
	}
	return trial.Cell{Arm: c.design.Name, Result: result}, p
}

func (g *guardGrid) notes() []string {
	notes := []string{"Kinds are not ranked together: a blind add does less than one that returns a value."}
	for _, d := range g.designs {
		notes = append(notes, fmt.Sprintf("%s (%s): %s", d.Name, d.Class, d.Summary))
	}
	return notes
}
