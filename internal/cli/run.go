package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"contend/errkind"
	"contend/expect"
	"contend/internal/lazyregexp"
	"contend/internal/placement"
	"contend/load"
	"contend/protocol"
	"contend/protocol/script"
	"contend/protocol/wire"
	"contend/report"
	"contend/setting"
	"contend/trial"
)

// defaultDuration is the measured window of a run without stages.
const defaultDuration = 10 * time.Second

func newRun(a *app) *cobra.Command {
	var spec targetFlags
	var r runSettings
	var o *options
	cmd := &cobra.Command{
		Use:   "run TARGET",
		Short: "Load one target and report how fast it responds",
		Long: "Load one target. Report throughput, response time, errors by kind, and anything that makes the\n" +
			"result invalid.\n\n" +
			"TARGET is one of\n  " + strings.Join(append(protocol.Forms(), programForm), "\n  "),
		Example: indent + "contend run ./server\n" +
			indent + "contend run -c 50 -d 10s http://localhost:8080/status\n" +
			indent + "contend run -c 100 --rate 5000 -d 30s --warmup 2s http://localhost:8080/status\n" +
			indent + `contend run -c 10 -n 1000 --data '{"value": 1}' grpc://localhost:50055/counter.incrementCounter/increment`,
		Args:              oneTarget,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			spec.url = args[0]
			if command := toStart(cmd, args); command != "" {
				if err := a.discoverOne(cmd, &r.ownServer, &r.portChoice, &spec, o, command, &r.views); err != nil {
					return err
				}
			}
			read, mistakes := a.scriptLoad(cmd.Context(), &spec, o.given, wholeScript)
			unread := setting.FlagErrors(mistakes)
			r.unread = unread != nil
			if read != nil {
				defer protocol.Close(read)
				r.script = read
			}
			plan, err := r.plan(o)
			if read != nil && err == nil {
				err = read.Options.Apply(&plan)
			}
			if unread != nil {
				return usage(errors.Join(unread, err))
			}
			r.alike = spec.given.Over(o.given.Only(slices.Concat(ofPlan("pacer", "start_lag"), setting.Of(pins{})), setting.InFlags))
			err = errors.Join(err, a.pins.check("--command", r.Command != ""), a.checkSubjects(&r.fleetOptions, subjectsOf(r.Command)), setting.FlagErrors(r.fleetOptions.check()))
			if err == nil {
				if err := a.gatherFor(cmd.Context(), &r.fleetOptions, subjectsOf(r.Command)); err != nil {
					return err
				}
				defer a.crew.close()
			}
			if r.Command != "" {
				return a.runServer(cmd.Context(), spec.target(), plan, &r, err)
			}
			opened, err := a.openFor(cmd.Context(), spec.target(), plan, errors.Join(err, r.ownServer.check(spec.target())))
			if err != nil {
				return a.unmeasured(cmd.Context(), newDocument("run"), &r.views, err)
			}
			return a.runOpened(cmd.Context(), opened, spec.url, plan, &r)
		},
	}
	cmd.SetUsageFunc(usageInGroups)
	spec.flags(cmd)
	o = optionsOf(cmd, &r, &a.pins)
	return cmd
}

// runOpened drives a target that is open, and closes it: that may be a script's teardown, which can fail.
func (a *app) runOpened(ctx context.Context, opened load.Target, name string, plan load.Plan, r *runSettings) error {
	if err := a.pins.place(placement.Shared, a.Err); err != nil {
		protocol.Close(opened)
		return failed(err)
	}
	defer a.pins.process.Release()
	r.drives(opened, plan)
	ended := sync.OnceValue(func() error { return protocol.Close(opened) })
	err := a.run(ctx, name, plan, r, func(ctx context.Context, plan load.Plan) (trial.Cell, error) {
		cell, err := driveOnce(ctx, opened, name, plan)
		_ = ended() // before the result is judged, as teardown measures as well; its error is reported at the end
		load.Settle(opened, cell.Result)
		return cell, err
	})
	return a.tornDown(ctx, err, ended())
}

// drives tells the script that is driven by which plan.
func (r *runSettings) drives(opened load.Target, plan load.Plan) {
	if own := script.Of(opened); own != nil {
		r.script = own
		own.Follow(plan)
	}
}

// tornDown is the outcome of a run with that of its teardown, which comes before what was measured, as in k6.
func (a *app) tornDown(ctx context.Context, err, wrong error) error {
	switch {
	case wrong == nil:
		return err
	case ctx.Err() != nil: // which decides the exit code
		fmt.Fprintf(a.Err, "contend: %v\n", wrong)
		return err
	}
	return failed(errors.Join(errors.Unwrap(err), wrong)) // what is only a code says nothing
}

// runServer starts a server for a run of it.
func (a *app) runServer(ctx context.Context, target protocol.Target, plan load.Plan, r *runSettings, mistakes error) error {
	if err := a.checkServer(ctx, target, &r.ownServer, plan.Timeout, mistakes); err != nil {
		return err
	}
	o, release, err := a.measuring(a.pins.Placement)
	if err != nil {
		return failed(err)
	}
	defer release()
	o.Opener.VUs, o.Seed, o.Opener.Console = plan.VUs, plan.Seed, bare(a.Err)
	arm := r.ownServer.arm(target, o)
	var wrong error // with the teardown of its script, whose result is whole
	start := arm.Start
	arm.Start = func(ctx context.Context, setup trial.Setup) (*trial.Live, error) {
		live, err := start(ctx, setup)
		if err == nil && script.Of(live.Target) != nil {
			r.drives(live.Target, plan)
			stop := live.Stop
			live.Stop = func(ctx context.Context) error {
				wrong = protocol.Close(live.Target)
				return stop(ctx)
			}
		}
		return live, err
	}
	err = a.run(ctx, target.URL(), plan, r, func(ctx context.Context, plan load.Plan) (trial.Cell, error) {
		return a.measureWarm(ctx, arm, plan, r.pilot(plan, o.Placement.Widen))
	})
	return a.tornDown(ctx, err, wrong)
}

// run drives by the plan, and reports.
func (a *app) run(ctx context.Context, name string, plan load.Plan, r *runSettings, drive func(context.Context, load.Plan) (trial.Cell, error)) error {
	doc := newDocument("run")
	p := a.progress(r.UI)
	told, err := a.tell(&r.outlets, "run", name, p)
	if err != nil {
		return failed(err)
	}
	defer told.end()
	told.follow()
	plan.Progress = func(now load.Progress) {
		p.run(plan, now, name)
		told.progress(now)
	}
	if r.script != nil {
		plan.Until, plan.WholeFlows = r.script.Until(), !expect.CountsAny(r.Expect)
	}
	cell, err := drive(ctx, plan)
	doc.Environment.CPUs = report.PlacedOn(a.pins.process.Layout)
	p.clear()
	aborted, _ := errors.AsType[*load.Abort](err)
	if r.Command != "" {
		doc.Arms = []report.Arm{{Name: "server", Does: r.Command, URL: name}}
	}
	if err != nil && (aborted == nil || cell.Result == nil) {
		return a.unmeasured(ctx, doc, &r.views, failed(err))
	}
	cell.Plan.AllowErrors(expect.AllowedErrors(r.Expect, cell.Planned))
	doc.AddRun(cell.Result)
	if doc.Then(r.next(a, plan, name)); cell.TooShort() {
		doc.Then(report.Step{Purpose: report.MeasureLonger,
			Command: a.again(slices.Concat(ofLength, ofFiles, []string{"--iterations", "-n"}), "-d", setting.Duration(defaultDuration))})
	}
	doc.SettleBy(cmp.Or(a.waiting(cell.Result), a.withEnough(cell.Result)))
	for _, text := range r.claims() {
		doc.Expectations = append(doc.Expectations, expect.Expectation{Text: text})
	}
	doc.Expect()
	err = r.asScript(a.finish(ctx, doc, &r.remembered, nil))
	if said := a.summaries(context.WithoutCancel(ctx), r, cell.Result); said != nil { // also for an interrupted run
		if ctx.Err() != nil {
			return &exitError{exitInterrupted, errors.Join(err, said)}
		}
		return failed(errors.Join(err, said))
	}
	if aborted != nil {
		return failed(aborted)
	}
	return err
}

// next is the command line that goes on after a run: a sweep of what was driven with another
// concurrency or, in the open model, with other rates; or all designs in process.
func (r *runSettings) next(a *app, plan load.Plan, target string) report.Step {
	if r.script != nil {
		return report.Step{} // what a sweep would drive is one load of it
	}
	switch scheme, _, _ := strings.Cut(target, ":"); scheme {
	case "guard", "pipe":
		return report.Step{Purpose: report.AllDesigns, Command: a.typed([]string{scheme})}
	}
	var own []string
	purpose := report.FindBest
	if plan.Pacer != nil {
		own, purpose = []string{"--rate"}, report.FindRate
	}
	own = append(own, r.ownServer.again(&r.fleetOptions)...)
	return report.Step{Purpose: purpose, Command: a.next("sweep", own, r.alike, target)}
}

// waiting is the command line that waits for answers where none came in time, and until the
// timeout; "": some came, or errors.
func (a *app) waiting(r *load.Result) report.Step {
	if r.Completed+r.Wrong() > 0 || r.Planned == 0 || r.Stopped == load.Interrupted {
		return report.Step{}
	}
	wait := cmp.Or(r.Plan.Timeout, slowest*(r.Plan.Duration+r.Plan.Grace))
	return report.Step{Purpose: report.MeasureLonger,
		Command: a.again(slices.Concat(ofLength, ofFiles, []string{"--grace"}), "-d", setting.Duration(2*wait), "--grace", setting.Duration(wait))}
}

// slowest is how many times as long as nothing came an answer is waited for that no timeout ends.
const slowest = 4

// aboutStatus is a claim about the status, which is not a metric.
var aboutStatus = lazyregexp.New(`^\s*status(?:[ _]code)?\s*==?\s*(\d{1,3})\s*$`)

// checkExpected returns what is wrong with the claims: there is one arm, without a name.
func (r *runSettings) checkExpected() error {
	var errs []error
	for _, text := range r.Expect {
		e, err := expect.Parse(text)
		if status := aboutStatus().FindStringSubmatch(text); status != nil {
			errs = append(errs, setting.At(r, &r.Expect).Wrong("is %q, but a status is not a metric; use --expect-status %s to define a successful response", text, status[1]))
		} else if err != nil {
			errs = append(errs, setting.At(r, &r.Expect).Says("is ", errors.Unwrap(err)))
		} else if arms := e.Arms(); len(arms) > 0 {
			errs = append(errs, setting.At(r, &r.Expect).Wrong("is %q, but there is no variant %s here; expected a metric alone, as there is one target", text, arms[0]))
		}
	}
	return errors.Join(errs...)
}

// driveOnce drives a target once by the plan. The server is sampled, where it is found on
// this machine.
func driveOnce(ctx context.Context, opened load.Target, name string, plan load.Plan) (trial.Cell, error) {
	live := &trial.Live{Address: name, Target: opened}
	if address := protocol.At(name).Address(); address != "" {
		live.Find(ctx, address)
	}
	session, err := live.Open(ctx, plan.VUs)
	if err != nil {
		return trial.Cell{}, err
	}
	defer session.Close() // the result is final, whatever a VU reports at its end
	return live.Drive(ctx, session, plan)
}

// openFor opens a target for one plan, and checks whether its server responds; open does so
// for one whose number of VUs is not known yet. Mistakes in its words are reported together
// with those found before; only a server that cannot be reached is not a mistake of usage.
func (a *app) openFor(ctx context.Context, target protocol.Target, plan load.Plan, mistakes error) (load.Target, error) {
	opener, err := a.newOpener()
	if err != nil {
		return nil, failed(err)
	}
	opener.VUs, opener.Seed, opener.OwnCores, opener.Remote = plan.VUs, plan.Seed, a.pins.process.OwnCores(), a.crew.remote()
	opener.Console = bare(a.Err)
	opened, err := opener.Open(ctx, target)
	var unreachable *errkind.Error
	switch {
	case ctx.Err() != nil:
		err = tooEarly()
	case err != nil && !errors.As(err, &unreachable):
		err = usage(errors.Join(mistakes, setting.FlagErrors(err)))
	case mistakes != nil:
		err = usage(mistakes)
	case err != nil:
		err = failed(hinted(err, hint(ctx, target.URL(), trouble{err: err})))
	default:
		a.sayProxy(opener, target)
		err = reach(ctx, target.URL(), opened, plan.Timeout)
	}
	if err != nil {
		protocol.Close(opened)
		return nil, err
	}
	return opened, nil
}

// sayProxy says which proxy a target is asked through here, so that nobody takes its times for the server's.
func (a *app) sayProxy(opener protocol.Opener, target protocol.Target) {
	u, err := url.Parse(target.URL())
	if err != nil || u.Host == "" || opener.Remote != nil {
		return
	}
	if p, _ := opener.Proxy(u); p != nil {
		fmt.Fprintf(a.Err, "contend: requests go through the proxy %v of the environment; set NO_PROXY=%s to bypass it\n", p, u.Hostname())
	}
}

func (a *app) open(ctx context.Context, target protocol.Target, timeout time.Duration, mistakes error) (load.Target, error) {
	return a.openFor(ctx, target, load.Plan{VUs: load.MaxVUs, Timeout: timeout}, mistakes)
}

// reach checks whether the server of a target responds, for at most the timeout
// of its iterations.
func reach(ctx context.Context, url string, opened load.Target, timeout time.Duration) error {
	err := load.Reach(ctx, url, opened, timeout)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return tooEarly()
	}
	return failed(hinted(err, hint(ctx, url, trouble{err: err})))
}

// generatorGC is how much the heap may grow between collections, in per cent:
// a generator allocates much and keeps little, and its CPU is the limit.
const (
	generatorGC = 400
	defaultGC   = 100 // of the Go runtime
)

// newOpener prepares this process for generating load. Libraries that speak to
// servers print what they think of them; here errors are counted instead.
func (a *app) newOpener() (protocol.Opener, error) {
	log.SetOutput(io.Discard)
	if was := debug.SetGCPercent(generatorGC); was != defaultGC {
		debug.SetGCPercent(was) // the user has chosen
	}
	me, err := self()
	return protocol.Opener{Funcs: functions(), Surroundings: wire.Surroundings{Discard: append(me, discardCommand), Env: os.LookupEnv, Environ: os.Environ(), Secrets: a.secrets}}, err
}
