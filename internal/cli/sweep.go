package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/finding"
	"contend/load"
	"contend/protocol"
	"contend/report"
	"contend/search"
	"contend/setting"
	"contend/sweep"
	"contend/trial"
)

func newSweep(a *app) *cobra.Command {
	s := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep TARGET",
		Short: "Find the best concurrency of a target, or its highest sustainable rate",
		Long: "Measure a target at several levels of concurrency, repeatedly and in random order, and fit the\n" +
			"Universal Scalability Law. Report the concurrency to use with its confidence interval: the\n" +
			"knee, where throughput ÷ response time is highest, or with --within the smallest near the best.\n" +
			"Without --levels, contend doubles the concurrency until throughput falls or stays flat, then adds\n" +
			"levels around the answer. Each level is measured 3 times, and those around the answer until it is\n" +
			"certain. --duration limits the whole sweep.\n\n" +
			"With --rate, find the highest arrival rate (open model) that keeps the objectives: double the rate\n" +
			"until an attempt fails, bisect, and confirm by repetition. The limit is then 1m, or --duration, and\n" +
			"--block is the minimum length of an attempt. Exit codes with --rate:\n" +
			"  0  found, or a lower bound\n" +
			"  3  even the lowest rate or one caller alone fails\n" +
			"  4  no answer",
		Example: indent + "contend sweep ./server\n" +
			indent + "contend sweep http://localhost:8080/status\n" +
			indent + "contend sweep --levels 1,2,4,8,16,32,64 http://localhost:8080/status\n" +
			indent + "contend sweep --command './server -listen {{addr}}' http://{{addr}}/\n" +
			indent + "contend sweep --rate --objective 'p99 < 20ms' http://localhost:8080/status",
		Args:              oneTarget,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.spec.url = args[0]
			if command := toStart(cmd, args); command != "" {
				if err := a.discoverOne(cmd, &s.ownServer, &s.portChoice, &s.spec, s.own, command, &s.views); err != nil {
					return err
				}
			}
			if err := a.scriptOptions(cmd.Context(), &s.spec, s.given, bareScript); err != nil {
				return usage(setting.FlagErrors(err))
			}
			err := errors.Join(setting.FlagErrors(a.withLongEnough(s.check())), a.pins.check("--command", s.Command != ""), setting.FlagErrors(s.fleetOptions.check()))
			subjects := subjectsOf(s.Command)
			if err = errors.Join(err, a.checkSubjects(&s.fleetOptions, subjects)); err == nil {
				if err := a.gatherFor(cmd.Context(), &s.fleetOptions, subjects); err != nil {
					return err
				}
				defer a.crew.close()
			}
			if err := a.checkServer(cmd.Context(), s.spec.target(), &s.ownServer, s.plan.Timeout, err); err != nil {
				return a.unmeasured(cmd.Context(), newDocument("sweep"), &s.views, err)
			}
			if s.Rate {
				return a.findRate(cmd.Context(), s)
			}
			return a.sweep(cmd.Context(), s)
		},
	}
	cmd.SetUsageFunc(usageInGroups)
	s.flags(cmd)
	s.own = optionsOf(cmd, &s.sweepOptions, &a.pins)
	return cmd
}

// checkServer finds the mistakes in the words of a target before anything is
// measured; without a command, also a server that cannot be reached.
func (a *app) checkServer(ctx context.Context, target protocol.Target, server *ownServer, timeout time.Duration, mistakes error) error {
	mistakes = errors.Join(mistakes, server.check(target))
	if server.Command == "" {
		opened, err := a.open(ctx, target, timeout, mistakes)
		protocol.Close(opened)
		return err
	}
	if mistakes != nil {
		return usage(mistakes)
	}
	return nil
}

func (a *app) sweep(ctx context.Context, s *sweepFlags) error {
	vus := slices.Max(append([]int{cmp.Or(s.design.ExtendTo, sweep.DefaultLimit)}, s.design.Levels...))
	return a.sweeping(ctx, s, ahead{vus, s.design.Duration, s.design.Outline()},
		func(arm trial.Arm, doc *report.Document, p *progress) (*trial.TimeUp, error) {
			curve, err := sweep.Run(ctx, arm, s.plan, s.design, func(now sweep.Progress) {
				p.level(now.Progress, func(doc *report.Document) { doc.AddCurve(report.Place{}, now.Curve()) })
			})
			if curve == nil {
				return nil, err
			}
			doc.AddCurve(report.Place{}, curve)
			return curve.TimeUp, err
		})
}

func (a *app) findRate(ctx context.Context, s *sweepFlags) error {
	return a.sweeping(ctx, s, ahead{cmp.Or(s.search.VUs, search.MostVUs), s.search.Duration, s.search.Outline()},
		func(arm trial.Arm, doc *report.Document, p *progress) (*trial.TimeUp, error) {
			found, err := search.Rate(ctx, arm, s.plan, s.search, func(now search.Progress) {
				p.level(now.Progress, func(doc *report.Document) { doc.AddSearch(report.Place{}, &now.Result) })
			})
			if found == nil {
				return nil, err
			}
			doc.AddSearch(report.Place{}, found)
			return found.TimeUp, err
		})
}

// ahead is what is about to be driven.
type ahead struct {
	vus     int // at most
	most    time.Duration
	outline string
}

func (h ahead) String() string {
	if h.most == 0 {
		return h.outline + "; without a limit of time"
	}
	return fmt.Sprintf("%s; at most %s", h.outline, setting.Duration(h.most))
}

// sweeping says what is ahead, measures, and writes the document.
func (a *app) sweeping(ctx context.Context, s *sweepFlags, h ahead,
	measure func(trial.Arm, *report.Document, *progress) (*trial.TimeUp, error)) error {
	o, release, err := a.measuring(a.pins.placing(s.Command != ""))
	if err != nil {
		return failed(err)
	}
	defer release()
	o.Opener.VUs = h.vus
	fmt.Fprintf(a.Err, "sweep: %v\n", h)
	p := a.progress(s.UI)
	p.most = h.most
	told, err := a.tell(&s.outlets, "sweep", s.spec.url, p)
	if err != nil {
		return failed(err)
	}
	s.plan.Progress = func(now load.Progress) { p.update(soFar(now)) }
	doc := newDocument("sweep")
	defer told.endWith(doc)
	if s.Command != "" {
		doc.Arms = []report.Arm{{Name: "server", Does: s.Command, URL: s.spec.url}}
	}
	s.design.Pilot, s.search.Pilot = true, true
	s.design.Widen, s.search.Widen = o.Placement.Widen, o.Placement.Widen
	o.Warn = func(w finding.Warning) { doc.Notes = append(doc.Notes, w.Text) }
	arm := s.ownServer.arm(s.spec.target(), o)
	up, err := measure(arm, doc, p)
	doc.Environment.CPUs = report.PlacedOn(a.pins.process.Layout)
	p.clear()
	if mistake := mistaken(err); mistake != nil {
		return mistake
	}
	if err != nil && ctx.Err() == nil {
		doc.Fail(err)
	}
	doc.Then(s.next(a, doc))
	if up != nil {
		doc.Then(a.longer(up.Needs))
	}
	err = a.finish(ctx, doc, &s.remembered, err)
	if up != nil && !s.page() { // which says it
		fmt.Fprintln(a.Err, "too little time: "+doc.Next)
	}
	return err
}

// next is the command line that goes on after a sweep: a run at what it found or, of a server
// that only lives for it, a search for the highest rate; "" where nothing was found.
func (s *sweepFlags) next(a *app, doc *report.Document) report.Step {
	given := s.spec.given.Over(s.given.Only(ofPlan("pacer"), setting.InFlags))
	for _, c := range doc.Curves {
		switch {
		case c.Recommended() == nil || c.Interrupted:
		case s.Command != "":
			return report.Step{Purpose: report.FindRate,
				Command: a.next("sweep", append([]string{"--rate"}, s.ownServer.again(&s.fleetOptions)...), given, s.spec.url)}
		default:
			return report.Step{Purpose: "measure that level alone",
				Command: a.next("run", append([]string{"-c", strconv.Itoa(int(c.Recommended().N.Value))}, s.fleetOptions.again()...), given, s.spec.url)}
		}
	}
	for _, r := range doc.Searches {
		switch {
		case r.Found == nil:
		case s.Command != "":
			return report.Step{Purpose: report.FindBest, Command: a.next("sweep", s.ownServer.again(&s.fleetOptions), given, s.spec.url)}
		default:
			rate := fmt.Sprintf("%s:%g", r.Design.Arrivals, r.HeldPerSec)
			return report.Step{Purpose: "see the response times at that rate in full",
				Command: a.next("run", append([]string{"--rate", strings.TrimPrefix(rate, "constant:"), "-c", strconv.Itoa(r.Found.Concurrency), "-d", "30s"}, s.fleetOptions.again()...), given, s.spec.url)}
		}
	}
	return report.Step{}
}
