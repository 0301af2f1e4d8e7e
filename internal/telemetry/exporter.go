package telemetry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// An Exporter sends readings to a collector, again and again. Each export has everything up to
// then, so that nothing is missing once one has arrived; with Config.Delta it has what came
// since the last that arrived. What a collector does neither slows nor ends what is measured.
// Show may be called while the Exporter follows; else its methods are for one goroutine.
type Exporter struct {
	config Config
	client client
	warn   func(string)
	begun  time.Time

	mu     sync.Mutex
	latest []Reading
	shown  chan struct{} // holds one while there are others

	// Used by one goroutine at a time:
	last     told // that arrived
	due      time.Time
	inRow    int  // turns that failed, one after another
	met      bool // the collector has taken an export, or said when it would
	stats    Stats
	stopping chan struct{}
	stopped  chan struct{}
}

// Stats are what became of the exports.
type Stats struct {
	Sent, Failed int
	Rejected     int64 // points that the collector refused in exports that arrived
	Last         bool  // the last one arrived
	Cause        string
}

// Limits of what a collector may take.
const (
	turnLimit  = 5 * time.Second        // of an export
	gapLimit   = 250 * time.Millisecond // of one between blocks
	flushLimit = 10 * time.Second       // of the last, with all attempts,
	stranger   = 2 * time.Second        // and if nobody answered before
	mostWait   = 30 * time.Second       // between turns that fail
)

// NewExporter makes one that warns once, when a turn fails. It does not connect yet.
func NewExporter(c Config, warn func(string)) (*Exporter, error) {
	client, err := newClient(&c)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &Exporter{config: c, client: client, warn: warn, begun: now, shown: make(chan struct{}, 1), last: told{at: now}}, nil
}

// Show hands in readings that take the place of all before.
func (e *Exporter) Show(readings []Reading) {
	e.mu.Lock()
	e.latest = readings
	e.mu.Unlock()
	select {
	case e.shown <- struct{}{}:
	default: // it is not yet taken
	}
}

func (e *Exporter) take() []Reading {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.latest
}

// Follow sends what is shown, at each turn, until End.
func (e *Exporter) Follow() {
	e.stopping, e.stopped = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(e.stopped)
		for {
			select {
			case <-e.shown:
			case <-e.stopping:
			}
			if e.isEnding() {
				return // End sends it
			}
			e.onTime(turnLimit)
		}
	}()
}

func (e *Exporter) isEnding() bool {
	select {
	case <-e.stopping:
		return true
	default:
		return false
	}
}

// onTime takes a turn, if it is time for one: about, as what is shown every second comes a little
// early at times.
func (e *Exporter) onTime(limit time.Duration) {
	if now := time.Now(); now.Add(min(e.config.Every, time.Second) / 4).After(e.due) {
		e.due = now.Add(e.turn(limit))
	}
}

// Between sends readings at once, while nothing is measured, if it is time for a turn. It
// returns within a quarter of a second.
func (e *Exporter) Between(readings []Reading) {
	e.Show(readings)
	e.onTime(gapLimit)
}

// turn sends what there is, and returns how long it is until the next one.
func (e *Exporter) turn(limit time.Duration) time.Duration {
	err := e.send(context.Background(), e.take(), limit)
	if err == nil {
		e.inRow = 0
		return e.config.Every
	}
	wait := min(mostWait, e.config.Every<<min(e.inRow, 10))
	e.inRow++
	if r, ok := errors.AsType[*refusal](err); ok {
		wait = max(wait, min(r.after, mostWait))
	}
	return wait
}

// send makes one attempt.
func (e *Exporter) send(ctx context.Context, readings []Reading, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	from := told{at: e.begun}
	if e.config.Delta {
		from = e.last
	}
	m := message{config: &e.config, readings: readings, from: from, now: told{at: time.Now()}}
	export, now := m.export()
	answer, err := e.client.send(ctx, export)
	e.stats.Sent++
	r, _ := errors.AsType[*refusal](err)
	e.met = e.met || err == nil || r != nil && r.after > 0
	if e.stats.Last = err == nil; err != nil {
		e.stats.Failed++
		if e.stats.Cause == "" || limit == turnLimit || ctx.Err() == nil { // one cut short says less than that before it
			e.stats.Cause = cause(err)
		}
		if e.stats.Failed == 1 {
			e.warn(fmt.Sprintf("OpenTelemetry: %s: %s. What is measured does not wait for it; it is tried again", e.config.Collector, e.stats.Cause))
		}
		return err
	}
	e.last = now
	if partial := answer.GetPartialSuccess(); partial.GetRejectedDataPoints() > 0 {
		e.stats.Rejected += partial.GetRejectedDataPoints()
		e.stats.Cause = cause(errors.New(partial.GetErrorMessage()))
	}
	return nil
}

// End sends the last readings, again and again until they arrive, closes the Exporter and
// returns what became of all exports. It takes at most 10 s, and 2 s if no collector was
// reached.
func (e *Exporter) End() Stats {
	if e.stopping != nil {
		close(e.stopping)
		<-e.stopped
	}
	defer e.client.Close()
	begun := time.Now()
	readings := e.take()
	for wait := 100 * time.Millisecond; len(readings) > 0; wait = min(2*wait, time.Second) {
		left := e.patience() - time.Since(begun)
		err := e.send(context.Background(), readings, min(left, turnLimit))
		pause := wait
		if r, ok := errors.AsType[*refusal](err); ok {
			if pause = max(pause, r.after); !r.again {
				break
			}
		}
		if err == nil || pause >= e.patience()-time.Since(begun) {
			break
		}
		time.Sleep(pause)
	}
	return e.stats
}

// patience is how long the last export is tried.
func (e *Exporter) patience() time.Duration {
	if e.met {
		return flushLimit
	}
	return stranger
}

// String says what did not arrive; "": nothing.
func (s Stats) String() string {
	switch {
	case s.Failed == 0 && s.Rejected == 0:
		return ""
	case s.Failed == 0:
		return fmt.Sprintf("OpenTelemetry: the collector refused %d points: %s", s.Rejected, s.Cause)
	case s.Last:
		return fmt.Sprintf("OpenTelemetry: %d of %d exports were lost; the last arrived, so nothing is missing in sum", s.Failed, s.Sent)
	}
	return fmt.Sprintf("OpenTelemetry: %d of %d exports were lost, the last one too: %s", s.Failed, s.Sent, s.Cause)
}
