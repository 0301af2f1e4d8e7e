package unit_test

import (
	"math"
	"testing"

	"contend/internal/unit"
)

// Times next to each other are in the unit of the largest, with its decimals, or two digits of their own.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		largest, ns float64
		want        string
	}{
		{2290, 2290, "2.29 µs"},
		{2290, 597, "0.60 µs"},
		{2290, 41, "0.041 µs"}, // and not 0.04: two digits
		{2290, 4.6, "0.0046 µs"},
		{140_000, 140_000, "140 µs"},
		{140_000, 600, "0.60 µs"}, // and not 1
		{36.1, 9.88, "9.9 ns"},
		{36.1, 0.239, "0.24 ns"},
		{999.6, 719, "0.72 µs"}, // 1.00 µs is the largest
		{-5e6, 1e3, "0.0010 ms"},
		{5e6, 0, "0 ms"},
		{0, 0, "0 ns"},
		{10, math.NaN(), "NaN ns"},
		{3600e9, 1e9, "1.0 s"},
	} {
		if got := unit.TimesUpTo(1, c.largest).Format(c.ns); got != c.want {
			t.Errorf("%g beside %g: %q, want %q", c.ns, c.largest, got, c.want)
		}
	}
}

func TestSigned(t *testing.T) {
	times := unit.TimesUpTo(2000)
	for _, c := range []struct {
		ns   float64
		want string
	}{{2000, "+2.00 µs"}, {-500, "−0.50 µs"}, {0, "0 µs"}, {math.NaN(), "0 µs"}} {
		if got := times.Signed(c.ns); got != c.want {
			t.Errorf("%g: %q, want %q", c.ns, got, c.want)
		}
	}
}
