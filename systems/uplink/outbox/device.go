package outbox

import (
	"math"

	"contend/systems/uplink/lorawan"
)

// The shortest and the longest challenge, in entries, as the published
// specification of the service has them.
const (
	MinChallenge = 2
	MaxChallenge = 4096
)

const (
	// longChallenge and maxUnanswered: while a device's challenge is longer, no
	// more of its messages are unanswered, since each takes up to 44 kB as JSON.
	longChallenge = 64
	maxUnanswered = 64
)

// TrustConfig is how a customer's answers change the length of challenges.
type TrustConfig struct {
	// Start is the length of a new device's challenge; 0: MaxChallenge. It is
	// brought into the range from MinChallenge to MaxChallenge.
	Start int `flag:"trust-start" default:"4096" min:"2" max:"4096" words:"*entries* of a new device's MIC challenge"`
	// Reduce has a missing answer double the next challenge; the published
	// benchmark calls it trust reduction, and has it on and off.
	Reduce bool
	// FailureLimit is how many wrong solutions in succession a device may have before
	// it is suspended; 0: 50.
	FailureLimit int
	// Initial gives what was saved of a device that the outbox does not know yet, with
	// the size 0 if nothing was; nil: nothing was of any. It is called with the outbox
	// locked.
	Initial func(lorawan.EUI) Trust
	// Exists reports whether a device still has the row; nil: each has. It is called with the outbox
	// locked.
	Exists func(Candidate) bool
}

// A Trust is what is saved of a device: the length of its next challenge, and with which
// address it last solved one, where that is new.
type Trust struct {
	Size      int
	Proven    lorawan.DevAddr
	HasProven bool
}

func (c *TrustConfig) setDefaults() {
	setDefault(&c.Start, MaxChallenge)
	setDefault(&c.FailureLimit, 50)
	c.Start = int(clampSize(c.Start))
}

func clampSize(n int) uint16 { return uint16(max(MinChallenge, min(n, MaxChallenge))) }

// A device is what the outbox knows about one, with those of its messages that
// wait: its lane. A lane with messages is either among the ready ones, or waits
// for a device that is full.
type device struct {
	Candidate
	queue list
	// waitsFor is the full device for which the lane waits, aside the first of the
	// lanes that wait for this device, nextAside the one after this lane.
	waitsFor, aside, nextAside *device

	index      int // among the ready lanes, from 1; 0: not among them
	unanswered int32
	size       uint16
	failures   uint16 // wrong solutions since the last right one
	suspended  bool
	changed    bool // since the last Trust
	hasProven  bool
	newProof   bool            // since the last Trust
	proven     lorawan.DevAddr // with which it last solved a challenge
}

// device returns what is known of a candidate. Messages of an earlier row keep what
// was known of that one.
func (o *Outbox) device(c Candidate) *device {
	d := o.devices[c.DevEUI]
	if d == nil || d.Created != c.Created {
		d = o.newDevice(c)
		o.devices[c.DevEUI] = d
		o.forgetGone()
	}
	return d
}

// forgetGone looks at two of the known devices, in no order, and forgets those whose rows are gone. Each new device
// does that, so about half of those that are known have rows, at least. Messages keep their devices.
func (o *Outbox) forgetGone() {
	looked := 0
	for eui, d := range o.devices {
		if looked == 2 || o.config.Trust.Exists == nil {
			return
		}
		looked++
		if !o.config.Trust.Exists(d.Candidate) {
			delete(o.devices, eui)
		}
	}
}

func (o *Outbox) newDevice(c Candidate) *device {
	d := &device{Candidate: c, size: uint16(o.config.Trust.Start)}
	if initial := o.config.Trust.Initial; initial != nil {
		saved := initial(c.DevEUI)
		d.proven, d.hasProven = saved.Proven, saved.HasProven
		if saved.Size > 0 {
			d.size = clampSize(saved.Size)
		}
	}
	return d
}

// full says that no further message of the device may be unanswered.
func (d *device) full() bool {
	return d.size > longChallenge && d.unanswered >= maxUnanswered
}

// solved is a right answer: half the challenge.
func (o *Outbox) solved(d *device) {
	d.failures = 0
	o.resize(d, int(d.size)/2)
}

// A Suspension is of a device with too many wrong solutions.
type Suspension struct {
	Candidate
	Failures int // wrong solutions in succession
}

// failed is a wrong solution: a challenge four times as long.
func (o *Outbox) failed(d *device, out *settled) {
	o.resize(d, 4*int(d.size))
	if d.failures < math.MaxUint16 {
		d.failures++
	}
	if int(d.failures) > o.config.Trust.FailureLimit && !d.suspended {
		d.suspended = true
		o.stats.Suspensions++
		out.suspended = append(out.suspended, Suspension{d.Candidate, int(d.failures)})
	}
}

func (o *Outbox) resize(d *device, n int) {
	size := clampSize(n)
	if size == d.size {
		return
	}
	d.size = size
	o.note(d)
}

// note has Trust return what is known of the device.
func (o *Outbox) note(d *device) {
	if !d.changed {
		d.changed = true
		o.changed = append(o.changed, d)
	}
}

// Trust returns what changed since the last call, to be saved for Initial. A caller that
// cannot save it keeps it for the next time.
func (o *Outbox) Trust() map[Candidate]Trust {
	o.mu.Lock()
	defer o.mu.Unlock()
	trust := make(map[Candidate]Trust, len(o.changed))
	for _, d := range o.changed {
		is := Trust{Size: int(d.size)}
		if d.newProof {
			is.Proven, is.HasProven = d.proven, true
		}
		d.changed, d.newProof = false, false
		trust[d.Candidate] = is
	}
	o.changed = nil
	return trust
}
