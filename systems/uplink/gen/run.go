package gen

import (
	"context"
	"fmt"
	"math"
	"time"

	"contend/hist"
	"contend/internal/cpu"
	"contend/pace"
	"contend/systems/uplink/message"
)

// A Result is what was generated, as far as it was taken.
type Result struct {
	Mode  Mode   `json:"mode"`
	Pacer string `json:"pacer,omitempty"`
	Seed  uint64 `json:"seed"`
	Counts
	Writes int64 `json:"writes"`
	// Duration is from the beginning to the end of the last write; of Batch, the
	// pauses are in it.
	Duration time.Duration `json:"duration_ns"`
	// PacePerSec is Uplinks ÷ Duration.
	PacePerSec float64 `json:"pace_per_s"`
	// StartLag is how much later than planned the writes of the uplinks began, of
	// Rate, and WriteTime how long the writes took.
	StartLag  *hist.Histogram `json:"start_lag_ns,omitempty"`
	WriteTime *hist.Histogram `json:"write_ns"`
	// CPUSec is the CPU time of the process; 0: not known.
	CPUSec      float64 `json:"cpu_s"`
	Interrupted bool    `json:"interrupted,omitempty"`
}

// A run is one execution of a Config.
type run struct {
	*maker
	result   *Result
	start    time.Time
	reported int64
}

// Run generates what the configuration says, and at last the end marker. If ctx
// ends before, the result says so and is what had been taken until then; so is
// one that comes with the error of Add.
func Run(ctx context.Context, c Config) (*Result, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	r := &run{
		maker: newMaker(c), start: time.Now(),
		result: &Result{Mode: c.Mode, Seed: c.Seed, WriteTime: hist.New()},
	}
	before, _ := cpu.Time()
	err := r.generate(ctx)
	r.result.Duration = time.Since(r.start)
	if err == nil {
		r.end(time.Now())
		err = r.write(ctx)
	}
	c.Progress(r.result.Uplinks, r.total)
	used, _ := cpu.Time()
	r.result.CPUSec = (used - before).Seconds()
	r.result.PacePerSec = float64(r.result.Uplinks) / r.result.Duration.Seconds()
	if ctx.Err() != nil {
		r.result.Interrupted = true
		return r.result, nil
	}
	if err != nil {
		return r.result, fmt.Errorf("gen: %w", err)
	}
	return r.result, nil
}

func (r *run) generate(ctx context.Context) error {
	switch r.config.Mode {
	case Batch:
		return r.batches(ctx)
	case Rate:
		return r.paced(ctx)
	default:
		return r.flat(ctx)
	}
}

// flat makes as many uplinks as one write takes, and writes them.
func (r *run) flat(ctx context.Context) error {
	for r.made < r.total {
		for r.made < r.total && len(r.list) < r.config.PerWrite {
			r.make(message.Stamp{At: time.Now()})
		}
		if err := r.write(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) batches(ctx context.Context) error {
	pause, _ := pace.NewWaiter(ctx, pace.Runtime)
	defer pause.Close()
	for i := range r.config.Batches {
		if i > 0 && !pause.Wait(r.config.Delay) {
			return ctx.Err()
		}
		for range r.config.N {
			r.make(message.Stamp{At: time.Now()})
		}
		if err := r.write(ctx); err != nil {
			return err
		}
	}
	return nil
}

// paced writes what is due, together, since the write before may have taken long.
func (r *run) paced(ctx context.Context) error {
	r.result.Pacer, r.result.StartLag = r.config.Pacer.String(), hist.New()
	r.total = r.planned()
	r.start = time.Now()
	pause, _ := pace.NewWaiter(ctx, r.config.Timer)
	defer pause.Close()
	schedule := r.config.Pacer.Schedule(r.config.Seed)
	due := schedule.Next()
	for r.made < r.total {
		if !pause.Wait(due - time.Since(r.start)) {
			return ctx.Err()
		}
		now := time.Since(r.start)
		for r.made < r.total && due <= now && len(r.list) < r.config.PerWrite {
			lag := now - due
			r.make(message.Stamp{At: r.start.Add(due), Lag: lag, HasLag: true})
			r.result.StartLag.Record(lag)
			due = schedule.Next()
		}
		if err := r.write(ctx); err != nil {
			return err
		}
	}
	return nil
}

// planned returns how many uplinks there will be: a pacer may plan fewer than N.
func (r *run) planned() int64 {
	schedule := r.config.Pacer.Schedule(r.config.Seed)
	for n := range r.total {
		if schedule.Next() == math.MaxInt64 {
			return n
		}
	}
	return r.total
}

// write hands the list over and begins a new one.
func (r *run) write(ctx context.Context) error {
	for list := r.list; len(list) > 0; {
		n := min(len(list), r.config.PerWrite)
		began := time.Now()
		if err := r.config.Add(ctx, list[:n]); err != nil {
			return err
		}
		r.result.WriteTime.Record(time.Since(began))
		r.result.Writes++
		list = list[n:]
	}
	r.list = r.list[:0]
	r.result.Counts = r.counts
	if step := max(1, r.total/200); r.counts.Uplinks-r.reported >= step {
		r.reported = r.counts.Uplinks
		r.config.Progress(r.reported, r.total)
	}
	return nil
}
