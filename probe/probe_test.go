package probe

import (
	"runtime"
	"testing"
	"time"

	"contend/internal/testenv"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChange(t *testing.T) {
	near := Sample{98, 12 * time.Microsecond, 20 * time.Microsecond}
	tests := []struct {
		name string
		now  Sample
		want string
	}{
		{"the same", near, ""},
		{"noise", Sample{145, 40 * time.Microsecond, 22 * time.Microsecond}, ""},
		{"far", Sample{447, near.Wakeup, near.Loop}, "core-to-core round trip 98.0 ns → 447 ns"},
		{"slow", Sample{98, near.Wakeup, 24 * time.Microsecond}, "plain arithmetic 20.0 µs → 24.0 µs"},
		{"two", Sample{447, 1234567, 20 * time.Microsecond},
			"core-to-core round trip 98.0 ns → 447 ns, wake-up 12.0 µs → 1.23 ms"},
		{"not measured", Sample{0, 0, 20 * time.Microsecond}, ""},
	}
	for _, tt := range tests {
		if got := near.change(tt.now); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestLike(t *testing.T) {
	samples := rapid.Custom(func(t *rapid.T) Sample {
		figure := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, 1000).Draw(t, name))
		}
		return Sample{figure("round trip"), figure("wakeup"), figure("loop")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := samples.Draw(t, "a"), samples.Draw(t, "b")
		if !a.Like(a) {
			t.Error("not like itself")
		}
		if a.Like(b) != b.Like(a) {
			t.Error("not symmetric")
		}
		if !a.Like(Sample{}) {
			t.Error("figures that are missing count")
		}
	})
}

// bounded fails where Take needs far longer than it may: the limits leave out
// the time that its threads wait for a CPU to end on.
func bounded(t *testing.T) Sample {
	t.Helper()
	start := time.Now()
	s := Take()
	if took := time.Since(start); took > testenv.Patience {
		t.Errorf("took %v", took)
	}
	for _, figure := range []time.Duration{s.RoundTrip, s.Wakeup, s.Loop} {
		if figure < 0 || figure > time.Second {
			t.Errorf("implausible: %+v", s)
		}
	}
	return s
}

// eventually collects what the samples show until that is enough: a machine
// that others keep busy leaves figures out.
func eventually(t *testing.T, take func() Sample, enough func(Sample) bool) {
	t.Helper()
	var seen Sample
	for began := time.Now(); time.Since(began) < testenv.Patience; {
		s := take()
		seen = Sample{max(seen.RoundTrip, s.RoundTrip), max(seen.Wakeup, s.Wakeup), max(seen.Loop, s.Loop)}
		if enough(seen) {
			return
		}
	}
	t.Errorf("not everything was measured in %v: %+v", testenv.Patience, seen)
}

func TestTake(t *testing.T) {
	exchanges := runtime.GOMAXPROCS(0) > 1
	cpus, _ := CPUs() // none where threads cannot be pinned
	eventually(t, func() Sample { return bounded(t) }, func(s Sample) bool {
		return s.Loop > 0 && (s.Wakeup > 0) == exchanges && (s.RoundTrip > 0) == (exchanges && len(cpus) != 1)
	})
}

func TestTakeOnOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if s := bounded(t); s.RoundTrip != 0 || s.Wakeup != 0 {
		t.Errorf("exchanges between threads that cannot run together: %+v", s)
	}
}

func BenchmarkTake(b *testing.B) {
	for b.Loop() {
		Take()
	}
}
