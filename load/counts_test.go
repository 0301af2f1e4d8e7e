package load

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"contend/hist"
	"contend/internal/perf"
)

// recorded is an iteration that ended, as Counts.Record takes it.
type recorded struct {
	it  Iteration
	end time.Duration
	out Outcome
	err error
}

func drawRecorded(t *rapid.T) recorded {
	r := recorded{it: Iteration{Due: time.Duration(rapid.Int64Range(0, 3e9).Draw(t, "due"))}}
	r.it.Start = r.it.Due + time.Duration(rapid.Int64Range(0, 1e6).Draw(t, "lag"))
	r.end = r.it.Start + time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "service"))
	r.err = rapid.SampledFrom([]error{nil, nil, nil, io.EOF, errors.New("unheard of")}).Draw(t, "error")
	draw := func(what string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, what) }
	r.out = Outcome{
		Failed: rapid.Bool().Draw(t, "failed"), Status: int(draw("status", 3)), Ops: draw("ops", 5),
		Check:   rapid.SampledFrom([]string{"", "length"}).Draw(t, "check"),
		Request: rapid.SampledFrom([]string{"", "read", "write"}).Draw(t, "request"),
		BytesIn: draw("bytes in", 9), BytesOut: draw("bytes out", 9), BodyIn: draw("body in", 9),
		Phases:   Phases{time.Duration(draw("connect", 2)), time.Duration(draw("first byte", 2)), time.Duration(draw("exchange", 2))},
		Messages: make([]time.Duration, draw("messages", 2)),
	}
	if rapid.Bool().Draw(t, "with content") {
		r.out.Content = &Content{
			Type:    []byte(rapid.SampledFrom([]string{"", "text/html", "text/plain"}).Draw(t, "type")),
			Checked: rapid.Bool().Draw(t, "checked"), Redirect: rapid.Bool().Draw(t, "redirect"),
			Location: []byte(rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "location")),
		}
		r.out.BodyIn = draw("length", 1<<40)
	}
	return r
}

// countsOf counts the iterations, and as many that never ended.
func countsOf(list []recorded, dropped, unfinished int64) Counts {
	c := newSum()
	c.Planned, c.Dropped, c.Unfinished = int64(len(list))+dropped+unfinished, dropped, unfinished
	for _, r := range list {
		c.Record(r.it, r.end, &r.out, r.err)
	}
	return c
}

func added(parts ...Counts) Counts {
	sum := newSum()
	for _, p := range parts {
		sum.Add(&p)
	}
	return sum
}

// text is all that counts hold, except what depends on their order by design.
func text(t *rapid.T, c Counts) string {
	c.Faults = slices.Clone(c.Faults)
	slices.SortFunc(c.Faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Status, b.Status))
	})
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Adding up is exact: whatever was recorded where and added in which order, the
// sum is what one would have recorded.
func TestCountsAddUpExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(drawRecorded), 0, 20)
		x, y, z := list.Draw(t, "x"), list.Draw(t, "y"), list.Draw(t, "z")
		want := text(t, countsOf(slices.Concat(x, y, z), 3, 5))
		a, b, c := countsOf(x, 1, 1), countsOf(y, 2, 0), countsOf(z, 0, 4)
		if got := text(t, added(c, Counts{}, added(b, a))); got != want {
			t.Fatalf("added backwards and in two steps:\n%s, want\n%s", got, want)
		}
	})
}

// A field that Add forgets would stay zero.
func TestCountsAddEveryField(t *testing.T) {
	c := NewCounts()
	c.Planned, c.Dropped, c.Unfinished = 5, 1, 1
	ok := Outcome{Status: 200, Request: "read", BytesIn: 1, BytesOut: 1, BodyIn: 1, Resent: 1, Stray: true, Parted: 1, Continued: true, Phases: Phases{1, 1, 1}, Messages: []time.Duration{1},
		Flow: &Flow{Requests: []Request{{Name: "read"}, {Name: "write", Failed: true}}, Checks: []Check{{"is it", true}, {"is it", false}},
			Readings: []Reading{{&Meter{Name: "m", Kind: TrendMeter}, 3}}},
		Content: &Content{Type: []byte("text/html"), Checked: true, Redirect: true, Location: []byte("/")}}
	c.Record(Iteration{}, 1, &ok, nil)
	c.Record(Iteration{}, 1, &Outcome{Failed: true}, nil)
	c.Record(Iteration{}, 1, &Outcome{}, io.EOF)
	sum := added(c)
	for i := range reflect.TypeFor[Counts]().NumField() {
		name := reflect.TypeFor[Counts]().Field(i).Name
		if name == "Course" || name == "Series" {
			continue // of a single run
		}
		if reflect.ValueOf(c).Field(i).IsZero() {
			t.Errorf("%s is not counted here", name)
		}
		got, want := reflect.ValueOf(sum).Field(i).Interface(), reflect.ValueOf(c).Field(i).Interface()
		if h, ok := want.(*hist.Histogram); ok { // a sum has no room to spare
			want = new(hist.Histogram)
			want.(*hist.Histogram).Merge(h)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s became %v, want %v", name, got, want)
		}
	}
	if c.Accounted() != c.Planned {
		t.Errorf("%d are accounted for, want %d", c.Accounted(), c.Planned)
	}
}

// A cause beyond the bound is counted under another name, not lost.
func TestCause(t *testing.T) {
	for want, out := range map[string]Outcome{
		"check failed: length": {Status: 200, Check: "length", Expected: "201"}, "status 503": {Status: 503},
		"status 503, where 200 or 404 was expected": {Status: 503, Expected: "200 or 404"}, "status 200, where another was expected": {Status: 200},
	} {
		if got := faultOf(&out).Cause(); got != want {
			t.Errorf("%+v: %q, want %q", out, got, want)
		}
	}
	asked := []Outcome{{Status: 200, Failed: true, Expected: "201"}, {Status: 200, Failed: true, Expected: "204"}}
	c := NewCounts()
	for i := range asked {
		c.Record(Iteration{}, 0, &asked[i], nil)
	}
	if len(c.Faults) != 2 {
		t.Errorf("requests that expect different answers have the same fault: %+v", c.Faults)
	}
}

func TestFaultsAreBounded(t *testing.T) {
	c := NewCounts()
	for status := range 3 * maxStatuses {
		c.Record(Iteration{}, 1, &Outcome{Failed: true, Status: 1 + status}, nil)
	}
	faults, statuses := int64(0), int64(0)
	for _, f := range c.Faults {
		faults += f.Count
	}
	for _, n := range c.Statuses {
		statuses += n
	}
	if faults != c.Failed || statuses != c.Failed || len(c.Faults) > maxStatuses+1 || len(c.Statuses) > maxStatuses+1 {
		t.Errorf("%d failed: %d in %d faults, %d in %d statuses", c.Failed, faults, len(c.Faults), statuses, len(c.Statuses))
	}
}

func TestCostAdds(t *testing.T) {
	a := Cost{GeneratorCPUSec: 1, GeneratorCores: 2, GeneratorCPUs: 2, GeneratorCPULimit: 1.5, GeneratorWaitedSec: 1,
		GeneratorStalledSec: 1, MachineCPUSec: 1, MachineCores: 4,
		Server: &Usage{CPUSec: 1, RSSBytes: 10, Threads: 3, Activity: perf.Activity{VoluntarySwitches: 1, InvoluntarySwitches: 1}, WaitedSec: 1, CPUs: 2, SharedCPUs: 2}}
	b := a
	b.Server = &Usage{CPUSec: 2, RSSBytes: 9, Threads: 4, Activity: perf.Activity{VoluntarySwitches: 2, InvoluntarySwitches: 2}, WaitedSec: 2, CPUs: 2, SharedCPUs: 2}
	want := Cost{GeneratorCPUSec: 2, GeneratorCores: 2, GeneratorCPUs: 2, GeneratorCPULimit: 1.5, GeneratorWaitedSec: 2,
		GeneratorStalledSec: 2, MachineCPUSec: 2, MachineCores: 4,
		Server: &Usage{CPUSec: 3, RSSBytes: 10, Threads: 4, Activity: perf.Activity{VoluntarySwitches: 3, InvoluntarySwitches: 3}, WaitedSec: 3, CPUs: 2, SharedCPUs: 2}}
	for _, order := range [][2]Cost{{a, b}, {b, a}} {
		var sum Cost
		sum.Add(&order[0])
		sum.Add(&order[1])
		if !reflect.DeepEqual(sum, want) {
			t.Errorf("the sum is %+v with %+v, want %+v with %+v", sum, sum.Server, want, want.Server)
		}
	}
	if a.Server.CPUSec != 1 || b.Server.CPUSec != 2 {
		t.Error("what was added up has changed")
	}
	var none Cost
	none.Add(&Cost{})
	if none.Server != nil {
		t.Error("two runs without a sample of the server have one together")
	}
	for _, order := range [][2]Cost{{a, {Unsampled: "because"}}, {{Unsampled: "because"}, a}} {
		var sum Cost
		sum.Add(&order[0])
		sum.Add(&order[1])
		if sum.Server != nil || sum.Unsampled != "because" {
			t.Errorf("with a run of which nothing is known the sum has %+v, %q", sum.Server, sum.Unsampled)
		}
	}
}
