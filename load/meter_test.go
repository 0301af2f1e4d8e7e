package load

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// values are a meter's result of these values, the first at 1 ns, the second at 2 ns and so on.
func values(kind MeterKind, all ...float64) *MeterResult {
	r := &MeterResult{Name: "m", Kind: kind}
	for i, x := range all {
		r.record(x, time.Duration(1+i))
	}
	return r
}

func TestMeterStats(t *testing.T) {
	for _, test := range []struct {
		kind   MeterKind
		values []float64
		stat   string
		want   float64
	}{
		{CounterMeter, []float64{1, 2.5}, "count", 3.5},
		{CounterMeter, []float64{1, 2.5}, "rate", 1.75}, // in 2 s
		{CounterMeter, nil, "count", 0},
		{GaugeMeter, []float64{4, -1, 2}, "value", 2},
		{GaugeMeter, []float64{4, -1, 2}, "min", -1},
		{GaugeMeter, []float64{4, -1, 2}, "max", 4},
		{RateMeter, []float64{0, 1, 7, 0}, "rate", 0.5},
		{RateMeter, nil, "rate", 0},
		{TrendMeter, []float64{30, 10, 20}, "p(90)", 28}, // rank 1.8
		{TrendMeter, []float64{30, 10, 20}, "med", 20},
		{TrendMeter, []float64{30, 10, 20}, "avg", 20},
		{TrendMeter, []float64{30, 10, 20}, "min", 10},
		{TrendMeter, []float64{30, 10, 20}, "max", 30},
		{TrendMeter, []float64{30, 10, 20}, "count", 3},
		{TrendMeter, nil, "p(95)", 0},
	} {
		if got, ok := values(test.kind, test.values...).Stat(test.stat, 2*time.Second); !ok || got != test.want {
			t.Errorf("%s of the %s %v: got %v, %v, want %v", test.stat, test.kind, test.values, got, ok, test.want)
		}
	}
	for kind, stat := range map[MeterKind]string{CounterMeter: "p(95)", RateMeter: "avg", GaugeMeter: "rate", TrendMeter: "p(101)"} {
		if _, ok := values(kind, 1).Stat(stat, time.Second); ok {
			t.Errorf("a %s has %s", kind, stat)
		}
	}
}

// The latest value of several gauges counts, in whichever order they are added.
func TestGaugesAddUp(t *testing.T) {
	a, b := values(GaugeMeter, 5, 7), values(GaugeMeter, 1, 2, 3)
	for _, order := range [][2]*MeterResult{{a, b}, {b, a}} {
		sum := values(GaugeMeter)
		sum.add(order[0])
		sum.add(order[1])
		if sum.Last != 3 || sum.Min != 1 || sum.Max != 7 || sum.Total != 5 {
			t.Errorf("got %+v", sum)
		}
	}
}

func TestThresholds(t *testing.T) {
	r := &Result{Duration: 2 * time.Second}
	trend := values(TrendMeter, 10, 20, 30)
	trend.Name, trend.Time = "time{a:b c}", true
	count := values(CounterMeter, 4)
	r.Meters = []*MeterResult{count, trend, nil, {Name: "empty", Kind: RateMeter}, {Name: "none", Kind: TrendMeter}}
	for text, want := range map[string]string{ // "": it holds
		"m count==4": "", "m count === 4": "", "m rate<=2": "", "m count>4": "it is 4", "m count!=4": "it is 4",
		"time{a:b c} p(90) < 28.5": "", "time{a:b c} avg>=21": "it is 20 ms",
		"empty rate>0.99": "", "none avg<1": "", "none avg>1": "it is 0",
		"other count<1": "nothing is measured that is called other", "m avg<1": "m has no avg",
	} {
		parsed, ok := ParseThreshold(text)
		if !ok {
			t.Errorf("%s: cannot be read", text)
			continue
		}
		if held, detail := parsed.Check(r); held != (want == "") || !held && detail != want {
			t.Errorf("%s: got %v, %q, want %q", text, held, detail, want)
		}
	}
	for _, text := range []string{"m p95<1", "m count<", "m count<a", "count<1", "response p99 < 20ms", "m rate<0.1 or 3"} {
		if parsed, ok := ParseThreshold(text); ok {
			t.Errorf("%q was read as %+v", text, parsed)
		}
	}
}

// A metered target, whose every iteration has a reading.
type meteredTarget struct {
	Func
	meter Meter
}

func (m *meteredTarget) Settle(r *Result) { r.AddMeter(&Meter{ID: 1, Name: "asked", Kind: RateMeter}) }

func newMetered(each time.Duration) *meteredTarget {
	m := &meteredTarget{meter: Meter{Name: "one", Kind: CounterMeter}}
	m.Func = func(ctx context.Context) (Outcome, error) {
		_, err := sleeper(each)(ctx)
		return Outcome{Flow: &Flow{Readings: []Reading{{&m.meter, 1}}}}, err
	}
	return m
}

func TestReadingsAreCounted(t *testing.T) {
	r := inBubble(t, newMetered(100*time.Millisecond), Plan{VUs: 4, Warmup: time.Second, Duration: 2 * time.Second, Grace: time.Second})
	names := make([]string, len(r.Meters))
	for i, m := range r.Meters {
		names[i] = m.Name
	}
	if got := strings.Join(names, " "); got != "asked one" {
		t.Fatalf("meters are %s", got)
	}
	if got := r.Meter("one").Sum; got != float64(r.Completed) || got != 80 { // 4 × 2 s ÷ 0.1 s
		t.Errorf("%v readings of %d iterations, want 80", got, r.Completed)
	}
	r.Course = nil // it is forgotten where nobody else has a part
	sent, err := r.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadSent(sent)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(read.Meters)
	if want, _ := json.Marshal(r.Meters); string(got) != string(want) {
		t.Errorf("sent %s, got %s", want, got)
	}
}

// A plan's Until ends the run about a second after it says so, and sees readings.
func TestUntil(t *testing.T) {
	looks := 0
	r := inBubble(t, newMetered(100*time.Millisecond), Plan{VUs: 1, Duration: time.Minute, Grace: time.Second, Until: func(p Progress) bool {
		looks++
		return p.Counts().Meter("one").Sum >= 25
	}})
	if r.Stopped != stoppedEarly || r.Duration < 2500*time.Millisecond || r.Duration > 4*time.Second || looks != 3 {
		t.Errorf("stopped by %s after %v and %d looks", r.Stopped, r.Duration, looks)
	}
}
