package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/experiment"
	"contend/guard"
	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/protocol/wire"
	"contend/report"
	"contend/setting"
	"contend/trial"
)

// inside compares what guards cost in process with the cost of a call to a server.
type inside struct {
	*app
	grid *guardGrid // of the same command without --inside
	own  *options
	insideOptions
	spec    targetFlags // its URL is that of --inside
	designs []guard.Design
}

type insideOptions struct {
	URL     string        `flag:"inside" words:"report how much the choice of a guard can change, at most, inside the server at this *URL*"`
	VUs     int           `flag:"concurrency,c" default:"10" min:"1" max:"1000000" words:"with --inside: *number* of callers"`
	Window  time.Duration `flag:"duration,d" default:"2s" min:"10ms" max:"720h" words:"with --inside: how long to measure the server each time"`
	Timeout time.Duration `flag:"timeout" default:"10s" min:"0s" max:"720h" words:"with --inside: time limit for one iteration; 0: none"`
	ownServer
}

func (i *inside) flags(cmd *cobra.Command) {
	i.own = optionsOf(cmd, &i.insideOptions, &i.pins)
	i.spec.flags(cmd)
}

// needed refuses the flags that --inside gives a meaning.
func (i *inside) needed() error {
	var errs []error
	for _, flag := range slices.Sorted(maps.Keys(i.own.given.Over(i.spec.given))) {
		errs = append(errs, fmt.Errorf("--%s requires --inside", flag))
	}
	return errors.Join(errs...)
}

// prepare looks the designs up; the first is what the others are compared with.
func (i *inside) prepare(names []string) error {
	errs := []error{i.own.read()}
	for _, flag := range setting.Foreign(setting.Of(i.grid.views), i.grid.own.given, setting.InFlags) {
		errs = append(errs, fmt.Errorf("use either --inside or --%s, not both", flag))
	}
	i.spec.url = i.URL
	designs, err := lookUp(names, guard.Names(false), guard.Lookup)
	i.designs = slices.DeleteFunc(designs, func(d guard.Design) bool { return d.NewCounter == nil })
	err = errors.Join(append(errs, i.grid.own.read(), i.grid.oneForm(), err)...)
	if err == nil && len(i.designs) < 2 {
		err = errors.New("--inside compares at least 2 designs that return a value (striped does not)")
	}
	return err
}

func (i *inside) run(ctx context.Context, mistakes error) error {
	mistakes = errors.Join(mistakes, i.pins.check("--command", i.Command != ""))
	if err := i.checkServer(ctx, i.spec.target(), &i.ownServer, i.Timeout, mistakes); err != nil {
		return err
	}
	doc := newDocument("guard")
	i.quoteCalibration(doc)
	doc.Then(report.Step{Purpose: report.FindBest, Command: i.sweeps()})
	entry, err := i.measure(ctx, doc)
	if err == nil {
		doc.Experiments = append(doc.Experiments, *entry)
	}
	return i.finish(ctx, doc, &i.grid.remembered, err)
}

// sweeps is the command line that finds what the server's limit is.
func (i *inside) sweeps() string {
	var own []string
	if i.Command != "" {
		own = i.ownServer.again(&fleetOptions{})
	}
	return i.next("sweep", own, i.spec.given, i.URL)
}

// measure looks at the server and then at the guards, which have all CPUs.
func (i *inside) measure(ctx context.Context, doc *report.Document) (*report.Experiment, error) {
	began := time.Now()
	p := i.grid.progress(i.grid.UI)
	defer p.clear()
	busy, alone, err := i.look(ctx, doc, p)
	if err != nil {
		return nil, err
	}
	call := experiment.GuardedCall{Busy: busy, Alone: alone.Service.Mean(), Near: near(i.URL)}
	var names []string
	for _, d := range i.designs {
		names = append(names, d.Name)
	}
	costs, err := experiment.MeasureGuards(ctx, names, call.Callers(), func(done float64) { p.between(0.5+done/2, "the guards", nil) })
	if err != nil {
		return nil, err
	}
	return &report.Experiment{ID: "inside", Title: "What a guard can change at most inside " + i.URL, Status: "done",
		Elapsed: time.Since(began), Parts: []report.Part{{}}, Analyses: []report.Analysis{i.analysis(call, costs, doc.Calibration)}}, nil
}

// look drives the server with all callers, and with one.
func (i *inside) look(ctx context.Context, doc *report.Document, p *progress) (busy, alone trial.Cell, err error) {
	o, release, err := i.measuring(i.pins.placing(i.Command != ""))
	if err != nil {
		return busy, alone, err
	}
	defer release()
	p.between(0, "the server under load", nil)
	if busy, err = i.drive(ctx, doc, "under load", i.VUs, o); err != nil {
		return busy, alone, err
	}
	p.between(0.3, "the server with one caller", nil)
	alone, err = i.drive(ctx, doc, "one caller", 1, o)
	doc.Environment.CPUs = report.PlacedOn(o.Placement.Layout)
	return busy, alone, err
}

// drive measures the server once, when it is warm; calls of gRPC share a connection where there
// is one caller, so that the call alone is timed.
func (i *inside) drive(ctx context.Context, doc *report.Document, name string, vus int, o experiment.Options) (trial.Cell, error) {
	target := i.spec.target()
	if vus == 1 && strings.HasPrefix(target.URL(), "grpc") {
		target = target.With("connections", "shared:1")
	}
	pilot := trial.Pilot{Plan: load.Plan{VUs: vus, Timeout: i.Timeout}, Most: min(i.Window, trial.Within(0, 1)), Widen: o.Placement.Widen}
	warmed, err := pilot.Warm(ctx, i.ownServer.arm(target, o))
	if err != nil {
		return trial.Cell{}, err
	}
	plan := pilot.Plan
	plan.Warmup, plan.Duration, plan.Grace = i.Window/5, i.Window, load.DefaultGrace
	cell, err := trial.Measure(ctx, warmed.Arm, plan)
	if err = errors.Join(err, warmed.End(ctx)); err != nil {
		return cell, err
	}
	if cell.Arm = name; cell.Result != nil {
		doc.Results = append(doc.Results, report.Result{Place: report.Place{Experiment: "inside"}, Cell: cell})
	}
	if cell.Completed == 0 {
		return cell, nothing(cell)
	}
	return cell, ctx.Err()
}

// near reports whether a URL is of this machine for certain.
func near(text string) bool {
	u, err := url.Parse(text)
	return err == nil && wire.IsNear("tcp", net.JoinHostPort(u.Hostname(), u.Port()))
}

// analysis is the table of the designs, and what follows.
func (i *inside) analysis(call experiment.GuardedCall, costs []experiment.GuardCost, known *report.Calibration) report.Analysis {
	base := costs[0]
	a := report.Analysis{Name: "guard_bound", Title: "Each guard in place of " + i.designs[0].Name,
		Columns: []string{"guard", "CPU per call", "time per call, 1 caller", "calls/s at most", "throughput", "latency"}}
	var largest, longest int // by their effects
	for n, cost := range costs {
		a.Rows = append(a.Rows, []string{i.designs[n].Name, unit.Duration(float64(cost.CPU)), unit.Duration(float64(cost.Call)),
			unit.Number(float64(time.Second) / float64(cost.Wall)), signed(-call.Throughput(base, cost)), signed(call.Latency(base, cost))})
		if math.Abs(call.Throughput(base, cost)) > math.Abs(call.Throughput(base, costs[largest])) {
			largest = n
		}
		if math.Abs(call.Latency(base, cost)) > math.Abs(call.Latency(base, costs[longest])) {
			longest = n
		}
	}
	perCall, whose := call.CPU()
	throughput, latency := math.Abs(call.Throughput(base, costs[largest])), math.Abs(call.Latency(base, costs[longest]))
	a.Answer = fmt.Sprintf("The guard inside %s changes throughput by at most %.2f%% (%s in place of %s), latency by at most %.2f%% (%s)",
		i.URL, 100*throughput, i.designs[largest].Name, i.designs[0].Name, 100*latency, i.designs[longest].Name)
	a.Sentence = []string{
		fmt.Sprintf("At concurrency %d the server held %.1f calls at once (throughput × mean service time), so the guards were measured with %d at once.",
			call.Busy.Concurrency, call.InFlight(), call.Callers()),
		fmt.Sprintf("A call costs %s %s of CPU, and takes %s at one caller.", whose, unit.Duration(perCall), unit.Duration(float64(call.Alone))),
		fmt.Sprintf("Throughput: %s in place of %s changes at most %.2f%% of it, if it costs there what it costs in process. %s",
			i.designs[largest].Name, i.designs[0].Name, 100*throughput, worthwhile(throughput, metric.Throughput, known)),
		fmt.Sprintf("Latency: %s in place of %s changes at most %.2f%% of the service time at one caller. %s",
			i.designs[longest].Name, i.designs[0].Name, 100*latency, worthwhile(latency, "response_p50_ns", known)),
	}
	for n, cost := range costs {
		if share, queues := call.Queues(cost); queues {
			a.Sentence = append(a.Sentence, fmt.Sprintf(
				"Beware: at %.0f calls/s the guard %s is busy %.0f%% of the time, so it queues by itself and its bounds are too low.",
				call.Busy.ThroughputPerSec, i.designs[n].Name, 100*share))
		}
	}
	return a
}

// signed formats a share as a change in per cent.
func signed(share float64) string {
	if math.Abs(share) < 0.00005 {
		return "0.00%"
	}
	return fmt.Sprintf("%+.2f%%", 100*share)
}

// worthwhile reports whether a comparison can show an effect on the metric that is
// no larger, by what the machine was seen to tell apart, if it was.
func worthwhile(effect float64, m metric.Name, known *report.Calibration) string {
	smallest, planned := math.Inf(1), trial.NewDesign()
	if known != nil {
		for _, seen := range known.Visible {
			if seen.Metric == m {
				smallest = seen.In(trial.PlannedRounds, planned.Confidence)
			}
		}
	}
	equal := planned.MarginOf(m)
	margin := fmt.Sprintf("the margin of %s which counts as equal", unit.Percent(equal))
	switch sees := fmt.Sprintf("This machine sees %s in %d rounds", unit.Percent(smallest), trial.PlannedRounds); {
	case !math.IsInf(smallest, 1) && effect < smallest:
		return sees + ": a comparison cannot show it."
	case !math.IsInf(smallest, 1) && effect < equal:
		return sees + ": a comparison can show it, but it is less than " + margin + "."
	case !math.IsInf(smallest, 1):
		return sees + ": a comparison can show it."
	case effect < equal:
		return "That is less than " + margin + ": a comparison is not worth running."
	}
	return "Whether this machine can see that is not known."
}
