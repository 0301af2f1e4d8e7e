package metric

import (
	"strconv"

	"contend/internal/unit"
)

// Format formats a value of the metric with its unit.
func (n Name) Format(value float64) string {
	switch n.Kind() {
	case Time, Cost:
		return Duration(value)
	case Rate:
		return Number(value) + "/s"
	case Size:
		return Bytes(value)
	case Traffic:
		return Bytes(value) + "/s"
	}
	return Number(value)
}

// Exactly formats a value of the metric with all its digits, in its smallest unit.
func (n Name) Exactly(value float64) string {
	units := map[Kind]string{Time: " ns", Cost: " ns", Rate: "/s", Size: " B", Traffic: " B/s"}
	return strconv.FormatFloat(value, 'g', -1, 64) + units[n.Kind()]
}

// Duration formats nanoseconds with three significant digits or more: 719 ns,
// 1.63 ms, 15.4 s.
func Duration(ns float64) string { return unit.Duration(ns) }

// Digits keeps three significant digits, and all digits left of the point.
func Digits(x float64) string { return unit.Digits(x) }

// Number formats a number with thousands set apart.
func Number(x float64) string { return unit.Number(x) }

// Bytes formats an amount of bytes in decimal units.
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
