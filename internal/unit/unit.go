// Package unit writes amounts with their units.
package unit

import (
	"math"
	"strconv"
	"strings"
)

// times are the units of a time, and how many nanoseconds each has.
var times = []struct {
	name string
	size float64
}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}}

// of is the unit in which so many nanoseconds are written, as an index of times.
func of(ns float64) int {
	for i, unit := range times {
		if math.Abs(ns) >= unit.size*0.9995 {
			return i
		}
	}
	return len(times) - 1
}

// Duration writes nanoseconds with three significant digits or more: 719 ns, 1.63 ms, 15.4 s.
func Duration(ns float64) string {
	unit := times[of(ns)]
	return Digits(ns/unit.size) + " " + unit.name
}

// Digits keeps three significant digits, and all digits left of the point.
func Digits(x float64) string {
	_, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', 2, 64), "e")
	e, err := strconv.Atoi(exponent)
	if x == 0 || err != nil || e < -4 { // zero, not a number, or tiny
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	return strconv.FormatFloat(x, 'f', max(0, 2-e), 64)
}

// ThreeDigits rounds a number to three significant digits.
func ThreeDigits(x float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	return rounded
}

// Number writes a number with thousands set apart.
func Number(x float64) string {
	if !(math.Abs(x) >= 999.5) {
		if x == math.Trunc(x) {
			return strconv.FormatFloat(x, 'f', 0, 64)
		}
		return Digits(x)
	}
	whole := strconv.FormatFloat(math.Abs(x), 'f', 0, 64)
	var b strings.Builder
	if x < 0 {
		b.WriteByte('-')
	}
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Times are written in one unit, so that they can be compared and added up at a glance.
type Times struct {
	unit     int
	decimals int
}

// TimesUpTo are in the unit of the largest of them, in ns, and have as many digits behind the
// point as that has.
func TimesUpTo(largest ...float64) Times {
	most := 0.0
	for _, ns := range largest {
		most = max(most, math.Abs(ns))
	}
	unit := of(most)
	_, behind, _ := strings.Cut(Digits(most/times[unit].size), ".")
	return Times{unit, len(behind)}
}

// Amount is without the unit. What has no two significant digits with as many decimals as the largest
// has so many more: a small time is no zero.
func (t Times) Amount(ns float64) string {
	x := ns / times[t.unit].size
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'f', max(t.decimals, 1-int(math.Floor(math.Log10(math.Abs(x))))), 64)
}

// Format writes a time.
func (t Times) Format(ns float64) string { return t.Amount(ns) + " " + times[t.unit].name }

// Signed writes a difference of times.
func (t Times) Signed(ns float64) string { return Signed(ns, t.Format) }

// Signed writes a difference as amounts are written.
func Signed(value float64, amount func(float64) string) string {
	switch {
	case value > 0:
		return "+" + amount(value)
	case value < 0:
		return "−" + amount(-value)
	}
	return amount(0)
}
