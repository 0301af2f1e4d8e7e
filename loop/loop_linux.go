package loop

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"contend/load"
)

// Supported reports whether there are event loops on this system, and if not,
// why.
func Supported() (ok bool, why string) { return true, "" }

// A Loop drives the VUs of a Config from one thread. Its methods must not be
// called concurrently.
type Loop struct {
	config  Config
	poller  poller
	links   []connection
	lanes   []*connection // of Fans, but for links
	slots   []slot        // by VU
	buf, in []byte        // what is read; in is its part that one read fills
	out     []byte        // what is to be written next
	lost    error         // why there are no addresses
	// addresses are what connections try, in turn.
	addresses []address
	clear     []byte // what TLS decrypted
	sealed    []byte // what TLS encrypted, to be sent
	aside     []byte // what a lane sends

	roams   bool           // the conversations are Roamers
	tasks   sync.WaitGroup // handshakes and work in goroutines
	shaking int            // handshakes that the loop waits for
	mu      sync.Mutex
	news    []task      // those that have ended since the loop looked last; mu guards it
	stopped atomic.Bool // the run is over
	drive
}

var _ load.Loop = (*Loop)(nil)

// The most that one read takes. On a connection that can skip bytes the first
// read should take little more than the head of an answer.
const (
	readSize     = 64 << 10
	skipperReads = 4 << 10
)

// New makes a loop and opens its connections, unless each iteration is to have
// its own, or is a flow that may never ask for one (Roamer). A connection that cannot be opened, or a name that is unknown, is no
// error: the iteration that needs it tries again and reports it. New spends
// at most about a second on connections, and none after the first failure.
func New(ctx context.Context, c Config) (*Loop, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	l := &Loop{config: c, buf: make([]byte, readSize), slots: make([]slot, len(c.VUs))}
	l.in = l.buf
	if c.TLS != nil {
		l.clear = make([]byte, clearSize)
	}
	if err := l.poller.open(); err != nil {
		return nil, err
	}
	l.addresses, l.lost = resolve(ctx, &c)
	l.arrange()
	if !c.CloseEach && !l.roams && l.lost == nil {
		l.openEarly(ctx)
	}
	return l, ctx.Err()
}

// arrange gives each VU its slot of a connection.
func (l *Loop) arrange() {
	n := l.config.Connections
	if n == 0 || n > len(l.slots) {
		n = len(l.slots)
	}
	l.links = make([]connection, n)
	for i := range l.links {
		k := &l.links[i]
		k.loop, k.id, k.address = l, int32(i), i
		var vus []int
		for j := i; j < len(l.slots); j += n {
			l.slots[j].link, l.slots[j].index, l.slots[j].vu = k, len(k.slots), l.config.VUs[j]
			k.slots = append(k.slots, &l.slots[j])
			vus = append(vus, l.config.VUs[j])
		}
		k.conversation = l.config.New(vus)
		k.canceler, _ = k.conversation.(Canceler)
		k.namer, _ = k.conversation.(Namer)
		k.repeater, _ = k.conversation.(Repeater)
		k.secured, _ = k.conversation.(Secured)
		k.witness, _ = k.conversation.(Witness)
		k.impatient, _ = k.conversation.(Impatient)
		if k.roamer, _ = k.conversation.(Roamer); k.roamer != nil {
			l.roams = true
			k.roamer.Bind(k)
			if fan, ok := k.roamer.(Fan); ok {
				k.lane = fan.Lane(0)
			}
		}
		if l.config.Network == "tcp" && l.config.TLS == nil {
			k.skipper, _ = k.conversation.(Skipper)
		}
		if k.skipper != nil {
			l.in = l.buf[:skipperReads]
		}
	}
}

// openEarly spends earlyTime on connecting earlyBatch connections at a time.
// None may take longer than earlyDial, which a server that does not answer adds
// to the length of a run.
const (
	earlyTime  = time.Second
	earlyDial  = 250 * time.Millisecond
	earlyBatch = 64
)

func (l *Loop) openEarly(ctx context.Context) {
	end := time.Now().Add(earlyTime)
	for first := 0; first < len(l.links); first += earlyBatch {
		batch := l.links[first:min(first+earlyBatch, len(l.links))]
		deadline := time.Now().Add(min(earlyDial, time.Until(end)))
		for i := range batch {
			batch[i].dialEarly(deadline)
		}
		failed := false
		for i := range batch {
			failed = failed || ctx.Err() != nil || !batch[i].openEarly(deadline)
			if failed {
				batch[i].close()
			}
		}
		if failed {
			return
		}
	}
}

// Close closes the connections.
func (l *Loop) Close() error {
	for k := range l.connections() {
		k.close()
	}
	l.dismiss()
	l.poller.close()
	return nil
}
