// Package unit writes amounts, each of them in one form: three significant digits, and all digits left of
// the point; thousands set apart by commas; never an exponent; a space before a unit, but none before a
// percent sign or /s. What somebody typed is repeated as typed.
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

// Digits keeps three significant digits, and all digits left of the point: 0.0000346, 2.00, 5,547.
func Digits(x float64) string {
	_, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', 2, 64), "e")
	e, err := strconv.Atoi(exponent)
	if x == 0 || err != nil { // zero, or not a number
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return apart(strconv.FormatFloat(x, 'f', max(0, 2-e), 64))
}

// apart sets thousands apart left of the point.
func apart(number string) string {
	digits := strings.TrimPrefix(number, "-")
	if last := digits[len(digits)-1]; last < '0' || last > '9' { // not a number
		return number
	}
	whole, rest, _ := strings.Cut(digits, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return strings.TrimSuffix(number[:len(number)-len(digits)]+whole+"."+rest, ".")
}

// Number writes a number: all of a whole one, and three digits of others.
func Number(x float64) string {
	if x == math.Trunc(x) && !math.IsInf(x, 0) {
		return apart(strconv.FormatFloat(x, 'f', 0, 64))
	}
	return Digits(x)
}

// Count writes how many there are.
func Count[T ~int | ~int64](n T) string { return apart(strconv.FormatInt(int64(n), 10)) }

// Rate writes how many a second: 185,312/s.
func Rate(perSec float64) string { return Number(perSec) + "/s" }

// Factor writes a ratio: 2.95×.
func Factor(ratio float64) string { return Digits(ratio) + "×" }

// Percent writes a share with at most three digits: 0.568%, 5%, 92.5%. What is not all is not 100%.
func Percent(share float64) string {
	text := ""
	for digits := 2; digits < 6; digits++ {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(100*share, 'e', digits, 64), 64)
		if text = apart(strconv.FormatFloat(rounded, 'f', -1, 64)); rounded != 100 || share == 1 {
			break
		}
	}
	return text + "%"
}

// asFactor is the ratio at and above which a percentage says little.
const asFactor = 2

// AsFactor reports whether a ratio is written as one.
func AsFactor(ratio float64) bool { return max(ratio, 1/ratio) >= asFactor }

// Difference writes by how much a ratio differs from 1, without the sign: 3.6%.
func Difference(ratio float64) string {
	return apart(strconv.FormatFloat(100*math.Abs(ratio-1), 'f', 1, 64)) + "%"
}

// SignedDifference writes by how much a ratio differs from 1: +3.6%, 0.0%.
func SignedDifference(ratio float64) string {
	text := Difference(ratio)
	switch {
	case text == "0.0%":
		return text
	case ratio < 1:
		return "-" + text
	}
	return "+" + text
}

// Change writes a ratio as a difference with its sign, or as a factor: +3.6%, 2.95×.
func Change(ratio float64) string {
	if AsFactor(ratio) {
		return Factor(ratio)
	}
	return SignedDifference(ratio)
}

// Rounded rounds a number to so many significant digits.
func Rounded(x float64, digits int) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return rounded
}

// Exactly writes all digits of a number.
func Exactly(x float64) string { return apart(strconv.FormatFloat(x, 'f', -1, 64)) }

// Bytes writes an amount of bytes in decimal units.
func Bytes(n float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if n >= unit.size*0.9995 {
			return Digits(n/unit.size) + " " + unit.name
		}
	}
	return Number(n) + " B"
}

// Times are written in one unit, so that they can be compared and added up at a glance.
type Times struct {
	unit     int
	decimals int
}

// TimesUpTo are in the unit of the largest of them, in ns, and have as many digits after the
// point as that one.
func TimesUpTo(largest ...float64) Times {
	most := 0.0
	for _, ns := range largest {
		most = max(most, math.Abs(ns))
	}
	unit := of(most)
	_, behind, _ := strings.Cut(Digits(most/times[unit].size), ".")
	return Times{unit, len(behind)}
}

// Amount is without the unit. A time that has fewer than two significant digits with as many decimals
// as the largest gets so many more: a small time is not zero.
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
