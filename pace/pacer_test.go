package pace

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestScheduleDueTimes(t *testing.T) {
	tests := []struct {
		pacer string
		index int
		want  time.Duration
	}{
		{"constant:1", 0, 0},
		{"constant:1", 1, time.Second},                      // 1 / 1
		{"constant:3", 1, 333333333},                        // 1 / 3, rounded to 1 ns
		{"constant:3", 3, time.Second},                      // 3 / 3: no rounded periods add up
		{"constant:5000", 5000 * 3600, time.Hour},           // exact after 18 million arrivals
		{"ramp:0-100/10s", 0, 0},                            //
		{"ramp:0-100/10s", 125, 5 * time.Second},            // 5 t² = 125
		{"ramp:0-100/10s", 500, 10 * time.Second},           // area of the ramp: 100·10/2
		{"ramp:0-100/10s", 600, 11 * time.Second},           // then 100 per second
		{"ramp:100-0/10s", 375, 5 * time.Second},            // 100 t − 5 t² = 375
		{"ramp:100-0/10s", 500, Never},                      // then the rate is 0
		{"steps:10/1s,100/1s", 10, time.Second},             // ten in the first second
		{"steps:10/1s,100/1s", 60, 1500 * time.Millisecond}, // 10 + 100·0.5
		{"steps:0/5s,10", 0, 5 * time.Second},               // nothing in the first stage
		{"steps:0/5s,10", 10, 6 * time.Second},
		{"2.5", 5, 2 * time.Second},   // a bare number is a constant rate
		{"2.5/s", 5, 2 * time.Second}, // as pages print it
		{"steps:10/s/1s,100/s/1s", 60, 1500 * time.Millisecond},
	}
	for _, tt := range tests {
		p, err := Parse(tt.pacer)
		if err != nil {
			t.Fatal(err)
		}
		s := p.Schedule(1)
		var due time.Duration
		for range tt.index + 1 {
			due = s.Next()
		}
		if due != tt.want {
			t.Errorf("%s: arrival %d is due at %v, want %v", tt.pacer, tt.index, due, tt.want)
		}
	}
}

func TestPlannedArrivals(t *testing.T) {
	tests := []struct {
		pacer    string
		from, to time.Duration
		limit    int64
		want     int64
	}{
		{"constant:5000", 0, 30 * time.Second, 0, 150_000},
		{"constant:10", 500 * time.Millisecond, time.Second, 0, 5}, // 0.5 … 0.9
		{"ramp:0-100/10s", 0, 10 * time.Second, 0, 500},
		{"steps:10/1s,0/1s", 0, time.Minute, 0, 10},
		{"constant:10", time.Second, time.Hour, 7, 7}, // of 35,990
		{"constant:10", 0, time.Second, 10, 10},
		{"constant:10", 0, time.Second, 11, 10}, // there are no more
		{"constant:10", 0, 0, 0, 0},
	}
	for _, tt := range tests {
		p, err := Parse(tt.pacer)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Planned(1, tt.from, tt.to, tt.limit); got != tt.want {
			t.Errorf("%s plans %d arrivals in [%v, %v) of at most %d, want %d", tt.pacer, got, tt.from, tt.to, tt.limit, tt.want)
		}
	}
}

func TestLengthAndFlat(t *testing.T) {
	tests := []struct {
		pacer  string
		length time.Duration // 0: for ever
		flat   bool
	}{
		{"constant:5", 0, true},
		{"constant:5/2s", 2 * time.Second, true},
		{"ramp:0-5/10s", 10 * time.Second, false},
		{"steps:5/1s,5/2s", 3 * time.Second, true},
		{"steps:5/1s,6/2s", 3 * time.Second, false},
		{"steps:5/1s,6", 0, false},
		{"poisson:5", 0, true},
	}
	for _, tt := range tests {
		p, err := Parse(tt.pacer)
		if err != nil {
			t.Fatal(err)
		}
		if p.Length() != tt.length || p.Flat() != tt.flat {
			t.Errorf("%s: length %v, flat %v; want %v, %v", tt.pacer, p.Length(), p.Flat(), tt.length, tt.flat)
		}
	}
	if none := (*Pacer)(nil); !none.Flat() {
		t.Error("no pacer is not flat")
	}
}

// The count of a Poisson process in T at rate r has mean rT and variance rT:
// 100 000 ± 5·316. The gaps' coefficient of variation is 1; that of n gaps
// varies by about 1/√n.
func TestPoisson(t *testing.T) {
	p, err := Parse("poisson:1000")
	if err != nil {
		t.Fatal(err)
	}
	const n = 100_000
	s := p.Schedule(7)
	var last time.Duration
	var sum, squares float64
	for range n {
		due := s.Next()
		gap := (due - last).Seconds()
		sum += gap
		squares += gap * gap
		last = due
	}
	mean := sum / n
	cv := math.Sqrt(squares/n-mean*mean) / mean
	if math.Abs(mean-0.001) > 5*0.001/math.Sqrt(n) || math.Abs(cv-1) > 5/math.Sqrt(n) {
		t.Errorf("mean gap %v s, coefficient of variation %v; want 0.001 and 1", mean, cv)
	}
	a, b := p.Schedule(7), p.Schedule(8)
	if a.Next() == b.Next() {
		t.Error("two seeds gave the same first arrival")
	}
}

// For any stages, due times never decrease, the count up to t is the integral
// of the rate up to t (±1, evenly spaced), and the text form round-trips.
func TestPacerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Pacer{poisson: rapid.Bool().Draw(t, "poisson")}
		var integral float64
		var length time.Duration
		for range rapid.IntRange(1, 4).Draw(t, "stages") {
			s := stage{
				from:   float64(rapid.IntRange(0, 500).Draw(t, "from")),
				to:     float64(rapid.IntRange(0, 500).Draw(t, "to")),
				length: time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond,
			}
			p.stages = append(p.stages, s)
			integral += (s.from + s.to) / 2 * s.length.Seconds()
			length += s.length
		}
		s := p.Schedule(1)
		var last time.Duration
		var n float64
		for range 3000 {
			due := s.Next()
			if due < last {
				t.Fatalf("due %v after %v", due, last)
			}
			last = due
			if due < length {
				n++
			}
		}
		if !p.poisson && last >= length && math.Abs(n-integral) > 1 {
			t.Errorf("%s: %v arrivals in %v, the rate's integral is %v", p, n, length, integral)
		}
		if integral == 0 {
			return // all rates 0 is refused
		}
		again, err := Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q reads back as %v, %v", p.String(), again, err)
		}
	})
}

func TestParseMistakes(t *testing.T) {
	for _, text := range []string{
		"", "fast", "constant:", "constant:-5", "constant:NaN", "constant:0", "constant:5,6", "constant:1-2/1s",
		"ramp:5", "ramp:0-5", "ramp:0-5/x", "ramp:0-5/-1s", "steps:1,2", "sine:5", "poisson:", "constant:1e99",
		"steps:fast/1s,5", "steps:-5/1s,5", "steps:NaN/1s,5", "steps:1000000001/1s,5", "steps:5/1s,fast", // another rate does not excuse it
	} {
		if p, err := Parse(text); err == nil {
			t.Errorf("%q was read as %v", text, p)
		}
	}
}

func TestParseBounds(t *testing.T) {
	for _, text := range []string{"constant:1000000000", "steps:0/1s,5", "ramp:5-0/1ns", "poisson:0.001"} {
		if p, err := Parse(text); err != nil || p.String() != text {
			t.Errorf("%q was read as %v, %v", text, p, err)
		}
	}
}

func TestTextForm(t *testing.T) {
	var p Pacer
	if err := p.UnmarshalText([]byte("ramp:0-5/10s")); err != nil || p.String() != "ramp:0-5/10s" {
		t.Errorf("read as %v, %v", &p, err)
	}
	if err := p.UnmarshalText([]byte("fast")); err == nil || p.String() != "ramp:0-5/10s" {
		t.Errorf("a mistake was read as %v, %v", &p, err)
	}
	if text, err := p.MarshalText(); err != nil || string(text) != "ramp:0-5/10s" {
		t.Errorf("written as %q, %v", text, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"constant:5000", "ramp:0-5000/30s", "steps:1/1s,2-3/4s", "poisson:2000", "5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q: text form %q reads back as %v, %v", text, p, again, err)
		}
		s := p.Schedule(1)
		var last time.Duration
		for range 100 {
			due := s.Next()
			if due < last {
				t.Fatalf("%q: due %v after %v", text, due, last)
			}
			last = due
		}
	})
}
