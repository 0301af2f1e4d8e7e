package script

import (
	"sync/atomic"
	"time"

	"contend/load"
)

// usersEvery is how often virtual users are counted, as in k6.
const usersEvery = time.Second

// Users are counted from the beginning of setup to the end of teardown, but not while they are being made.
type users struct {
	settingUp atomic.Bool
	over      chan struct{} // nil: nothing has begun
	ended     chan struct{}
}

// count counts until end is called.
func (u *users) count(t *Target) {
	u.over, u.ended = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(u.ended)
		tick := time.NewTicker(usersEvery)
		defer tick.Stop()
		for {
			select {
			case <-u.over:
				return
			case <-tick.C:
				if u.settingUp.Load() || t.tally.began.Load() != 0 {
					t.meterUsers()
				}
			}
		}
	}()
}

func (u *users) end() {
	if u.over != nil {
		close(u.over)
		<-u.ended
		u.over = nil
	}
}

// meterUsers measures how many virtual users are active, and how many there are.
func (t *Target) meterUsers() {
	readings := []load.Reading{{Meter: &t.meters.known[mVUs].Meter, Value: float64(t.active())}}
	if made := t.tally.users.Load(); made > 0 { // else they are not there yet, or have gone
		readings = append(readings, load.Reading{Meter: &t.meters.known[mVUsMax].Meter, Value: float64(made)})
	}
	t.apart.mu.Lock()
	defer t.apart.mu.Unlock()
	t.apart.flow.Readings = append(t.apart.flow.Readings, readings...)
}

// active is how many virtual users all loads have now.
func (t *Target) active() (n int64) {
	for _, d := range t.loads {
		n += d.active()
	}
	return n
}

// active is how many virtual users a load has now. As long as a closed one begins iterations, these are all that its
// plan has, else those that are within an iteration.
func (d *driven) active() int64 {
	p, began := d.plan, d.began.Load()
	if p == nil || began == 0 || p.Pacer != nil || p.PerVU > 0 || !d.target.around.Share.Whole() {
		return d.within.Load()
	}
	first := d.load.Start
	if p.Callers != nil {
		first = p.Callers.Next(0, 0)
	}
	now := first + time.Since(time.Unix(0, began))
	switch {
	case p.Duration > 0 && now >= p.Warmup+p.Duration || p.Iterations > 0 && d.begun.Load() >= p.Iterations:
		return d.within.Load()
	case p.Callers != nil:
		return int64(p.Callers.At(now))
	}
	return int64(p.VUs)
}
