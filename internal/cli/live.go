package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"contend/internal/cpu"
	"contend/internal/secret"
	"contend/load"
	"contend/report"
	"contend/report/page"
	"contend/trial"
)

// progress shows how far something is, also in browsers if there is to be a page.
func (a *app) progress(ui bool) *progress {
	p := newProgress(a.Err)
	p.secrets = a.secrets
	if !ui {
		return p
	}
	live, err := report.Listen(a.typed(a.args))
	if err != nil {
		fmt.Fprintf(a.Err, "no live page: %v\n", err)
		return p
	}
	fmt.Fprintln(a.Err, "page: "+live.Address())
	a.live, p.live = live, live
	return p
}

// untilFetched is how long browsers have to fetch the report.
const untilFetched = 3 * time.Second

// endLive shows the report in the browsers that are connected.
func (a *app) endLive(d *report.Document) error {
	if a.live == nil {
		return nil
	}
	var b bytes.Buffer
	err := d.HTML(&b)
	a.live.End(b.Bytes(), untilFetched)
	a.live = nil
	return err
}

// often is the shortest time between two drawings of a page: a second, less a little for clocks.
const often = 900 * time.Millisecond

// tell has browsers, if there is a page, be sent what is running, and what a document has so far,
// unless that was less than a second ago; nil: what it had before.
func (p *progress) tell(send func(*page.Live, page.Moment), soFar func() *report.Document) {
	if p.live == nil {
		return
	}
	p.mu.Lock()
	elapsed, done, left := p.far()
	m := page.Moment{Done: p.done, What: strings.ReplaceAll(p.secrets.Hide(p.label+p.figures), "  ", " · "),
		Far: strings.Join(slices.DeleteFunc([]string{elapsed, done, left}, func(s string) bool { return s == "" }), ", ")}
	draw := soFar != nil && p.live.Watched() && time.Since(p.drawn) >= often
	if draw {
		p.drawn = time.Now()
	}
	p.mu.Unlock()
	if draw {
		m.Figures = secret.In(soFar(), p.secrets.Hide).UnderWay()
	}
	send(p.live, m)
}

// between is show at a time when nothing is measured: only then do browsers get updates, at most
// once a second.
func (p *progress) between(done float64, label string, soFar func() *report.Document) {
	p.put(done, label)
	if time.Since(p.paused) >= often {
		p.paused = time.Now()
		p.tell((*page.Live).ShowBetween, soFar)
	}
	p.told.between(soFar)
}

// A drawing is what browsers are shown of a run, made while it goes on. It takes its time from the
// generator.
type drawing struct {
	sync.Mutex               // held while one is made
	begun      time.Time     // of the last one
	took       time.Duration // that
	used       time.Duration // CPU time of this process until then
}

// A drawing takes at most a hundredth of what the generator uses, or comes after so long.
const (
	shareOfDrawings = 100
	seldom          = 10 * time.Second
)

// due reports whether the next one may begin, and that it does.
func (d *drawing) due() bool {
	used, _ := cpu.Time()
	if time.Since(d.begun) < seldom && used-d.used < shareOfDrawings*d.took {
		return false
	}
	d.begun, d.used = time.Now(), used
	return true
}

// run shows what a run has come to so far.
func (p *progress) run(plan load.Plan, now load.Progress, name string) {
	p.show(plan.Done(now), soFar(now)+"  "+name)
	d := &p.drawing
	if p.live == nil || now.Last || !p.live.Watched() || !d.TryLock() {
		return
	}
	if !d.due() {
		d.Unlock()
		return
	}
	r := &load.Result{Target: name, Model: plan.Model(), Concurrency: plan.VUs, Plan: plan, Duration: now.Measured,
		ThroughputPerSec: float64(now.Ops) / max(1, now.Measured.Seconds()), Counts: load.Counts{Course: now.Course()}}
	go func() {
		defer d.Unlock()
		p.tell((*page.Live).Show, func() *report.Document {
			return &report.Document{Command: "run", Results: []report.Result{{Cell: trial.Cell{Result: r}}}}
		})
		d.took = time.Since(d.begun)
	}()
}

// level is show before a level of a sweep, or an attempt of a search, with what there is so far.
func (p *progress) level(now trial.Progress, add func(*report.Document)) {
	p.put(now.Done, now.Label)
	soFar := func() *report.Document {
		doc := &report.Document{Command: "sweep"}
		add(doc)
		return doc
	}
	p.tell((*page.Live).Show, soFar)
	p.told.between(soFar)
}

// follow shows the progress of trials, the time that follows them, and what the rounds of one
// show so far, with what the document has of others.
func (p *progress) follow(now trial.Progress, what string, then time.Duration, doc *report.Document) {
	p.mu.Lock()
	p.left = now.Left
	if now.Left > 0 {
		p.left += then
	}
	p.mu.Unlock()
	label := now.Label
	if what != "" {
		label = what + ": " + label
	}
	switch {
	case !now.Between:
		p.put(now.Done, label)
	case now.Trials == nil:
		p.between(now.Done, label, nil)
	default:
		p.between(now.Done, label, func() *report.Document {
			soFar := *doc
			soFar.Add(report.Place{}, now.Trials())
			return &soFar
		})
	}
}
