package outbox

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// A model is the outbox as its description has it, in slices and without care for
// speed.
type model struct {
	config  Config
	devices map[lorawan.EUI]*modelDevice
	waiting []*modelMessage
	conns   []*modelConn
	all     []*modelMessage
	guests  map[lorawan.DevAddr]*guest
}

type modelDevice struct {
	Candidate
	size, failures, unanswered int
	suspended                  bool
	proven                     lorawan.DevAddr // 0: nowhere
}

type modelConn struct {
	conn *Conn
	held []*modelMessage // in order of sending
}

type modelMessage struct {
	uplink    *message.Uplink
	devices   []*modelDevice
	upstream  message.Upstream // as first delivered
	addr      lorawan.DevAddr  // 0: none
	guest     bool             // unless a device proves itself
	bytes     int
	size      int // of the challenge
	put, sent time.Duration
	first     time.Duration // when it was sent first
	outcome   []Outcome
}

func newModel(config Config) *model {
	return &model{config: config, devices: map[lorawan.EUI]*modelDevice{}, guests: map[lorawan.DevAddr]*guest{}}
}

func (m *model) device(c Candidate) *modelDevice {
	if d := m.devices[c.DevEUI]; d == nil || d.Candidate != c {
		m.devices[c.DevEUI] = &modelDevice{Candidate: c, size: m.config.Trust.Start}
	}
	return m.devices[c.DevEUI]
}

func (m *model) settle(msg *modelMessage, outcome Outcome) {
	is := func(other *modelMessage) bool { return other == msg }
	m.waiting = slices.DeleteFunc(m.waiting, is)
	for _, c := range m.conns {
		if slices.Contains(c.held, msg) {
			c.held = slices.DeleteFunc(c.held, is)
			msg.eachDevice(func(d *modelDevice) { d.unanswered-- })
		}
	}
	msg.outcome = append(msg.outcome, outcome)
}

func (m *modelMessage) eachDevice(do func(*modelDevice)) {
	for _, d := range m.devices {
		do(d)
	}
}

// euis are what the customer sees of the devices.
func (m *modelMessage) euis() (list []lorawan.EUI) {
	m.eachDevice(func(d *modelDevice) { list = append(list, d.DevEUI) })
	return list
}

func (m *model) unanswered() (n int) {
	for _, c := range m.conns {
		n += len(c.held)
	}
	return n
}

func (m *model) bytes() (n int) {
	for _, msg := range m.all {
		if msg.outcome == nil {
			n += msg.bytes
		}
	}
	return n
}

// narrow takes suspended devices from a message, and reports whether any is left.
func (m *model) narrow(msg *modelMessage) bool {
	left := slices.DeleteFunc(slices.Clone(msg.devices), func(d *modelDevice) bool { return d.suspended })
	if len(left) > 0 && msg.upstream.Transaction == 0 {
		msg.devices = left
	}
	return len(left) > 0
}

func (m *model) put(msg *modelMessage) {
	m.all = append(m.all, msg)
	if !m.narrow(msg) {
		m.settle(msg, DroppedSuspended)
		return
	}
	m.waiting = append(m.waiting, msg)
	for len(m.waiting)+m.unanswered() > m.config.MaxMessages || m.bytes() > m.config.MaxBytes {
		m.overflow()
	}
}

func (m *model) overflow() {
	if len(m.waiting) >= m.unanswered() {
		m.settle(m.waiting[0], DroppedOverflow)
		return
	}
	var oldest *modelMessage
	for _, c := range m.conns {
		if len(c.held) > 0 && (oldest == nil || c.held[0].sent < oldest.sent) {
			oldest = c.held[0]
		}
	}
	m.settle(oldest, DroppedOverflow)
}

// giveUp drops the messages that were sent first, up to a moment, and returns how many.
func (m *model) giveUp(n int, until time.Duration) int {
	for i := range n {
		var oldest *modelMessage
		for _, c := range m.conns {
			if len(c.held) > 0 && (oldest == nil || c.held[0].sent < oldest.sent) {
				oldest = c.held[0]
			}
		}
		if len(m.waiting) > 0 && m.waiting[0].upstream.Transaction != 0 && (oldest == nil || m.waiting[0].sent < oldest.sent) {
			oldest = m.waiting[0]
		}
		if oldest == nil || oldest.sent > until {
			return i
		}
		m.settle(oldest, DroppedOverflow)
	}
	return n
}

// withdraw takes out what waits: what was sent, or what was put up to a moment and was not.
func (m *model) withdraw(sent bool, until time.Duration) (uplinks []*message.Uplink) {
	m.waiting = slices.DeleteFunc(m.waiting, func(msg *modelMessage) bool {
		wanted := sent == (msg.upstream.Transaction != 0) && (sent || msg.put <= until)
		if wanted {
			uplinks = append(uplinks, msg.uplink)
			msg.outcome = []Outcome{} // none, and it is gone
			if g := m.guests[msg.addr]; sent && msg.guest && g != nil && g.first > 0 && g.first < 21 && g.lost < 20 {
				g.first, g.lost = g.first-1, g.lost+1
			}
		}
		return wanted
	})
	return uplinks
}

// take is what the connection has to get.
func (m *model) take(c *modelConn, limit int, now time.Duration) (taken []*modelMessage) {
	aside := map[*modelDevice]bool{}
	entries := 0
	for _, msg := range slices.Clone(m.waiting) {
		if len(taken) == limit || entries >= maxEntries {
			break
		}
		full := m.undecided(msg)
		msg.eachDevice(func(d *modelDevice) { full = full || d.size > 64 && d.unanswered >= 64 })
		if full || aside[msg.devices[0]] {
			aside[msg.devices[0]] = true
			continue
		}
		if !m.narrow(msg) {
			m.settle(msg, DroppedSuspended)
			continue
		}
		if !m.admit(msg, now) {
			m.settle(msg, Withheld)
			continue
		}
		m.waiting = slices.DeleteFunc(m.waiting, func(other *modelMessage) bool { return other == msg })
		msg.eachDevice(func(d *modelDevice) { d.unanswered++ })
		msg.sent = now
		c.held = append(c.held, msg)
		taken = append(taken, msg)
		if msg.upstream.Transaction == 0 {
			msg.size, msg.first = m.challenge(msg), now
		}
		entries += msg.size
	}
	return taken
}

// strange reports whether a message that was not sent is one for a guest, and looks up what
// is known of that.
func (m *model) strange(msg *modelMessage) *guest {
	if msg.upstream.Transaction != 0 {
		return nil
	}
	msg.eachDevice(func(d *modelDevice) {
		if d.proven == msg.addr && !d.suspended {
			msg.guest = false
		}
	})
	if !msg.guest {
		return nil
	}
	if m.guests[msg.addr] == nil {
		m.guests[msg.addr] = new(guest)
	}
	return m.guests[msg.addr]
}

func (m *model) undecided(msg *modelMessage) bool {
	g := m.strange(msg)
	return g != nil && g.first == 20 && msg.devices[0].unanswered > 0
}

func (m *model) admit(msg *modelMessage, now time.Duration) bool {
	g := m.strange(msg)
	switch {
	case g == nil:
		return true
	case g.first < 20:
		g.last, g.skipped, g.first = now, 0, g.first+1
	case g.skipped == 9 || now-g.last >= time.Minute:
		g.last, g.skipped, g.first = now, 0, 21
	default:
		g.first, g.skipped = 21, g.skipped+1
		return false
	}
	return true
}

// prove is a right solution, or a wrong one, of a message with an address.
func (m *model) prove(d *modelDevice, msg *modelMessage) {
	if msg.addr == 0 || d.proven == msg.addr {
		return
	}
	if g := m.guests[msg.addr]; msg.guest && g != nil {
		if g.owed > 0 {
			g.owed, g.paid = g.owed-1, min(10, g.paid+1)
			return
		}
		delete(m.guests, msg.addr)
	}
	d.proven = msg.addr
}

func (m *model) owe(msg *modelMessage) {
	if !msg.guest {
		return
	}
	if m.guests[msg.addr] == nil {
		m.guests[msg.addr] = new(guest)
	}
	m.guests[msg.addr].owed = min(3, m.guests[msg.addr].owed+1)
}

func (m *model) challenge(msg *modelMessage) (size int) {
	msg.eachDevice(func(d *modelDevice) { size = max(size, d.size) })
	if msg.guest {
		size = max(2, size, m.config.Trust.Start/2>>m.guests[msg.addr].paid)
	}
	return size
}

func (m *model) fail(d *modelDevice) {
	d.size = min(4096, 4*d.size)
	d.failures++
	d.suspended = d.suspended || d.failures > m.config.Trust.FailureLimit
}

func (m *model) answer(msg *modelMessage, a message.Answer) {
	if msg.outcome != nil {
		return
	}
	outcome, alone := Rejected, len(msg.devices) == 1
	named := slices.Index(msg.euis(), a.DevEUI)
	if a.Reject == message.RejectNone && a.MIC != mic(msg.uplink) {
		m.owe(msg)
	}
	switch {
	case a.Reject != message.RejectNone:
	case named < 0:
		if alone && a.MIC != mic(msg.uplink) {
			m.fail(msg.devices[0])
		}
	case a.MIC != mic(msg.uplink):
		m.fail(msg.devices[named])
	default:
		d := msg.devices[named]
		d.size, d.failures = max(2, d.size/2), 0
		m.prove(d, msg)
		outcome = Answered
	}
	m.settle(msg, outcome)
}

func (m *model) close(c *modelConn, now time.Duration) {
	m.conns = slices.DeleteFunc(m.conns, func(other *modelConn) bool { return other == c })
	var back []*modelMessage
	for _, msg := range c.held {
		msg.eachDevice(func(d *modelDevice) { d.unanswered-- })
		if now-msg.first > 10*time.Minute {
			msg.outcome = append(msg.outcome, Expired)
		} else {
			back = append(back, msg)
		}
	}
	m.waiting = slices.Concat(back, m.waiting)
}

func (m *model) expire(now time.Duration) {
	for _, c := range m.conns {
		for _, msg := range slices.Clone(c.held) {
			if msg.sent+m.config.Deadline > now {
				continue
			}
			if d := msg.devices[0]; m.config.Trust.Reduce && len(msg.devices) == 1 {
				d.size = min(4096, 2*d.size)
			}
			m.settle(msg, Expired)
		}
	}
}

// TestModel has the outbox do what the model does: it settles each message once,
// and for the same reason, it never gives two connections the same one, and what
// it delivers again it delivers unchanged.
func TestModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) { // without the Deadline that bubbles forbid
			config := Config{
				Trust: TrustConfig{
					Start:        rapid.SampledFrom([]int{2, 64, 128, 4096}).Draw(t, "start"),
					Reduce:       rapid.Bool().Draw(t, "reduce"),
					FailureLimit: rapid.SampledFrom([]int{1, 50}).Draw(t, "failures"),
				},
				Deadline:    time.Minute,
				MaxMessages: rapid.SampledFrom([]int{3, 150, 100_000}).Draw(t, "messages"),
				MaxBytes:    rapid.SampledFrom([]int{4000, 64 << 20}).Draw(t, "bytes"),
			}
			r := &replica{model: newModel(config), desk: newDesk(config)}
			defer r.desk.Close()
			t.Repeat(map[string]func(*rapid.T){
				"put": r.doPut, "connect": r.doConnect, "take": r.doTake, "answer": r.doAnswer,
				"close": r.doClose, "sleep": r.doSleep, "give up": r.doGiveUp, "withdraw": r.doWithdraw, "": r.compare,
			})
		})
	})
}

// A replica is an outbox with its model.
type replica struct {
	*model
	desk *desk
}

func (r *replica) doPut(t *rapid.T) {
	euis := rapid.SliceOfNDistinct(rapid.Uint64Range(0, 4), 1, 3, rapid.ID[uint64]).Draw(t, "devices")
	n := rapid.SampledFrom([]int{1, 5, 100}).Draw(t, "n")
	r.desk.created = rapid.SampledFrom([]int64{0, 0, 0, 1}).Draw(t, "created")
	r.desk.addr, r.desk.proven = rapid.SampledFrom([]lorawan.DevAddr{0, 1, 2}).Draw(t, "addr"), false
	if addr := r.desk.addr; addr != 0 { // all devices that have it; one also sends without it
		euis = [][]uint64{{4}, {4, 5}}[addr-1]
		r.desk.proven = rapid.IntRange(0, 9).Draw(t, "proven") == 0
	}
	if slices.Contains(euis, 4) {
		r.desk.created = 0
	}
	for range n {
		msg := &modelMessage{put: r.desk.now()}
		if r.model.config.Trust.Start > 2 {
			msg.addr, msg.guest = r.desk.addr, r.desk.addr != 0 && !r.desk.proven
		}
		for _, eui := range euis {
			msg.devices = append(msg.devices, r.model.device(Candidate{lorawan.EUI(eui), r.desk.created}))
		}
		msg.uplink = r.desk.put(msg.euis()...)
		msg.bytes = overhead + len(msg.uplink.PHY) + 16*len(msg.devices)
		r.model.put(msg)
	}
}

func (r *replica) doConnect(t *rapid.T) {
	if len(r.conns) < 3 {
		r.conns = append(r.conns, &modelConn{conn: r.desk.Connect()})
	}
}

func (r *replica) draw(t *rapid.T) *modelConn {
	if len(r.conns) == 0 {
		t.Skip("no connection")
	}
	return rapid.SampledFrom(r.conns).Draw(t, "connection")
}

func (r *replica) doTake(t *rapid.T) {
	c := r.draw(t)
	limit := rapid.SampledFrom([]int{1, 10, 100}).Draw(t, "limit")
	want := r.model.take(c, limit, r.desk.now())
	got := take(t, c.conn, limit)
	if len(got) != len(want) {
		t.Fatalf("took %d, want %d", len(got), len(want))
	}
	for i, msg := range want {
		m := got[i]
		if string(m.PHYNoMIC)+string(msg.uplink.PHY[len(m.PHYNoMIC):]) != string(msg.uplink.PHY) || !slices.Equal(m.DevEUIs, msg.euis()) {
			t.Fatalf("message %d is another: %+v", i, m)
		}
		if msg.upstream.Transaction == 0 {
			if len(m.Challenge) != msg.size || !slices.Contains(m.Challenge, mic(msg.uplink)) {
				t.Fatalf("challenge of %d, want %d", len(m.Challenge), msg.size)
			}
			msg.upstream = m
		}
		if (m.Position == nil) != msg.guest {
			t.Fatalf("message %d shows the position of the gateway: %v", i, m.Position)
		}
		if m.Transaction != msg.upstream.Transaction || !slices.Equal(m.Challenge, msg.upstream.Challenge) {
			t.Fatalf("message %d was delivered again with another challenge", i)
		}
	}
}

func (r *replica) doAnswer(t *rapid.T) {
	sent := slices.DeleteFunc(slices.Clone(r.all), func(m *modelMessage) bool { return m.upstream.Transaction == 0 })
	if len(sent) == 0 {
		t.Skip("nothing sent")
	}
	c := r.draw(t)
	first := rapid.IntRange(0, len(sent)-1).Draw(t, "first")
	for _, msg := range sent[first:min(len(sent), first+20)] {
		a := right(msg.upstream, msg.uplink)
		switch rapid.IntRange(0, 9).Draw(t, "answer") {
		case 0:
			a.MIC++
		case 1:
			a.DevEUI = 99
		case 2:
			a.DevEUI = msg.devices[len(msg.devices)-1].DevEUI
		case 3:
			a.Reject = message.MICFailed
		case 4:
			a.Reject = message.RejectOther
		case 5:
			a.DevEUI, a.MIC = 99, a.MIC+1
		}
		r.model.answer(msg, a)
		c.conn.Answer([]message.Answer{a})
	}
}

func (r *replica) doClose(t *rapid.T) {
	c := r.draw(t)
	r.model.close(c, r.desk.now())
	c.conn.Close()
}

func (r *replica) doGiveUp(t *rapid.T) {
	n := rapid.SampledFrom([]int{1, 100}).Draw(t, "n")
	age := time.Duration(rapid.SampledFrom([]int{0, 5, 50}).Draw(t, "age")) * time.Second
	if got, want := r.desk.GiveUp(n, age), r.giveUp(n, r.desk.now()-age); got != want {
		t.Fatalf("gave up %d, want %d", got, want)
	}
}

func (r *replica) doWithdraw(t *rapid.T) {
	age := time.Duration(rapid.SampledFrom([]int{0, 5, 50}).Draw(t, "age")) * time.Second
	if got, want := r.desk.Withdraw(age), r.withdraw(false, r.desk.now()-age); !slices.Equal(got, want) {
		t.Fatalf("%d withdrawn, want %d", len(got), len(want))
	}
	if !rapid.Bool().Draw(t, "lost ones too") {
		return
	}
	if got, want := r.desk.WithdrawLost(), r.withdraw(true, 0); !slices.Equal(got, want) {
		t.Fatalf("%d withdrawn that connections lost, want %d", len(got), len(want))
	}
}

func (r *replica) doSleep(t *rapid.T) {
	most := rapid.SampledFrom([]int{70_000, 70_000, 700_000}).Draw(t, "most")
	time.Sleep(time.Duration(rapid.IntRange(1, most).Draw(t, "ms")) * time.Millisecond)
	synctest.Wait()
	r.expire(r.desk.now())
}

func (r *replica) compare(t *rapid.T) {
	for i, msg := range r.all {
		if got := r.desk.outcomes(msg.uplink); !slices.Equal(got, msg.outcome) {
			t.Fatalf("message %d: %v, want %v", i, got, msg.outcome)
		}
	}
	for eui, want := range r.model.devices {
		d := r.desk.devices[eui]
		got := modelDevice{d.Candidate, int(d.size), int(d.failures), int(d.unanswered), d.suspended, d.proven}
		if got != *want {
			t.Fatalf("device %d: %+v, want %+v", eui, got, *want)
		}
	}
	for addr, want := range r.model.guests {
		if got := r.desk.guests.at[addr]; got != *want || len(r.desk.guests.at) > len(r.model.guests) {
			t.Fatalf("guest at %v: %+v, want %+v", addr, got, *want)
		}
	}
	s := r.desk.Stats()
	if s.Waiting != len(r.waiting) || r.desk.Waiting() != s.Waiting || s.Unanswered != r.unanswered() || s.Bytes != r.bytes() || s.Connections != len(r.conns) {
		t.Fatalf("%+v, want %d waiting, %d unanswered, %d bytes", s, len(r.waiting), r.unanswered(), r.bytes())
	}
	sent := 0
	for _, msg := range r.all {
		if msg.outcome == nil && msg.upstream.Transaction != 0 {
			sent++
		}
	}
	room := r.desk.config.Room
	if held := s.Waiting + s.Unanswered; room.Held() != held || room.Unsent() != held-sent || r.desk.Sent() != sent {
		t.Fatalf("the room has %d, %d of them unsent, and %d are sent; want %d and %d sent", room.Held(), room.Unsent(), r.desk.Sent(), held, sent)
	}
	var settled uint64
	for _, n := range s.Outcomes {
		settled += n
	}
	if s.Put != settled+uint64(s.Waiting+s.Unanswered) {
		t.Fatalf("%d put, %d settled: %+v", s.Put, settled, s)
	}
}
