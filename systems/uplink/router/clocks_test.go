package router

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// Entries of one gateway: when each arrived, and how long before that its frame was received, by its clock.
func TestClocks(t *testing.T) {
	t.Parallel()
	const ms, s, day = time.Millisecond, time.Second, 24 * time.Hour
	type entry struct{ at, took, delay time.Duration }
	for _, tt := range []struct {
		name    string
		entries []entry
		off     int
		log     string
	}{
		{"right", []entry{{0, 30 * ms, 0}, {s, 90 * ms, 60 * ms}, {2 * s, 20 * ms, 0}, {3 * s, 3 * s, 2980 * ms}, {11 * s, 40 * ms, 20 * ms}}, 0, ""},
		// Slow since the first entry, which cannot be distinguished from one that came late until a window has ended.
		{"20 s slow", []entry{{0, 20 * s, 0}, {s, 21 * s, s}, {9 * s, 20 * s, 0}}, 0, ""},
		{"20 s slow, for a window", []entry{{0, 20 * s, 0}, {10 * s, 20 * s, 0}, {11 * s, 23 * s, 3 * s}}, 1, "slow"},
		{"a day fast", []entry{{0, 30*ms - day, 0}, {s, 50*ms - day, 20 * ms}}, 1, "fast"},
		{"set back", []entry{{0, 30*ms - day, 0}, {10 * s, 30 * ms, day}, {20 * s, 40 * ms, 10 * ms}}, 0, "right again"},
		{"set forward", []entry{{0, 20 * s, 0}, {10 * s, 20 * s, 0}, {11 * s, 10 * ms, 0}, {20 * s, 10 * ms, 0}}, 0, "right again"},
		// Frames that a gateway kept during an outage come late, unlike those that it hears then.
		{"an outage", []entry{{0, 10 * ms, 0}, {5 * s, 5 * s, 4990 * ms}, {5 * s, 3 * s, 2990 * ms}, {5 * s, 10 * ms, 0}, {15 * s, 10 * ms, 0}}, 0, ""},
		{"heard seldom", []entry{{0, 10 * ms, 0}, {time.Minute, 20 * s, 0}, {2 * time.Minute, 20 * s, 0}}, 1, "slow"},
	} {
		var log bytes.Buffer
		c := newClocks(slog.New(slog.NewTextHandler(&log, nil)))
		began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		for i, e := range tt.entries {
			at := began.Add(e.at)
			u := &message.Uplink{Gateway: 7, Arrived: at, Received: at.Add(-e.took)}
			c.date([]*message.Uplink{u}, at)
			if u.Delay != e.delay || !u.Heard().Equal(at.Add(-e.delay)) {
				t.Errorf("%s: entry %d was delayed by %v, want %v", tt.name, i, u.Delay, e.delay)
			}
		}
		if c.off() != tt.off || tt.log == "" && log.Len() > 0 || !strings.Contains(log.String(), tt.log) {
			t.Errorf("%s: %d are off, want %d; the log: %s", tt.name, c.off(), tt.off, &log)
		}
	}
}

// However many gateways there are, so many are remembered and told of.
func TestManyClocks(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := newClocks(slog.New(slog.NewTextHandler(&log, nil)))
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 3 * clocksMost {
		c.date([]*message.Uplink{{Gateway: lorawan.EUI(i), Arrived: now, Received: now.Add(time.Hour)}}, now)
	}
	if n := len(c.recent) + len(c.older); n > 2*clocksMost || c.off() != n {
		t.Errorf("%d are remembered, %d off", n, c.off())
	}
	if n := strings.Count(log.String(), "\n"); n != clockWarnings {
		t.Errorf("%d lines in the log", n)
	}
}

// A gateway whose clock is off gets class A downlinks with its own times, tells what became of them, and takes up
// no place after that; its uplinks are as fresh as they are.
func TestGatewaysWhoseClocksAreOff(t *testing.T) {
	t.Parallel()
	bothRedis(t, func(t *testing.T, url string) {
		s := start(t, url, nil)
		up, down := s.connect(acme, "upstream/"), s.connect(acme, "downstream/")
		g := s.gateways()
		for i, off := range []time.Duration{-20 * time.Second, 24 * time.Hour, 0} {
			d := s.insert(acme, i)
			sent := time.Now()
			received := sent.Add(off)
			if err := s.producer.Add(t.Context(), []*message.Uplink{{PHY: frame(d, 0), Gateway: lorawan.EUI(100 + i), Received: received,
				Radio: message.Radio{Frequency: 868_100_000, Spreading: 7, Bandwidth: 125_000}}}); err != nil {
				t.Fatal(err)
			}
			u := up.upstream()
			stale := u.Outdated && time.Since(sent) < 2*time.Second // uplinks are outdated after 2.5 s, as on a starved machine
			up.answer(message.Answer{Transaction: u.Transaction, DevEUI: d.DevEUI, MIC: micOf(&u, d)})
			s.until("the answer is counted", func() bool { return s.boxStats().RightMIC == uint64(i+1) })
			s.downlinks.mu.Lock()
			last := s.downlinks.heard[d.DevEUI]
			s.downlinks.mu.Unlock()
			if stale || time.Since(last.at) > patience || time.Until(last.at) > 0 {
				t.Errorf("off by %v: outdated %v, heard at %v", off, stale, last.at)
			}
			down.downlink(i+1, fmt.Sprintf(`"DevEUI": %d`, uint64(d.DevEUI)), `"Delay": 15`)
			ack := down.reply()
			var entry map[string]string
			s.until("the downlink is written", func() bool {
				for _, e := range g.written() {
					if e["mailbox"] == fmt.Sprint(ack.MailboxID) {
						entry = e
					}
				}
				return entry != nil
			})
			if entry["gw"] != lorawan.EUI(100+i).String() || entry["ts"] != fmt.Sprint(received.UnixNano()) || entry["delay"] != "15" {
				t.Errorf("off by %v: the gateway gets %v", off, entry)
			}
			g.tell(ack.MailboxID, i+1, message.Success, "sent")
			if result := down.reply(); result.ResultCode != "Success" {
				t.Errorf("off by %v: %+v", off, result)
			}
		}
		text := s.scrape()
		for _, want := range []string{"contend_router_downlinks_pending 0\n", "contend_router_gateway_clocks_off 1\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("the metrics lack %q", want)
			}
		}
	})
}

// A downlink whose gateway says nothing frees its place in time, whatever the gateway's clock says.
func TestPlacesOfAClockThatIsFast(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d := newDownlinks()
	d.solved(1, &message.Uplink{Gateway: 2, Arrived: now, Received: now.Add(24 * time.Hour)})
	until, err := deadline(&message.Downstream{Window: message.Window{Delay: 5}}, d.heard[1].at, now)
	if err != nil || until.Sub(now) != 5*time.Second {
		t.Errorf("its result is awaited for %v, %v", until.Sub(now), err)
	}
}
