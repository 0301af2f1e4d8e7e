package load

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"contend/errkind"
	"contend/hist"
)

// bySecond is a course of intervals of a second that have only the counts given: all that
// completed took no time.
func bySecond(list ...Interval) *Course {
	c := &Course{Width: time.Second, Intervals: list}
	for i := range list {
		in := &c.Intervals[i]
		in.Ops = in.Completed
		in.times.cover(0, 1)
		in.times.counts[0] = in.Completed
	}
	c.Close()
	return c
}

// A moment is in the interval that holds it, whatever came before.
func TestCourseDoubles(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		warmup, last     time.Duration
		width            time.Duration
		before, measured int
	}{
		{0, 0, 62500 * time.Microsecond, 0, 1},
		{0, time.Second - 1, 62500 * time.Microsecond, 0, 16},
		{0, 10*time.Second - 1, 62500 * time.Microsecond, 0, 160},
		{0, 18750*ms - 1, 62500 * time.Microsecond, 0, 300},
		{0, 18750 * ms, 125 * ms, 0, 151},
		{100 * ms, 18750 * ms, 125 * ms, 1, 151}, // two of 62.5 ms before
		{150 * ms, 18750 * ms, 125 * ms, 2, 151}, // three
		{time.Minute, 0, 250 * ms, 240, 1},
		{0, 24*time.Hour - 1, 512 * time.Second, 0, 169},
		{time.Hour, 720*time.Hour - 1, 16384 * time.Second, 1, 159},
	} {
		c := NewCourse(tt.warmup)
		c.At(-tt.warmup).Failed++
		c.At(0).Completed++
		c.At(tt.last).Completed++
		if c.Width != tt.width || c.Warmup != tt.before || len(c.Intervals) != tt.before+tt.measured {
			t.Errorf("%v and %v: intervals of %v, %d and %d", tt.warmup, tt.last, c.Width, c.Warmup, len(c.Intervals)-c.Warmup)
		}
		first := c.Intervals[0].Failed
		window := c.Intervals[c.Warmup:]
		if first != 1 || window[0].Completed == 0 || window[len(window)-1].Completed == 0 {
			t.Errorf("%v and %v: counted elsewhere", tt.warmup, tt.last)
		}
	}
}

// Courses of parts of a run add up to that of all of it, in any order, and that has what a
// list of all times says: counts by the interval of the end, quantiles of these.
func TestCourseAddsUpExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		warmup := time.Duration(rapid.Int64Range(0, 4e9).Draw(t, "warm-up"))
		longest := rapid.SampledFrom([]int64{1e8, 1e10, 1e12}).Draw(t, "longest")
		ends := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(-int64(warmup), longest).Draw(t, "end"))
		}), 1, 60).Draw(t, "ends")
		all, shards := NewCourse(warmup), []*Course{NewCourse(warmup), NewCourse(warmup), NewCourse(warmup)}
		for i, end := range ends {
			for _, c := range []*Course{all, shards[i%len(shards)]} {
				took := (end + warmup) / time.Duration(1+i%7)
				switch in := c.At(end); i % 5 {
				case 3:
					in.Failed++
				case 4:
					in.errored(errkind.Timeout)
				default:
					in.completed(took, took/2, 2)
				}
			}
		}
		order := rapid.Permutation([]int{0, 1, 2}).Draw(t, "order")
		sum := shards[order[0]]
		if rapid.Bool().Draw(t, "in two steps") {
			shards[order[1]].Add(shards[order[2]])
			sum.Add(shards[order[1]])
		} else {
			sum.Add(shards[order[1]])
			sum.Add(shards[order[2]])
		}
		all.Close()
		sum.Close()
		want, _ := json.Marshal(all)
		if got, _ := json.Marshal(sum); string(got) != string(want) {
			t.Fatalf("%s, want\n%s", got, want)
		}
		checkCourse(t, sum, warmup, ends)
	})
}

// checkCourse compares a course with the list of all ends, of the iterations of
// TestCourseAddsUpExactly.
func checkCourse(t *rapid.T, c *Course, warmup time.Duration, ends []time.Duration) {
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	times := make([][]time.Duration, len(c.Intervals))
	ended := make([]int64, len(c.Intervals))
	before := time.Duration(c.Warmup) * c.Width
	var measured int64
	for i, end := range ends {
		n := int((end + before) / c.Width)
		ended[n]++
		if i%5 < 3 {
			times[n] = append(times[n], (end+warmup)/time.Duration(1+i%7))
			if n >= c.Warmup {
				measured++
			}
		}
	}
	if (c.Warmup-1)*int(c.Width) >= int(warmup) && c.Warmup > 0 || before < warmup {
		t.Fatalf("%d intervals of %v for a warm-up of %v", c.Warmup, c.Width, warmup)
	}
	for i, in := range c.Intervals {
		if in.Completed != int64(len(times[i])) || in.Ops != 2*in.Completed || in.Completed+in.Failed+in.erroredTotal() != ended[i] {
			t.Fatalf("interval %d has %+v, want %d of %d", i, in, len(times[i]), ended[i])
		}
		slices.Sort(times[i])
		for q, got := range map[float64]time.Duration{0.5: in.ResponseP50, 0.9: in.ResponseP90, 0.99: in.ResponseP99, 0.999: in.ResponseP999, 1: in.ResponseMax} {
			want := time.Duration(0)
			if n := len(times[i]); n > 0 {
				want = times[i][max(0, int(math.Ceil(q*float64(n)-1e-9))-1)]
			}
			if off := max(got-want, want-got); off > want/64+1 || q == 1 && off != 0 {
				t.Fatalf("quantile %v of %v is %v, want %v", q, times[i], got, want)
			}
		}
	}
	if got := c.Heatmap.measured(); got != measured {
		t.Fatalf("%d in the heatmap, want %d", got, measured)
	}
}

// checkOverTime checks that what ended over time adds up to the result, in each of its kinds, and
// what was due, too, where that is known.
func checkOverTime(t interface{ Errorf(string, ...any) }, r *Result) {
	var sum Interval
	for i, in := range r.Course.Intervals {
		if i >= r.Course.Warmup {
			sum.add(&in)
		} else if in.Planned+in.Dropped+in.Carried > 0 {
			t.Errorf("in the warm-up there are %+v", in)
		}
	}
	if r.Model != OpenModel { // of a mix, what arrives has been planned over time, and what is not told here
		sum.Planned, sum.Dropped = 0, 0
		sum.Planned, sum.Dropped = sum.Planned+r.Planned, sum.Dropped+r.Dropped
	}
	if sum.Planned != r.Planned || sum.Completed != r.Completed || sum.Failed != r.Failed || sum.Dropped != r.Dropped || sum.Ops != r.Ops {
		t.Errorf("over time planned %d, completed %d, failed %d, dropped %d, operations %d; want %d, %d, %d, %d, %d",
			sum.Planned, sum.Completed, sum.Failed, sum.Dropped, sum.Ops, r.Planned, r.Completed, r.Failed, r.Dropped, r.Ops)
	}
	if len(sum.Errored)+len(r.Errored) > 0 && !reflect.DeepEqual(sum.Errored, r.Errored) {
		t.Errorf("over time %v, want %v", sum.Errored, r.Errored)
	}
	if missed := r.Course.misses(&r.Counts); missed != "" {
		t.Errorf("misses %s", missed)
	}
	if sum.ResponseMax != r.Response.Max() || sum.StartLagMax != r.StartLag.Max() {
		t.Errorf("the longest response time is %v, start lag %v; want %v, %v", sum.ResponseMax, sum.StartLagMax, r.Response.Max(), r.StartLag.Max())
	}
}

// Each time is in the row whose edges contain it, and each column has its intervals.
func TestHeatmap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCourse(time.Duration(rapid.Int64Range(0, 30e9).Draw(t, "warm-up")))
		times := rapid.SliceOfN(rapid.Int64Range(0, rapid.SampledFrom([]int64{10, 1e6, 3.6e12}).Draw(t, "longest")), 1, 50).Draw(t, "times")
		type cell struct{ column, row int }
		for i, took := range times {
			c.At(time.Duration(i)*777*time.Millisecond).completed(time.Duration(took), 0, 1)
		}
		c.Close()
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		h, want := c.Heatmap, map[cell]int64{}
		for i, took := range times {
			interval := int(time.Duration(i) * 777 * time.Millisecond / c.Width)
			row, exact := slices.BinarySearch(h.Edges, time.Duration(took))
			if !exact {
				row--
			}
			want[cell{h.Warmup + interval/h.PerColumn, row}]++
		}
		got := map[cell]int64{}
		for x, column := range h.Columns {
			for y, n := range column {
				if n > 0 {
					got[cell{x, y}] = n
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, want %v; edges %v", got, want, h.Edges)
		}
	})
}

func TestHeatColumnText(t *testing.T) {
	for _, tt := range []struct {
		column HeatColumn
		text   string
	}{{nil, ""}, {HeatColumn{5}, "0 5"}, {HeatColumn{0, 0, 1, 0, 12}, "2 1 0 12"}} {
		got, _ := tt.column.MarshalText()
		var again HeatColumn
		if err := again.UnmarshalText(got); string(got) != tt.text || err != nil || !slices.Equal(again, tt.column) {
			t.Errorf("%v is %q, read %v, %v; want %q", tt.column, got, again, err, tt.text)
		}
	}
	for _, text := range []string{"x", "-1 2", "3 x", "3 -1", "151 1 2", "9999999999 1", "152 1", "1000000000"} {
		if err := new(HeatColumn).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// The document of a run of 24 h at 1000/s: each interval has its own quantiles, all kinds
// of errors, and times from microseconds to seconds.
func TestCourseOfADayIsSmall(t *testing.T) {
	c := NewCourse(time.Minute)
	for i := range 24 * 3600 {
		end := time.Duration(i) * time.Second
		for n := range 10 {
			took := time.Duration(1 + i%997 + n*n*n*1000)
			c.At(end).completed(took*took, took, 1)
		}
		c.At(end).Failed++
		c.At(end).Planned += 1000
		for _, kind := range errkind.All() {
			c.At(end).errored(kind)
		}
	}
	c.Close()
	data, err := json.MarshalIndent(c, "", " ")
	if err != nil || len(data) > 300_000 || len(c.Intervals) < maxIntervals/2 {
		t.Errorf("%d intervals take %d bytes (%v)", len(c.Intervals), len(data), err)
	}
}

func TestImpossibleCourses(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"interval_ns":-1}`, `{"interval_ns":9223372036854775807}`, `{"interval_ns":1,"warmup_intervals":1}`,
		`{"interval_ns":1,"warmup_intervals":-1,"intervals":[{}]}`,
		`{"interval_ns":1,"heatmap":{"intervals_per_column":0,"edges_ns":[0,1]}}`,
		`{"interval_ns":1,"heatmap":{"intervals_per_column":1,"edges_ns":[0]}}`,
		`{"interval_ns":1,"heatmap":{"intervals_per_column":1,"edges_ns":[1,1]}}`,
		`{"interval_ns":1,"heatmap":{"intervals_per_column":1,"edges_ns":[-1,1]}}`,
		`{"interval_ns":1,"heatmap":{"intervals_per_column":1,"warmup_columns":1,"edges_ns":[0,1]}}`,
		`{"interval_ns":1,"heatmap":{"intervals_per_column":1,"edges_ns":[0,1],"columns":["1 7"]}}`,
	} {
		var c Course
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if c.Validate() == nil {
			t.Errorf("%s is possible", text)
		}
	}
}

// A document of contend/1 has seconds.
func TestSecondsOfOlderDocuments(t *testing.T) {
	r := &Result{Duration: 700 * time.Second}
	if r.OverTime() != nil {
		t.Error("nothing has a course")
	}
	for range 700 {
		r.Series = append(r.Series, Second{Completed: 3, Failed: 2, Errored: 1, ResponseSum: 5})
	}
	c := r.OverTime()
	if c.Width != 4*time.Second || len(c.Intervals) != 175 {
		t.Fatalf("%d intervals of %v", len(c.Intervals), c.Width)
	}
	if in := c.Intervals[174]; in.Completed != 12 || in.Failed != 8 || in.erroredTotal() != 4 || in.ResponseSum != 20 {
		t.Errorf("%+v", in)
	}
}

// What the warm-up completes shows before the window; what it leaves unfinished is carried
// into it. One caller, 300 ms an iteration, due at 0, 300, …; the window opens after 1 s.
func TestWarmupOverTime(t *testing.T) {
	r := inBubble(t, sleeper(300*time.Millisecond), Plan{VUs: 1, Warmup: time.Second, Duration: 2 * time.Second, Grace: DefaultGrace})
	c := r.Course
	got := map[string]int64{}
	for i, in := range c.Intervals {
		at := time.Duration(i-c.Warmup) * c.Width
		if in.Completed+in.Carried > 0 {
			got[fmt.Sprint(at.Truncate(100*time.Millisecond))] += 100*in.Carried + in.Completed
		}
	}
	// Ends at -700, -400, -100; at 200 what was due at -100; and at 500 and later. 62.5 ms each.
	want := map[string]int64{"-700ms": 1, "-400ms": 1, "-100ms": 1, "100ms": 100, "500ms": 1, "700ms": 1, "1s": 1, "1.3s": 1, "1.6s": 1, "2s": 1}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Steady use by a server is the same in each interval, and all of it is somewhere.
func TestCPUOverTime(t *testing.T) {
	var base time.Time
	synctest.Test(t, func(t *testing.T) {
		base = time.Now()
		r, err := Run(t.Context(), "test", sleeper(10*time.Millisecond), Plan{VUs: 1, Warmup: 100 * time.Millisecond, Duration: 20 * time.Second,
			Grace: DefaultGrace, ServerCPU: func() time.Duration { return time.Since(base) / 2 }})
		if err != nil {
			t.Fatal(err)
		}
		c, all := r.Course, time.Duration(0)
		for i, in := range c.Intervals {
			all += in.ServerCPU
			whole := i > 0 && i+1 < len(c.Intervals)
			if off := in.ServerCPU - c.Width/2; whole && (off < -2 || off > 2) || in.GeneratorCPU < 0 {
				t.Errorf("interval %d: the server used %v, want %v", i, in.ServerCPU, c.Width/2)
			}
		}
		if want := time.Since(base) / 2; all != want {
			t.Errorf("%v in all, want %v", all, want)
		}
	})
}

// CPU time is where it was used, whatever the width of the intervals.
func TestSpendAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, at, want := NewCourse(time.Second), -time.Second, [2]time.Duration{}
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			to := at + time.Duration(rapid.Int64Range(1, 1e11).Draw(t, "later"))
			used := time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "used"))
			c.spend(at, to, used, 2*used)
			at, want = to, [2]time.Duration{want[0] + used, want[1] + 2*used}
		}
		var sum Interval
		for i := range c.Intervals {
			sum.add(&c.Intervals[i])
		}
		if got := [2]time.Duration{sum.GeneratorCPU, sum.ServerCPU}; got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// The times of rounds are in the rows as those of intervals are.
func TestHeatmapOfRounds(t *testing.T) {
	rounds := make([]*hist.Histogram, 61) // one more than there are columns
	for i := range rounds {
		rounds[i] = hist.New()
		rounds[i].RecordN(time.Duration(1+i)*time.Millisecond, int64(1+i))
	}
	h := HeatmapOf(rounds...)
	if h.PerColumn != 2 || len(h.Columns) != 31 || h.measured() != 61*62/2 {
		t.Fatalf("%d columns of %d with %d", len(h.Columns), h.PerColumn, h.measured())
	}
	if last := h.Columns[30]; len(last) != len(h.Edges)-1 || last[len(last)-1] != 61 || h.Edges[len(last)-1] > 61*time.Millisecond || h.Edges[len(last)] <= 61*time.Millisecond {
		t.Errorf("the last round is in %v of %v", last, h.Edges)
	}
	if HeatmapOf() != nil || HeatmapOf(hist.New()) != nil {
		t.Error("nothing has a heatmap")
	}
}
