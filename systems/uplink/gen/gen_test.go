package gen

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"contend/hist"
	"contend/pace"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// A heard frame is a copy of what Add got.
type heard struct {
	phy     string
	gateway lorawan.EUI
	at      time.Time
	write   int
}

// An ear collects frames.
type ear struct {
	frames []heard
	writes int
	delay  time.Duration
}

func (e *ear) add(_ context.Context, uplinks []*message.Uplink) error {
	for _, u := range uplinks {
		e.frames = append(e.frames, heard{string(u.PHY), u.Gateway, u.Received, e.writes})
	}
	e.writes++
	time.Sleep(e.delay)
	return nil
}

// A data uplink as its device meant it.
type uplink struct {
	device int
	fcnt   uint32
	plain  []byte
}

// read solves a frame of the devices with the counters up to limit.
func read(t *testing.T, seed uint64, devices int, limit uint32, phy string) (uplink, bool) {
	t.Helper()
	f, err := lorawan.Parse([]byte(phy))
	if err != nil || f.Type != lorawan.UnconfirmedUp {
		return uplink{}, false
	}
	for i := range devices {
		d := lorawan.DemoDevice(seed, i)
		if d.DevAddr != f.DevAddr {
			continue
		}
		mic := lorawan.NewCMAC(d.NwkSKey)
		for fcnt := uint32(f.FCnt); fcnt <= limit; fcnt += 1 << 16 {
			if mic.UplinkMIC(f.DevAddr, fcnt, f.Message()) == f.MIC {
				return uplink{i, fcnt, lorawan.NewCipher(d.AppSKey).Crypt(nil, f.Payload, false, d.DevAddr, fcnt)}, true
			}
		}
	}
	t.Fatalf("frame %x has no MIC of a device", phy)
	return uplink{}, false
}

func TestFlat(t *testing.T) {
	var e ear
	var done []int64
	r, err := Run(t.Context(), Config{
		Mode: Flat, N: 1000, Seed: 7, Devices: 3, Gateways: 2, Add: e.add,
		Progress: func(n, total int64) { done = append(done, n, total) },
	})
	if err != nil {
		t.Fatal(err)
	}
	// 1000 uplinks and the end marker; 1000 ÷ 128 = 7.8 writes and that of the marker.
	if r.Uplinks != 1000 || r.Entries != 1000+1 || len(e.frames) != 1001 || r.Writes != 9 || r.WriteTime.Count() != 9 {
		t.Errorf("result %+v, %d frames in %d writes", r.Counts, len(e.frames), r.Writes)
	}
	var last uint64
	for i, h := range e.frames[:1000] {
		u, ok := read(t, 7, 3, 1000, h.phy)
		stamp := binary.LittleEndian.Uint64(u.plain)
		if !ok || u.device != i%3 || u.fcnt != uint32(i/3) || len(u.plain) != 8 || stamp < last || int64(stamp) != h.at.UnixNano() {
			t.Fatalf("frame %d: %+v, received at %v", i, u, h.at)
		}
		last = stamp
		if want := firstGateway + lorawan.EUI(i%2); h.gateway != want {
			t.Fatalf("frame %d was heard by %v, want %v", i, h.gateway, want)
		}
	}
	end, _ := read(t, 7, 3, 1000, e.frames[1000].phy)
	if end.device != 0 || end.fcnt != 334 || binary.LittleEndian.Uint64(end.plain) != math.MaxUint64 { // 0, 3, … 999: 334
		t.Errorf("the end marker is %+v", end)
	}
	if n := len(done); n < 4 || done[n-2] != 1000 || done[n-1] != 1000 {
		t.Errorf("progress was %v", done)
	}
}

// The planted faults are those that are counted, whatever the shares.
func TestShares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		share := func(name string) float64 { return rapid.SampledFrom([]float64{0, 0.01, 0.5, 1}).Draw(rt, name) }
		var e ear
		c := Config{
			Mode: Flat, N: rapid.Int64Range(1, 60).Draw(rt, "n"), Devices: rapid.IntRange(1, 4).Draw(rt, "devices"),
			Seed: rapid.Uint64().Draw(rt, "seed"), PerWrite: rapid.IntRange(0, 5).Draw(rt, "per write"),
			Duplicates: share("duplicates"), Reorder: share("reorder"), JoinRequests: share("joins"), Malformed: share("malformed"),
			Add: e.add,
		}
		r, err := Run(t.Context(), c)
		if err != nil {
			rt.Fatal(err)
		}
		var got Counts
		seen, highest := map[string]bool{}, map[int]int64{}
		for _, h := range e.frames[:len(e.frames)-1] {
			got.Entries++
			f, err := lorawan.Parse([]byte(h.phy))
			switch {
			case err != nil:
				got.Malformed++
				continue
			case f.Type == lorawan.JoinRequest:
				got.JoinRequests++
				continue
			case seen[h.phy]:
				got.Duplicates++
				continue
			}
			seen[h.phy] = true
			got.Uplinks++
			u, _ := read(t, c.Seed, c.Devices, 100, h.phy)
			if int64(u.fcnt) < highest[u.device] {
				got.Reordered++
			}
			highest[u.device] = max(highest[u.device], int64(u.fcnt))
		}
		got.Entries++ // the end marker
		if got != r.Counts {
			rt.Fatalf("heard %+v, the result says %+v", got, r.Counts)
		}
		for i := range c.Devices {
			if n := (c.N + int64(c.Devices-1-i)) / int64(c.Devices); n > 0 && highest[i] != n-1 {
				rt.Fatalf("device %d went to counter %d, want %d", i, highest[i], n-1)
			}
		}
	})
}

func TestJoinRequestsAreTheDevices(t *testing.T) {
	var e ear
	if _, err := Run(t.Context(), Config{Mode: Flat, N: 2, JoinRequests: 1, Seed: 3, Devices: 2, Add: e.add}); err != nil {
		t.Fatal(err)
	}
	for i, h := range []heard{e.frames[1], e.frames[3]} {
		f, err := lorawan.Parse([]byte(h.phy))
		d := lorawan.DemoDevice(3, i)
		if err != nil || f.DevEUI != d.DevEUI || f.JoinEUI != d.JoinEUI || f.Nonce != uint16(i) ||
			f.MIC != lorawan.NewCMAC(d.NwkSKey).JoinMIC(f.Message()) {
			t.Errorf("join request %d is %+v, error %v", i, f, err)
		}
	}
}

// Batches are stamped when they are made, and lie one delay apart from the end of
// the one before.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ear{delay: 100 * time.Millisecond}
		start := time.Now()
		r, err := Run(t.Context(), Config{Mode: Batch, N: 3, Batches: 3, Delay: time.Second, PerWrite: 2, Add: e.add})
		if err != nil {
			t.Fatal(err)
		}
		// A batch takes two writes of 0.1 s: batches begin at 0, 1.2 and 2.4 s.
		for i, h := range e.frames[:9] {
			want := time.Duration(i/3) * 1200 * time.Millisecond
			u, _ := read(t, 0, 1, 9, h.phy)
			if h.at.Sub(start) != want || binary.LittleEndian.Uint64(u.plain) != uint64(start.Add(want).UnixNano()) || u.fcnt != uint32(i) {
				t.Errorf("uplink %d is stamped %v, want %v", i, h.at.Sub(start), want)
			}
		}
		if r.Duration != 2600*time.Millisecond || r.Writes != 7 || math.Abs(r.PacePerSec-9/2.6) > 1e-9 {
			t.Errorf("took %v for %d writes at %v/s", r.Duration, r.Writes, r.PacePerSec)
		}
	})
}

// The stamps are the intended times, whatever the writes take, and the lag goes
// with them.
func TestRateStampsTheIntendedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ear{delay: 25 * time.Millisecond}
		start := time.Now()
		r, err := Run(t.Context(), Config{
			Mode: Rate, N: 6, Pacer: pace.Constant(100), Timer: pace.Runtime, Add: e.add,
		})
		if err != nil {
			t.Fatal(err)
		}
		// Due at 0, 10, … 50 ms; a write takes 25 ms, so they begin at 0, 25 and 50 ms.
		begins := []time.Duration{0, 25, 50}
		writes := []int{0, 1, 1, 2, 2, 2}
		for i, h := range e.frames[:6] {
			due := 10 * time.Millisecond * time.Duration(i)
			lag := begins[writes[i]]*time.Millisecond - due
			u, _ := read(t, 0, 1, 9, h.phy)
			got := time.Unix(0, int64(binary.LittleEndian.Uint64(u.plain))).Sub(start)
			gotLag := time.Duration(binary.LittleEndian.Uint32(u.plain[8:])) * time.Microsecond
			if h.write != writes[i] || got != due || gotLag != lag || len(u.plain) != 12 {
				t.Errorf("uplink %d: write %d, stamp %v, lag %v; want %d, %v, %v", i, h.write, got, gotLag, writes[i], due, lag)
			}
		}
		// Lags of 0, 15, 5, 20, 10 and 0 ms.
		if r.StartLag.Count() != 6 || r.StartLag.Max() != 20*time.Millisecond || r.StartLag.Mean() != 50*time.Millisecond/6 {
			t.Errorf("lag: mean %v, max %v of %d", r.StartLag.Mean(), r.StartLag.Max(), r.StartLag.Count())
		}
	})
}

func TestRateStopsWhenNothingMoreIsPlanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pacer, err := pace.Parse("steps:10/1s,0")
		if err != nil {
			t.Fatal(err)
		}
		var e ear
		r, err := Run(t.Context(), Config{Mode: Rate, N: 100, Pacer: pacer, Timer: pace.Runtime, Reorder: 1, Add: e.add})
		if err != nil || r.Uplinks != 10 || r.Entries != 11 || r.Reordered != 5 { // each pair
			t.Errorf("result %+v, error %v", r, err)
		}
		end, _ := read(t, 0, 1, 200, e.frames[10].phy)
		if end.fcnt != 10 {
			t.Errorf("the end marker has counter %d, want 10", end.fcnt)
		}
	})
}

func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var e ear
		r, err := Run(ctx, Config{Mode: Rate, N: 100, Pacer: pace.Constant(2), Timer: pace.Runtime, Add: e.add})
		if err != nil || !r.Interrupted || r.Uplinks < 10 || r.Uplinks > 11 || int64(len(e.frames)) != r.Entries { // 0, 0.5, … 5 s
			t.Errorf("result %+v, error %v, %d frames", r, err, len(e.frames))
		}
	})
}

func TestAddFails(t *testing.T) {
	full := errors.New("full")
	calls := 0
	r, err := Run(t.Context(), Config{Mode: Flat, N: 100, PerWrite: 10, Add: func(context.Context, []*message.Uplink) error {
		if calls++; calls > 3 {
			return full
		}
		return nil
	}})
	if !errors.Is(err, full) || r.Uplinks != 30 || calls != 4 {
		t.Errorf("result %+v, error %v after %d calls", r, err, calls)
	}
}

func TestMalformed(t *testing.T) {
	var e ear
	r, err := Run(t.Context(), Config{Mode: Flat, N: 10, Malformed: 1, Add: e.add})
	if err != nil || r.Malformed != 10 || len(malformed) != 10 {
		t.Fatalf("result %+v, error %v", r, err)
	}
	for i := range malformed {
		phy := e.frames[2*i+1].phy
		if _, err := lorawan.Parse([]byte(phy)); err == nil || len(phy) != malformed[i].size {
			t.Errorf("%s: %x, error %v", malformed[i].why, phy, err)
		}
	}
}

func TestValidate(t *testing.T) {
	e := ear{}
	rate := pace.Constant(1)
	tests := []struct {
		config Config
		want   []string // nil: valid
	}{
		{Config{Mode: Flat, N: 1, Add: e.add}, nil},
		{Config{}, []string{"mode is Mode", "uplinks is 0", "add is not set"}},
		{Config{Mode: 9, N: 1, Add: e.add}, []string{"mode is Mode(9)"}},
		{Config{Mode: Batch, N: 1, Add: e.add}, []string{"batches is 0"}},
		{Config{Mode: Rate, N: 1, Add: e.add}, []string{"rate is missing"}},
		{Config{Mode: Flat, N: 1, Add: e.add, Pacer: rate, Batches: 1}, []string{"mode flat keeps none", "batches and delay do not apply to mode flat"}},
		{Config{Mode: Batch, N: 1e9, Batches: 1, Delay: -1, Add: e.add}, []string{"uplinks is 1000000000", "delay is -1ns"}},
		{Config{Mode: Rate, N: 1, Pacer: rate, Timer: "x", Add: e.add}, []string{`timer is "x"`}},
		{Config{Mode: Flat, N: 1, Add: e.add, Devices: -1, Gateways: 1e6, PerWrite: -1}, []string{"devices is -1", "gateways is", "per write is -1"}},
		{Config{Mode: Flat, N: 1, Add: e.add, Duplicates: 2, Reorder: math.NaN(), JoinRequests: -1, Malformed: 3},
			[]string{"duplicates is 2", "reorder is NaN", "joins is -1", "malformed is 3"}},
	}
	for i, tt := range tests {
		err := tt.config.Validate()
		if (err == nil) != (tt.want == nil) {
			t.Errorf("case %d: error %v", i, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("case %d: error %q lacks %q", i, err, want)
			}
		}
	}
}

func TestForm(t *testing.T) {
	tests := []struct {
		done, total int64
		full        int
		percent     string
	}{{0, 10, 0, "  0%"}, {5, 10, 40, " 50%"}, {9999, 10000, 79, " 99%"}, {10, 10, 80, "100%"}, {20, 10, 80, "100%"}, {0, 0, 80, "100%"}}
	for _, tt := range tests {
		want := "Completed: [" + strings.Repeat("=", tt.full) + strings.Repeat(" ", 80-tt.full) + "] " + tt.percent
		if got := Bar(tt.done, tt.total); got != want {
			t.Errorf("%d of %d: %q, want %q", tt.done, tt.total, got, want)
		}
	}
	batch := Config{Mode: Batch, N: 10_000, Batches: 10, Delay: time.Second}
	if got := batch.Plan(); got != "Generating 100000 uplinks: 10 batches of 10000 uplinks, 1 s between batches:" {
		t.Errorf("plan %q", got)
	}
}

func TestModesHaveNames(t *testing.T) {
	for mode := Flat; mode <= Rate; mode++ {
		var again Mode
		text, _ := mode.MarshalText()
		if err := again.UnmarshalText(text); err != nil || again != mode {
			t.Errorf("%s is read as %v, error %v", text, again, err)
		}
	}
	if err := new(Mode).UnmarshalText([]byte("fast")); err == nil {
		t.Error("no error")
	}
}

func TestReport(t *testing.T) {
	write, lag := hist.New(), hist.New()
	write.RecordN(123456*time.Nanosecond, 3)
	lag.Record(54321 * time.Nanosecond)
	r := Result{
		Mode: Rate, Counts: Counts{Uplinks: 1000, Duplicates: 10, Reordered: 9, JoinRequests: 8, Malformed: 7, Entries: 1026},
		Writes: 3, Duration: 1234567 * time.Microsecond, PacePerSec: 810.0006, StartLag: lag, WriteTime: write, CPUSec: 0.0125, Interrupted: true,
	}
	want := "Generated 1000 uplinks in 1.23s: 810/s\n" +
		"  planted      10 duplicates, 9 reordered, 8 join requests, 7 malformed\n" +
		"  entries      1026 in 3 writes of 123µs on average, p99 123µs\n" +
		"  sent late by 54.3µs on average, p99 54.3µs, at most 54.3µs\n" +
		"  CPU          0.0125 s, 12.5 µs per uplink\n" +
		"  interrupted\n"
	var b strings.Builder
	if err := r.Write(&b); err != nil || b.String() != want {
		t.Errorf("error %v, report\n%s\nwant\n%s", err, &b, want)
	}
}
