package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
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

// The grid of `contend guard`: each cell is visited several times, all cells
// in a new random order each time, so that a mood of the machine does not fall
// on one design.
const (
	guardVisits = 3
	guardBlock  = 80 * time.Millisecond
	guardWarmup = 15 * time.Millisecond
)

func newGuard(a *app) *cobra.Command {
	g := &guardGrid{app: a}
	in := &inside{app: a, out: &g.out}
	cmd := &cobra.Command{
		Use:   "guard [DESIGN ...]",
		Short: "Compare the designs that guard shared state, in process",
		Long: "Compare guards in this process: operations per second, latency of single operations, CPU and\n" +
			"allocations per operation, and fairness, one table for each kind of operation and number of callers.\n\n" +
			"Kinds: add (blind), add-get (add and return the value), read-mostly, section (critical section).\n" +
			"Designs: " + strings.Join(designNames(), ", ") + ".\n\n" +
			"With --inside URL the server there is driven, too, and the cost of each design is set beside that of\n" +
			"a call: how much the choice can change at the most, and whether a comparison is worth running.",
		Example: indent + "contend guard mutex atomic inputQ --callers 1,100\n" + indent + "contend guard --full\n" +
			indent + "contend guard mutex inputQ --inside http://localhost:8080/status",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := in.exclude(cmd); in.spec.url != "" || err != nil {
				return in.run(cmd.Context(), errors.Join(err, in.prepare(args)))
			}
			if err := g.prepare(args, cmd.Flags().Changed("callers")); err != nil {
				return usage(err)
			}
			return g.run(cmd.Context())
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return designNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&g.kinds, "kind", kindNames(), "`kinds` of operation")
	f.IntSliceVar(&g.callers, "callers", []int{1, 2, 8, 100}, "`numbers` of calling goroutines")
	f.BoolVar(&g.full, "full", false, "the whole grid: 1, 2, 4 … 512, 1000 callers (some minutes)")
	f.DurationVar(&g.section, "section", 200*time.Nanosecond, "length of the critical section of the kind section")
	f.Uint64Var(&g.seed, "seed", 1, "seed of all random choices")
	complete(cmd, "kind", kindNames())
	in.flags(cmd)
	g.out.flags(cmd)
	return cmd
}

func designNames() []string {
	var names []string
	for _, d := range guard.Designs() {
		names = append(names, d.Name)
	}
	return names
}

func kindNames() []string {
	var names []string
	for _, k := range target.Kinds() {
		names = append(names, string(k))
	}
	return names
}

type guardGrid struct {
	*app
	designs []guard.Design
	kinds   []string
	callers []int
	full    bool
	section time.Duration
	seed    uint64
	out     output
	cells   []*guardCell
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

func (g *guardGrid) prepare(names []string, callersGiven bool) error {
	if len(names) == 0 {
		names = designNames()
	}
	if g.full && callersGiven {
		return errors.New("--full and --callers exclude each other")
	}
	if g.full {
		g.callers = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000}
	}
	errs := []error{within("callers", g.callers, 1, 100_000)}
	for _, name := range names {
		d, err := guard.Lookup(name)
		errs = append(errs, err)
		if !slices.ContainsFunc(g.designs, func(o guard.Design) bool { return o.Name == d.Name }) {
			g.designs = append(g.designs, d)
		}
	}
	for _, kind := range g.kinds {
		if !slices.Contains(kindNames(), kind) {
			errs = append(errs, fmt.Errorf("--kind is %q, allowed are %s", kind, strings.Join(kindNames(), ", ")))
		}
	}
	if g.section <= 0 || g.section > time.Second {
		errs = append(errs, fmt.Errorf("--section is %v, allowed are 1ns to 1s", g.section))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return g.addCells()
}

// addCells fills the grid, but for what a design cannot do.
func (g *guardGrid) addCells() error {
	for _, kind := range distinct(g.kinds) {
		for _, n := range distinct(g.callers) {
			for _, d := range g.designs {
				if c := g.config(d, target.Kind(kind)); possible(d, c.Kind) {
					g.cells = append(g.cells, &guardCell{config: c, design: d, callers: n})
				}
			}
		}
	}
	if len(g.cells) == 0 {
		return errors.New("none of the designs can do any of the kinds (striped returns no value)")
	}
	return nil
}

func (g *guardGrid) config(d guard.Design, kind target.Kind) target.Config {
	c := target.Config{Design: d.Name, Kind: kind, Seed: g.seed}
	if kind == target.Section {
		c.Section = g.section
	}
	return c
}

func possible(d guard.Design, kind target.Kind) bool {
	return (kind != target.AddGet || d.NewCounter != nil) && (kind != target.Section || d.Exclusive)
}

func (g *guardGrid) run(ctx context.Context) error {
	doc := newDocument("guard")
	p := newProgress(g.Err)
	random := rand.New(rand.NewPCG(g.seed, 0))
	var err error
	for visit := range guardVisits {
		for i, n := range random.Perm(len(g.cells)) {
			c := g.cells[n]
			p.show(float64(visit*len(g.cells)+i)/float64(guardVisits*len(g.cells)),
				fmt.Sprintf("%s, %s, %d callers", c.design.Name, c.config.Kind, c.callers))
			if err == nil && ctx.Err() == nil {
				err = c.visit(ctx)
			}
		}
	}
	p.clear()
	for _, c := range g.cells {
		if len(c.results) > 0 {
			doc.AddInProcess(c.sum())
		}
	}
	doc.Notes = g.notes()
	return g.finish(ctx, doc, &g.out, err)
}

// visit drives the cell once with a guard of its own.
func (c *guardCell) visit(ctx context.Context) error {
	t, err := target.New(c.config)
	if err != nil {
		return err
	}
	defer t.Close()
	session, err := load.Open(ctx, "guard:"+c.design.Name, t, c.callers)
	if err != nil {
		return err
	}
	defer session.Close()
	var before, after runtime.MemStats
	result, err := trial.Settled(ctx, session, load.Plan{VUs: c.callers, Warmup: guardWarmup, Duration: guardBlock,
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
	c.results, c.stats = append(c.results, result), append(c.stats, stats)
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
	notes := []string{"Kinds are not ranked together: a blind add asks for less than a value returned."}
	for _, d := range g.designs {
		notes = append(notes, fmt.Sprintf("%s (%s): %s", d.Name, d.Class, d.Summary))
	}
	return notes
}
