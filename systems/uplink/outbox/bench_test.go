package outbox

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// BenchmarkCycle is Put, Take and Answer of one message, in batches of 256, at
// the shortest challenge.
func BenchmarkCycle(b *testing.B) {
	for _, devices := range []int{1, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("devices=%d", devices), func(b *testing.B) {
			o := New(Config{Trust: TrustConfig{Start: 2}})
			defer o.Close()
			c := o.Connect()
			batch := make([]Message, 256)
			var upstreams []message.Upstream
			answers := make([]message.Answer, 0, len(batch))
			all := benchMessages(max(devices, len(batch)), devices)
			b.ReportAllocs()
			next := 0
			for i := 0; i < b.N; i += len(batch) {
				for j := range batch {
					batch[j] = all[next]
					next = (next + 7919) % len(all) // all of them, in no order that caches like
				}
				o.Put(batch)
				var err error
				if upstreams, err = c.Take(b.Context(), upstreams[:0], len(batch)); err != nil {
					b.Fatal(err)
				}
				answers = answers[:0]
				for _, u := range upstreams {
					mic := binary.BigEndian.Uint32(u.PHYNoMIC)
					answers = append(answers, message.Answer{Transaction: u.Transaction, DevEUI: u.DevEUIs[0], MIC: mic})
				}
				c.Answer(answers)
			}
			if s := o.Stats(); s.RightMIC != s.Put {
				b.Fatalf("stats %+v", s)
			}
		})
	}
}

// benchMessages makes messages that also carry their MIC in front.
func benchMessages(n, devices int) []Message {
	messages := make([]Message, n)
	for i := range messages {
		mic := binary.BigEndian.AppendUint32(nil, uint32(i))
		phy := append(append(mic, make([]byte, 13)...), mic...)
		messages[i] = Message{Uplink: &message.Uplink{PHY: phy}, Candidates: []Candidate{{DevEUI: lorawan.EUI(i % devices)}}}
	}
	return messages
}

// BenchmarkBacklog is one message of 100 000 that wait, from 10 000 devices:
// delivered, taken back, delivered again and answered.
func BenchmarkBacklog(b *testing.B) {
	const backlog = 100_000
	all := benchMessages(backlog, 10_000)
	b.ReportAllocs()
	for i := 0; i < b.N; i += backlog {
		o := New(Config{Trust: TrustConfig{Start: 2}})
		o.Put(all)
		c := o.Connect()
		takeAll(b, c, backlog)
		c.Close()
		c = o.Connect()
		upstreams := takeAll(b, c, backlog)
		answers := make([]message.Answer, len(upstreams))
		for j, u := range upstreams {
			answers[j] = message.Answer{Transaction: u.Transaction, DevEUI: u.DevEUIs[0], MIC: binary.BigEndian.Uint32(u.PHYNoMIC)}
		}
		c.Answer(answers)
		if s := o.Stats(); s.RightMIC != backlog {
			b.Fatalf("stats %+v", s)
		}
		o.Close()
	}
}

func takeAll(b *testing.B, c *Conn, n int) (all []message.Upstream) {
	for len(all) < n {
		var err error
		if all, err = c.Take(b.Context(), all, 256); err != nil {
			b.Fatal(err)
		}
	}
	return all
}

func BenchmarkChallenge(b *testing.B) {
	for _, n := range []int{2, 16, 64, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := challenger{key: newChallengeKey(NewSecret())}
			var dst []uint32
			b.ReportAllocs()
			phy := make([]byte, 21)
			for i := range uint64(b.N) {
				binary.BigEndian.PutUint64(phy[8:], i)
				dst = c.draw(dst[:0], n, phy)
			}
		})
	}
}

// BenchmarkDevices reports what an outbox keeps for each device that it heard.
func BenchmarkDevices(b *testing.B) {
	const devices = 1_000_000
	for b.Loop() {
		before := heap()
		o := New(Config{})
		for eui := range lorawan.EUI(devices) {
			o.device(Candidate{DevEUI: eui * 0x9e3779b97f4a7c15})
		}
		b.ReportMetric(float64(heap()-before)/devices, "B/device")
		o.Close()
	}
}

// BenchmarkGuests reports what an outbox keeps for each address at which its customer has
// proved nothing.
func BenchmarkGuests(b *testing.B) {
	for b.Loop() {
		before := heap()
		s := newGuests()
		for addr := range lorawan.DevAddr(maxGuests) {
			s.change(addr*0x9e3779b1, 0, func(g *guest) { g.admit(0) })
		}
		b.ReportMetric(float64(heap()-before)/maxGuests, "B/address")
		runtime.KeepAlive(s)
	}
}
