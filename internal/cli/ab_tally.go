package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"contend/errkind"
	"contend/load"
	"contend/protocol/http"
	"contend/report/abform"
)

// An abTally counts what the form shows and the result does not have. It is
// called for one iteration at a time.
type abTally struct {
	job    *abJob
	target *http.Target
	stop   context.CancelCauseFunc
	times  *abform.Times
	log    io.Writer
	every  int64 // requests between lines of progress; 0: none
	began  time.Time

	done, answers, errored int64
	connects               int64 // answers that a new connection was made for
	otherLength            int64
	length                 int64 // of the first answer; -1: none yet
	unconnected            int64
	streak                 int // timeouts without an answer between them
}

func newABTally(job *abJob, target *http.Target, stop context.CancelCauseFunc) *abTally {
	return &abTally{job: job, target: target, stop: stop, times: abform.NewTimes(job.gnuplot != ""), length: -1}
}

// edge notes when the run began.
func (t *abTally) edge(e load.Edge) {
	if e == load.WindowOpens {
		t.began = time.Now()
	}
}

func (t *abTally) add(s load.Sample) {
	t.done++
	if t.every > 0 && t.done%t.every == 0 {
		fmt.Fprintf(t.log, "Completed %d requests\n", t.done)
	}
	if s.Err != nil {
		t.failed(s.Err)
	} else {
		t.answered(&s.Outcome)
	}
	if t.job.form.Strict || s.Err == nil && !s.Outcome.Failed {
		t.times.Add(s)
	}
}

func (t *abTally) answered(out *load.Outcome) {
	t.answers++
	t.streak = 0
	if out.Phases.Connect > 0 {
		t.connects++
	}
	if t.length < 0 {
		if first, ok := t.target.First(); ok {
			t.length = first.BodyLength
		}
	}
	if out.BodyIn != t.length && !t.job.form.VariableLength {
		t.otherLength++
	}
}

// An abGaveUp ended a run that would have gone nowhere.
type abGaveUp struct {
	what  string
	first error
}

func (e *abGaveUp) Error() string {
	return fmt.Sprintf("test aborted after %s (use -r to continue): %v", e.what, e.first)
}

// abMaxFailures is how many connections ab lets fail before the first answer.
const abMaxFailures = 10

// failed ends the run where ab ends it, unless -r is given: when more than ten
// requests found no connection before the first answer, and when all virtual
// users have waited for the timeout in vain.
func (t *abTally) failed(err error) {
	t.errored++
	switch errkind.Of(err) {
	case errkind.Timeout:
		t.streak++
	case errkind.DNS, errkind.Dial, errkind.PortsExhausted, errkind.Refused:
		t.unconnected++
	case errkind.Closed, errkind.Stale:
		if t.length > 0 && !t.job.form.VariableLength {
			t.otherLength++ // an empty one, to ab
		}
	}
	switch {
	case t.job.patient:
	case t.streak >= t.job.plan.VUs:
		t.stop(&abGaveUp{"a timeout of every connection", err})
	case t.answers == 0 && t.unconnected > abMaxFailures:
		t.stop(&abGaveUp{fmt.Sprintf("%d failures", abMaxFailures), err})
	}
}

// form fills the report.
func (t *abTally) form(result *load.Result) *abform.Form {
	form := t.job.form
	form.Result, form.Times, form.OtherLength, form.KeptAlive = result, t.times, t.otherLength, t.kept()
	if first, ok := t.target.First(); ok {
		form.Server, form.Length, form.TLS, form.TempKey = first.Server, first.BodyLength, first.TLS, first.TempKey
	}
	return &form
}

// kept returns after how many answers the connection was kept: all but those
// whose successor had to connect although nothing had broken off. Where every
// successor had to, the last ones, which have none, were not kept either.
func (t *abTally) kept() int64 {
	closed := max(0, t.connects-t.errored)
	if closed > 0 && closed >= t.answers-int64(t.job.plan.VUs) {
		return 0
	}
	return t.answers - closed
}
