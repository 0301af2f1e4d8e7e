package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/experiment"
	"contend/guard"
	"contend/load"
	"contend/metric"
	"contend/protocol/wire"
	"contend/report"
	"contend/trial"
)

// inside sets what guards cost in process beside what a call of a server costs.
type inside struct {
	*app
	spec    targetFlags // its URL is that of --inside
	command string
	vus     int
	window  time.Duration
	timeout time.Duration
	designs []guard.Design
	out     *output
}

func (i *inside) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&i.spec.url, "inside", "", "how much the choice of a guard can change at the most inside the server of this `URL`")
	f.StringVar(&i.command, "command", "", "with --inside: start this `command`; {{addr}} is its address")
	f.IntVarP(&i.vus, "concurrency", "c", defaultVUs, "with --inside: `number` of virtual users")
	f.DurationVarP(&i.window, "duration", "d", 2*time.Second, "with --inside: measured length of each look at the server")
	f.DurationVar(&i.timeout, "timeout", defaultTimeout, "with --inside: limit of one iteration; 0: none")
	i.spec.flags(cmd)
}

// exclude refuses the flags of the one way to call the command in the other.
func (i *inside) exclude(cmd *cobra.Command) error {
	wrong, text := []string{"concurrency", "duration", "timeout", "command"}, "--%s needs --inside"
	if i.spec.url != "" {
		wrong, text = []string{"kind", "callers", "full", "section", "seed"}, "--inside and --%s exclude each other"
	}
	var errs []error
	for _, name := range wrong {
		if cmd.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf(text, name))
		}
	}
	if i.spec.url == "" && len(i.spec.given) > 0 {
		errs = append(errs, errors.New("flags of a target need --inside"))
	}
	return errors.Join(errs...)
}

// prepare looks the designs up; the first is what the others are compared with.
func (i *inside) prepare(names []string) error {
	if len(names) == 0 {
		names = designNames()
	}
	var errs []error
	for _, name := range distinct(names) {
		d, err := guard.Lookup(name)
		if err == nil && d.NewCounter != nil {
			i.designs = append(i.designs, d)
		}
		errs = append(errs, err)
	}
	errs = append(errs, within("concurrency", []int{i.vus}, 1, load.MaxVUs))
	if i.window < 10*time.Millisecond {
		errs = append(errs, fmt.Errorf("--duration is %v, allowed are 10ms and more", i.window))
	}
	err := errors.Join(errs...)
	if err == nil && len(i.designs) < 2 {
		err = errors.New("--inside compares at least 2 designs that return a value (striped does not)")
	}
	return err
}

func (i *inside) run(ctx context.Context, mistakes error) error {
	if err := checkServer(ctx, i.spec.target(), i.command, mistakes); err != nil {
		return err
	}
	doc := newDocument("guard")
	i.calibrated(doc)
	entry, err := i.measure(ctx, doc)
	if err == nil {
		doc.Experiments = append(doc.Experiments, *entry)
	}
	return i.finish(ctx, doc, i.out, err)
}

// measure looks at the server and then at the guards.
func (i *inside) measure(ctx context.Context, doc *report.Document) (*report.Experiment, error) {
	began := time.Now()
	p := newProgress(i.Err)
	defer p.clear()
	p.show(0, "the server under load")
	busy, err := i.drive(ctx, doc, "under load", i.vus)
	if err != nil {
		return nil, err
	}
	p.show(0.3, "the server with one caller")
	alone, err := i.drive(ctx, doc, "one caller", 1)
	if err != nil {
		return nil, err
	}
	call := experiment.GuardedCall{Busy: busy, Alone: alone.Service.Mean(), Near: near(i.spec.url)}
	var names []string
	for _, d := range i.designs {
		names = append(names, d.Name)
	}
	costs, err := experiment.MeasureGuards(ctx, names, call.Callers(), func(done float64) { p.show(0.5+done/2, "the guards") })
	if err != nil {
		return nil, err
	}
	return &report.Experiment{ID: "inside", Title: "What a guard can change at the most inside " + i.spec.url, Status: "done",
		Elapsed: time.Since(began), Parts: []report.Part{{}}, Analyses: []report.Analysis{i.analysis(call, costs, doc.Calibration)}}, nil
}

// drive measures the server once; calls of gRPC share a connection where there
// is one caller, so that the call alone is timed.
func (i *inside) drive(ctx context.Context, doc *report.Document, name string, vus int) (trial.Cell, error) {
	target := i.spec.target()
	if vus == 1 && strings.HasPrefix(target.URL(), "grpc") {
		target = target.With("connections", "shared:1")
	}
	opener, err := newOpener()
	if err != nil {
		return trial.Cell{}, err
	}
	arm := oneServer(target, i.command, experiment.Options{Opener: opener})
	plan := load.Plan{VUs: vus, Warmup: i.window / 5, Duration: i.window, Timeout: i.timeout}
	cell, err := trial.Measure(ctx, arm, plan)
	if err != nil {
		return cell, err
	}
	if cell.Arm = name; cell.Result != nil {
		doc.Results = append(doc.Results, report.Result{Place: report.Place{Experiment: "inside"}, Cell: cell})
	}
	if cell.Completed == 0 {
		return cell, nothing(cell.Result)
	}
	return cell, ctx.Err()
}

// near says whether a URL is of this machine for certain.
func near(text string) bool {
	u, err := url.Parse(text)
	return err == nil && wire.IsNear("tcp", net.JoinHostPort(u.Hostname(), u.Port()))
}

// analysis is the table of the designs, and what follows.
func (i *inside) analysis(call experiment.GuardedCall, costs []experiment.GuardCost, known *report.Calibration) report.Analysis {
	base := costs[0]
	a := report.Analysis{Name: "guard_bound", Title: "Each guard in place of " + i.designs[0].Name,
		Columns: []string{"guard", "CPU per call", "time per call, 1 caller", "calls/s at the most", "throughput", "latency"}}
	var largest, longest int // by their effects
	for n, cost := range costs {
		a.Rows = append(a.Rows, []string{i.designs[n].Name, metric.Duration(float64(cost.CPU)), metric.Duration(float64(cost.Call)),
			metric.Number(float64(time.Second) / float64(cost.Wall)), signed(-call.Throughput(base, cost)), signed(call.Latency(base, cost))})
		if math.Abs(call.Throughput(base, cost)) > math.Abs(call.Throughput(base, costs[largest])) {
			largest = n
		}
		if math.Abs(call.Latency(base, cost)) > math.Abs(call.Latency(base, costs[longest])) {
			longest = n
		}
	}
	perCall, whose := call.CPU()
	throughput, latency := math.Abs(call.Throughput(base, costs[largest])), math.Abs(call.Latency(base, costs[longest]))
	a.Sentence = []string{
		fmt.Sprintf("With %d VUs the server held %.1f calls at once (throughput × mean service time), so the guards were measured with %d at once.",
			call.Busy.Concurrency, call.InFlight(), call.Callers()),
		fmt.Sprintf("A call costs %s %s of CPU, and takes %s at one caller.", whose, metric.Duration(perCall), metric.Duration(float64(call.Alone))),
		fmt.Sprintf("Throughput: %s in place of %s changes at most %.2g %% of it, if it costs there what it costs in process. %s",
			i.designs[largest].Name, i.designs[0].Name, 100*throughput, worthwhile(throughput, metric.Throughput, known)),
		fmt.Sprintf("Latency: %s in place of %s changes at most %.2g %% of the service time at one caller. %s",
			i.designs[longest].Name, i.designs[0].Name, 100*latency, worthwhile(latency, "response_p50_ns", known)),
	}
	for n, cost := range costs {
		if share, queues := call.Queues(cost); queues {
			a.Sentence = append(a.Sentence, fmt.Sprintf(
				"Beware: at %.0f calls/s the guard %s is busy %.0f %% of the time, so it queues by itself and its bounds are too low.",
				call.Busy.ThroughputPerSec, i.designs[n].Name, 100*share))
		}
	}
	return a
}

// signed formats a share as a change in per cent.
func signed(share float64) string {
	if math.Abs(share) < 0.00005 {
		return "0.00 %"
	}
	return fmt.Sprintf("%+.2f %%", 100*share)
}

// worthwhile says whether a comparison can show an effect on the metric that is
// no larger, by what the machine was seen to tell apart, if it was.
func worthwhile(effect float64, m metric.Name, known *report.Calibration) string {
	smallest, planned := math.Inf(1), trial.NewDesign()
	if known != nil {
		for _, seen := range known.Visible {
			if seen.Metric == m {
				smallest = seen.In(planned.Rounds, planned.Confidence)
			}
		}
	}
	margin := fmt.Sprintf("the margin of %.3g %% which counts as equal", 100*planned.Margin)
	switch sees := fmt.Sprintf("This machine sees %.2g %% in %d rounds", 100*smallest, planned.Rounds); {
	case !math.IsInf(smallest, 1) && effect < smallest:
		return sees + ": a comparison cannot show it."
	case !math.IsInf(smallest, 1) && effect < planned.Margin:
		return sees + ": a comparison can show it, but it is less than " + margin + "."
	case !math.IsInf(smallest, 1):
		return sees + ": a comparison can show it."
	case effect < planned.Margin:
		return "That is less than " + margin + ": a comparison is not worth running."
	}
	return "Whether this machine can see that is not known."
}
