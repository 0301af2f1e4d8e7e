package fleet

import (
	"context"
	"encoding/json"
	"time"

	"contend/internal/cpu"
	"contend/pace"
)

// A measuring is what a worker finds out about itself, from a moment on: how much of its machine
// others use, and how much it can send.
type measuring struct {
	Begin time.Duration `json:"begin_ns"` // by the worker's clock
	Idle  time.Duration `json:"idle_ns"`  // how long it looks at what others use
}

// Measured is what a worker found.
type Measured struct {
	BeganLate time.Duration `json:"began_late_ns"` // after the moment that was ordered
	// Elsewhere is the share of its machine's CPU time that others used, 0 to 1; also 0 if not known.
	Elsewhere float64 `json:"elsewhere"`
	// LimitPerSec is how many requests a second it can send; 0: not known, because of Unmeasured.
	LimitPerSec float64 `json:"limit_per_s"`
	Unmeasured  string  `json:"unmeasured,omitempty"`
}

// measure measures the worker, and returns what it found as it is sent.
func (s *session) measure(ctx context.Context, w *worker, o *measuring) []byte {
	at := w.base.Add(o.Begin)
	waiter, _ := pace.NewWaiter(ctx, pace.Precise)
	defer waiter.Close()
	waiter.Wait(time.Until(at))
	found := Measured{BeganLate: max(0, time.Since(at))}
	before := cpu.Read(nil)
	waiter.Wait(o.Idle)
	if used := cpu.Read(nil).Since(before); used.Cores > 0 && o.Idle > 0 {
		found.Elsewhere = min(1, max(0, (used.Machine-used.Process).Seconds())/(float64(used.Cores)*o.Idle.Seconds()))
	}
	if w.host.Limit == nil {
		found.Unmeasured = "it has no means to"
		return encode(found)
	}
	var err error
	if found.LimitPerSec, err = w.host.Limit(ctx); err != nil {
		found.LimitPerSec, found.Unmeasured = 0, err.Error()
	}
	s.limit = found.LimitPerSec
	return encode(found)
}

// mostMeasuring bounds how long workers may take to measure themselves.
const mostMeasuring = time.Minute

// measure has workers measure themselves, all from the same moment on, and hands on what each found.
func (f *Fleet) measure(ctx context.Context, workers []Worker, idle time.Duration, clocks []clock, found func(i int, m Measured, err error)) {
	ctx, cancel := context.WithTimeout(ctx, mostMeasuring)
	defer cancel()
	d := newDrive(f, workers, nil)
	defer d.Close()
	opening := f.begin(d.session, nil)
	begin := f.now() + lead + time.Duration(len(workers))*leadEach
	for _, c := range clocks {
		begin = max(begin, f.now()+lead+2*c.bound)
	}
	_ = d.each(func(i int, w Worker) error {
		own := opening
		own.Measure = &measuring{Begin: begin + clocks[i].ahead, Idle: idle}
		said, err := f.ask(ctx, w.ID, &order{Session: d.session, Number: d.number, Open: &own})
		var m Measured
		if err == nil {
			err = json.Unmarshal(said.content, &m)
		}
		found(i, m, err)
		return nil
	})
}
