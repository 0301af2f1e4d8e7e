package sink

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func (a *account) gaps() int64 {
	_, missing := a.count()
	return missing
}

func (s *solver) gaps() int64 {
	_, missing := s.count()
	return missing
}

func TestAccount(t *testing.T) {
	tests := []struct {
		fcnts                 []uint32
		reordered, duplicated int
		gaps                  int64
	}{
		{nil, 0, 0, 0},
		{[]uint32{0, 1, 2, 3}, 0, 0, 0},
		{[]uint32{0, 2, 1, 3}, 1, 0, 0},       // 1 after 2
		{[]uint32{0, 2, 2, 1, 1, 3}, 1, 2, 0}, // a late copy is a duplicate, not reordered
		{[]uint32{5}, 0, 0, 5},                // 0 to 4
		{[]uint32{0, 63, 64, 128}, 0, 0, 125}, // 129 − 4
		{[]uint32{70_000, 3}, 1, 0, 69_999},   // 70 001 − 2
	}
	for _, tt := range tests {
		var a account
		var got [3]int
		for _, n := range tt.fcnts {
			got[a.note(n)]++
		}
		if got[reordered] != tt.reordered || got[duplicated] != tt.duplicated || a.gaps() != tt.gaps {
			t.Errorf("%v: %d reordered, %d duplicated, %d missing; want %d, %d, %d", tt.fcnts,
				got[reordered], got[duplicated], a.gaps(), tt.reordered, tt.duplicated, tt.gaps)
		}
	}
}

func TestGapsBelowTheEndMarker(t *testing.T) {
	a := account{end: 10} // counters 0 to 9
	if a.gaps() != 10 {
		t.Errorf("%d missing of 10 that never came", a.gaps())
	}
	for n := range uint32(8) {
		a.note(n)
	}
	if a.gaps() != 2 {
		t.Errorf("%d missing, want 8 and 9", a.gaps())
	}
}

// Against a set: each counter has one first copy, and those are reordered that
// come after a higher one.
func TestAccountProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fcnts := rapid.SliceOf(rapid.Uint32Range(0, 300)).Draw(t, "counters")
		var a account
		seen := map[uint32]bool{}
		for i, n := range fcnts {
			want := inOrder
			if seen[n] {
				want = duplicated
			} else if i > 0 && n < slices.Max(fcnts[:i]) {
				want = reordered
			}
			seen[n] = true
			if got := a.note(n); got != want {
				t.Fatalf("%d of %v is %d, want %d", i, fcnts, got, want)
			}
		}
		if len(fcnts) > 0 {
			if want := int64(slices.Max(fcnts)) + 1 - int64(len(seen)); a.gaps() != want {
				t.Fatalf("%v: %d missing, want %d", fcnts, a.gaps(), want)
			}
		}
	})
}

// A counter is among the candidates when it is less than 65536 below the highest,
// or less than 131072 above, and a sink that comes late finds the first one up to
// 64 · 65536.
func TestCandidates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a account
		limit := uint32(maxFresh<<16 - 1)
		highest := rapid.Uint32Range(0, limit).Draw(t, "highest")
		if !candidates(&a, uint16(highest))[highest] {
			t.Fatalf("%d is no candidate of a fresh account", highest)
		}
		a.highest, a.seen = highest, []uint64{1}
		fcnt := rapid.Uint32Range(max(highest, 1<<16)-1<<16, highest+1<<17-1).Draw(t, "counter")
		list := candidates(&a, uint16(fcnt))
		if !list[fcnt] || len(list) > 3 {
			t.Fatalf("candidates after %d are %v, want %d among them", highest, list, fcnt)
		}
		first, _ := a.candidate(uint16(fcnt), 0)
		if distance := math.Abs(float64(fcnt) - float64(highest)); distance < 1<<15 && first != fcnt {
			t.Fatalf("the first candidate after %d is %d, and %d is nearer", highest, first, fcnt)
		}
	})
}

func candidates(a *account, low uint16) map[uint32]bool {
	list := map[uint32]bool{}
	for n := 0; ; n++ {
		fcnt, ok := a.candidate(low, n)
		if !ok {
			return list
		}
		list[fcnt] = true
	}
}

func TestBackoff(t *testing.T) {
	const brief, long = time.Second, 5 * time.Second
	tests := []struct {
		first time.Duration
		lived []time.Duration
		want  []time.Duration // seconds
	}{
		{0, []time.Duration{brief, brief, brief, brief, brief}, []time.Duration{5, 10, 20, 30, 30}},
		{0, []time.Duration{long, brief, long, long}, []time.Duration{5, 10, 5, 5}},
		{time.Second, []time.Duration{brief, brief, brief, long, brief}, []time.Duration{1, 5, 10, 1, 5}},
	}
	for _, tt := range tests {
		b := backoff{first: tt.first}
		for i, lived := range tt.lived {
			if got := b.next(lived); got != tt.want[i]*time.Second {
				t.Errorf("first %v, connection %d of %v: %v, want %d s", tt.first, i, tt.lived, got, tt.want[i])
			}
		}
	}
}

func TestContains(t *testing.T) {
	for n := range 40 {
		list := make([]uint32, n)
		for i := range list {
			list[i] = uint32(i) + 1
		}
		for mic := range uint32(n + 2) {
			if got, want := contains(list, mic), mic >= 1 && int(mic) <= n; got != want {
				t.Errorf("%d in 1 … %d: %v", mic, n, got)
			}
		}
	}
}
