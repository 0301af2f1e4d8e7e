package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"contend/errkind"
	"contend/finding"
	"contend/pace"
	"contend/stat"
)

// odd answers after 3 ms, wrongly every fifth time of a caller and not at all every seventh.
type odd struct{ n int }

func (o *odd) NewVU(context.Context, int) (VU, error) { return &odd{}, nil }

func (o *odd) Do(context.Context) (Outcome, error) {
	o.n++
	time.Sleep(3 * time.Millisecond)
	switch {
	case o.n%7 == 0:
		return Outcome{}, &errkind.Error{Kind: errkind.Reset, Err: errors.New("reset")}
	case o.n%5 == 0:
		return Outcome{Status: 500, Failed: true}, nil
	}
	return Outcome{Status: 200, Request: "buy", BytesIn: 10, Phases: Phases{FirstByte: time.Millisecond}}, nil
}

// divided drives the target by generators of these weights at the same time, whose results are sent.
func divided(t *testing.T, plan Plan, weights []int) *Result {
	t.Helper()
	plans, err := plan.Split(weights)
	if err != nil {
		t.Fatal(err)
	}
	parts := make([]Part, len(plans))
	begin := time.Now().Add(time.Second)
	var all sync.WaitGroup
	for i, p := range plans {
		all.Go(func() {
			p.Begin = begin
			r, err := Run(t.Context(), "odd", &odd{}, p)
			if err != nil {
				t.Error(err)
				return
			}
			sent, err := r.AppendBinary(nil)
			if err == nil {
				parts[i].Result, err = ReadSent(sent)
			}
			if err != nil {
				t.Error(err)
			}
			parts[i].Name = string(rune('a' + i))
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return Together(plan, "", parts)
}

// What generators send adds up, bit for bit, to what one generator has of the same load.
func TestTogetherIsOne(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]Plan{
		"closed":     {VUs: 9, Duration: 2 * time.Second, Warmup: 100 * time.Millisecond},
		"constant":   {VUs: 50, Duration: 2 * time.Second, Warmup: 100 * time.Millisecond, Pacer: pace.Constant(500)},
		"iterations": {VUs: 50, Iterations: 777, Warmup: 101 * time.Millisecond, Pacer: pace.Constant(500)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan.Grace, plan.Timer = time.Second, pace.Runtime
				sum := divided(t, plan, []int{3, 1, 1})
				one, err := Run(t.Context(), "odd", &odd{}, plan)
				if err != nil {
					t.Fatal(err)
				}
				if plan.Pacer != nil { // which caller takes an arrival is chance, and so what becomes of it
					if sum.Planned != one.Planned || sum.Accounted() != one.Planned || sum.Dropped != one.Dropped || sum.Duration != one.Duration {
						t.Errorf("planned %d, accounted for %d in %v; one generator %d in %v", sum.Planned, sum.Accounted(), sum.Duration, one.Planned, one.Duration)
					}
					return
				}
				got, want := figuresOf(t, sum), figuresOf(t, one)
				if got != want {
					t.Errorf("together\n%s\none generator\n%s", got, want)
				}
				if len(sum.Generators) != 3 || sum.Generators[0].VUs != 5 || sum.Generators[1].VUs != 2 || sum.Generators[2].VUs != 2 {
					t.Errorf("%+v, want callers 5, 2, 2: of 0 to 8 those are 0, 2, 4, 5, 7, then 1, 6, then 3, 8", sum.Generators)
				}
			})
		})
	}
}

// figuresOf are the counts of a result, its histograms and its course, as a document has them.
func figuresOf(t *testing.T, r *Result) string {
	t.Helper()
	for i := range r.Course.Intervals {
		r.Course.Intervals[i].GeneratorCPU = 0 // real, not of the bubble
	}
	text, err := json.MarshalIndent(struct {
		Counts
		Throughput float64
		Length     time.Duration
	}{r.Counts, r.ThroughputPerSec, r.Duration}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A lost part makes the result unreliable, and keeps what the others have.
func TestTogetherWithoutOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := Plan{VUs: 2, Duration: time.Second}
		plans, err := plan.Split([]int{1, 1})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), "odd", &odd{}, plans[0])
		if err != nil {
			t.Fatal(err)
		}
		sum := Together(plan, "", []Part{{Generator{Name: "b", Lost: "gone"}, nil}, {Generator{Name: "a"}, r}})
		if w := sum.Refusal(stat.HigherIsFaster); w == nil || !w.Is(finding.WorkerLost) || !strings.Contains(w.Text, "1 of 2") || !strings.Contains(w.Text, "b (gone)") {
			t.Errorf("%v, want worker_lost with the name", w)
		}
		if sum.Completed != r.Completed || sum.Completed == 0 {
			t.Errorf("%d right answers, want the %d of the other", sum.Completed, r.Completed)
		}
	})
}

// Parts that nobody could drive are refused; of few iterations some generators have none.
func TestSplitOfFew(t *testing.T) {
	t.Parallel()
	if _, err := (Plan{VUs: 2}).Split([]int{1, 1, 1}); err == nil || !strings.Contains(err.Error(), "concurrency 2 cannot be divided by weights of 3") {
		t.Errorf("2 VUs of 3: %v", err)
	}
	plans, err := Plan{VUs: 8, Iterations: 2}.Split([]int{3, 1}) // in the order a a b a
	if err != nil || plans[0].Iterations != 2 || plans[1].Iterations != 0 || plans[0].VUs != 6 {
		t.Errorf("%+v, %v", plans, err)
	}
}

// Over runs a generator used what it used, of all that it could get: 1 of 2 s and 1 of 4 s are 2 of 6 s.
func TestGeneratorsOverRuns(t *testing.T) {
	t.Parallel()
	sum := mergeGenerators(nil, []Generator{{Name: "a", CPUSec: 1, CPUShare: 0.5}, {Name: "b", CPUSec: 1}})
	sum = mergeGenerators(sum, []Generator{{Name: "a", CPUSec: 1, CPUShare: 0.25}, {Name: "b", CPUSec: 1, CPUShare: 0.5}})
	if a, b := sum[0], sum[1]; a.CPUSec != 2 || math.Abs(a.CPUShare-2.0/6) > 1e-9 || b.CPUSec != 2 || b.CPUShare != 0 {
		t.Errorf("%+v, want 2 s of 6 s, and 2 s of an unknown time", sum)
	}
}

// Every field of an interval arrives, except the quantiles, which follow from its times.
func TestSentCourse(t *testing.T) {
	t.Parallel()
	var in Interval
	fields := reflect.ValueOf(&in).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i); {
		case f.Kind() == reflect.Int64:
			f.SetInt(int64(1000 + i))
		case f.Kind() == reflect.Map:
			in.Errored = map[errkind.Kind]int64{"refused": 7, "timeout": 8}
		}
	}
	for range 100 {
		in.times.record(500)
	}
	sent := &Course{Width: time.Second, Warmup: 1, Intervals: []Interval{{}, in}}
	sent.close()
	got, rest, err := readCourse(append(sent.appendBinary(nil), "rest"...))
	if err != nil || string(rest) != "rest" || !reflect.DeepEqual(got, sent) {
		t.Errorf("got %+v, then %q, %v\nwant %+v", got, rest, err, sent)
	}
}

// What a coordinator does with each result.
func BenchmarkReadSent(b *testing.B) {
	r := sentOf(b)
	b.SetBytes(int64(len(r)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadSent(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTogether(b *testing.B) {
	r, err := ReadSent(sentOf(b))
	if err != nil {
		b.Fatal(err)
	}
	parts := make([]Part, 100)
	for i := range parts {
		parts[i] = Part{Generator{Name: strconv.Itoa(i)}, r}
	}
	b.ReportAllocs()
	for b.Loop() {
		Together(r.Plan, "", parts)
	}
}

// sentOf is what is sent of a second of 200 callers whose answers take 10 µs to about 30 ms.
func sentOf(b *testing.B) []byte {
	r, err := Run(b.Context(), "spread", Func(func(context.Context) (Outcome, error) {
		time.Sleep(10*time.Microsecond + time.Duration(rand.ExpFloat64()*float64(3*time.Millisecond)))
		return Outcome{}, nil
	}), Plan{VUs: 200, Duration: time.Second, Grace: time.Second, Share: pace.Shares([]int{1})[0]})
	if err != nil {
		b.Fatal(err)
	}
	sent, err := r.AppendBinary(nil)
	if err != nil {
		b.Fatal(err)
	}
	return sent
}

// A result that was sent and damaged is refused or is one that adds up.
func FuzzReadSent(f *testing.F) {
	r, err := Run(f.Context(), "odd", &odd{}, Plan{VUs: 2, Iterations: 20, Share: pace.Shares([]int{1, 1})[0]})
	if err != nil {
		f.Fatal(err)
	}
	sent, err := r.AppendBinary(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sent)
	f.Add(sent[:len(sent)/2])
	f.Add(append(bytes.Clone(sent), 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ReadSent(b)
		if err != nil {
			return
		}
		if got.Accounted() != got.Planned || got.Response.Count() != got.Completed {
			t.Fatalf("%d planned, %d accounted for, %d response times of %d", got.Planned, got.Accounted(), got.Response.Count(), got.Completed)
		}
		Together(got.Plan, "", []Part{{Result: got}})
	})
}
