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

// Each figure has one form on all pages.
func TestForms(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{unit.Duration(719), "719 ns"}, {unit.Duration(1.6349e6), "1.63 ms"}, {unit.Duration(999.6), "1.00 µs"}, {unit.Duration(15.4e9), "15.4 s"}, {unit.Duration(-2e6), "-2.00 ms"},
		{unit.Digits(0.00003456), "0.0000346"}, {unit.Digits(5547.4), "5,547"}, {unit.Digits(0), "0"}, {unit.Digits(math.Inf(1)), "+Inf"},
		{unit.Number(185312), "185,312"}, {unit.Number(2.5), "2.50"}, {unit.Count(1000), "1,000"}, {unit.Count(int64(-1234567)), "-1,234,567"}, {unit.Rate(185312), "185,312/s"}, {unit.Exactly(1234.5678), "1,234.5678"},
		{unit.Percent(0.00568), "0.568%"}, {unit.Percent(0.05), "5%"}, {unit.Percent(0.99999), "99.999%"}, {unit.Percent(1), "100%"}, {unit.Percent(12.34), "1,230%"},
		{unit.Change(1.036), "+3.6%"}, {unit.Change(0.9), "-10.0%"}, {unit.Change(1.0001), "0.0%"}, {unit.Change(2.954), "2.95×"}, {unit.Change(0.4), "0.400×"}, {unit.Difference(0.964), "3.6%"},
		{unit.Bytes(999), "999 B"}, {unit.Bytes(999_600), "1.00 MB"}, {unit.Bytes(1.5e3), "1.50 kB"}, {unit.Bytes(2e9), "2.00 GB"},
		{unit.Exactly(unit.Rounded(1234.5, 2)), "1,200"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}
