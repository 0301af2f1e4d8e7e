package sink

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"contend/systems/uplink/gen"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// upstreams returns n messages of one device with challenges of so many entries.
func upstreams(b *testing.B, n, entries int) []message.Upstream {
	b.Helper()
	var list []message.Upstream
	random := rand.New(rand.NewPCG(1, 2))
	eui := lorawan.DemoDevice(1, 0).DevEUI
	_, err := gen.Run(b.Context(), gen.Config{Mode: gen.Flat, N: int64(n), Seed: 1, Add: func(_ context.Context, uplinks []*message.Uplink) error {
		for _, u := range uplinks {
			challenge := make([]uint32, entries)
			for i := range challenge {
				challenge[i] = random.Uint32()
			}
			challenge[random.IntN(entries)] = lorawan.MICOf(u.PHY)
			phy := append([]byte{}, u.PHY...)
			list = append(list, message.Upstream{
				Transaction: 1<<62 + uint64(len(list)), DevEUIs: []lorawan.EUI{eui}, Radio: u.Radio,
				PHYNoMIC: phy[:len(phy)-4], Challenge: challenge,
			})
		}
		return nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	return list[:n]
}

// Solving is looking for the MIC, and decrypting; parsing is excluded.
func BenchmarkSolve(b *testing.B) {
	for _, entries := range []int{2, 4096} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			b.ReportAllocs()
			list := upstreams(b, 500, entries)
			s := newSolver(1, 1)
			for i := 0; b.Loop(); i++ {
				s.accounts[0].highest = uint32(i % len(list)) // the list begins again
				if s.solve(&list[i%len(list)]).finding != stamped {
					b.Fatal("not solved")
				}
			}
		})
	}
}

// A message is parsed, solved, booked and answered.
func BenchmarkMessage(b *testing.B) {
	for _, entries := range []int{2, 4096} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			b.ReportAllocs()
			var data [][]byte
			list := upstreams(b, 500, entries)
			for i := range list {
				data = append(data, message.AppendUpstream(nil, &list[i]))
			}
			l, _ := newFeed(nil)
			s := &sink{config: Config{}.withDefaults(), solver: newSolver(1, 1), conn: l, recorder: newRecorder()}
			now := time.Now()
			for i := 0; b.Loop(); i++ {
				s.solver.accounts[0].highest = uint32(i % len(list)) // the list begins again
				s.message(data[i%len(data)], now)
				if l.answers == 200 {
					l.out, l.answers = l.out[:0], 0
				}
			}
			if s.recorder.Unsolved+s.recorder.Malformed > 0 {
				b.Fatal("not solved")
			}
		})
	}
}
