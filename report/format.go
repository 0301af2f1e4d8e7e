package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"contend/trial"
)

// Duration formats nanoseconds with three significant digits or more: 719 ns,
// 1.63 ms, 15.4 s.
func Duration(ns float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if math.Abs(ns) >= unit.size*0.9995 {
			return digits(ns/unit.size) + " " + unit.name
		}
	}
	return digits(ns) + " ns"
}

// digits keeps three significant digits, and all digits left of the point.
func digits(x float64) string {
	_, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', 2, 64), "e")
	e, err := strconv.Atoi(exponent)
	if x == 0 || err != nil || e < -4 { // zero, not a number, or tiny
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	return strconv.FormatFloat(x, 'f', max(0, 2-e), 64)
}

// Count formats a number with thousands set apart.
func Count(x float64) string {
	if !(math.Abs(x) >= 999.5) {
		if x == math.Trunc(x) {
			return strconv.FormatFloat(x, 'f', 0, 64)
		}
		return digits(x)
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

// Bytes formats an amount of bytes in decimal units.
func Bytes(n float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if n >= unit.size*0.9995 {
			return digits(n/unit.size) + " " + unit.name
		}
	}
	return Count(n) + " B"
}

// Value formats a metric's value by its unit.
func Value(m trial.Metric, v float64) string {
	switch name := string(m); {
	case strings.HasPrefix(name, "bytes_") && strings.HasSuffix(name, "_per_s"):
		return Bytes(v) + "/s"
	case strings.HasSuffix(name, "_per_s"):
		return Count(v) + "/s"
	case strings.HasSuffix(name, "_ns"), strings.HasSuffix(name, "_ns_per_op"):
		return Duration(v)
	case strings.HasSuffix(name, "_bytes"), strings.HasPrefix(name, "bytes_"), strings.Contains(name, "_bytes_per_"):
		return Bytes(v)
	}
	return Count(v)
}

// Name is the metric in words.
func Name(m trial.Metric) string {
	name := strings.TrimSuffix(string(m), "_ns")
	switch m {
	case trial.Throughput:
		return "throughput"
	case trial.ServerCPUPerOp:
		return "server CPU per op"
	case trial.GeneratorCPUPerOp:
		return "generator CPU per op"
	case trial.WallPerOp:
		return "time per op"
	case trial.ServerRSS:
		return "server memory"
	}
	if what, ok := strings.CutSuffix(name, "_per_s"); ok {
		return strings.ReplaceAll(what, "_", " ") + " per second"
	}
	i := strings.LastIndexByte(name, '_')
	if i < 0 || name == string(m) {
		return strings.ReplaceAll(name, "_", " ")
	}
	which, what := strings.ReplaceAll(name[:i], "_", " "), name[i+1:]
	if what == "p999" {
		what = "p99.9"
	}
	if which == "response" || which == "service" || which == "exchange" || which == "connect" {
		which += " time"
	}
	return which + " " + what
}

// plural counts a noun: 1 VU, 10 VUs.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// percent formats a ratio as a signed difference.
func percent(ratio float64) string {
	text := fmt.Sprintf("%+.1f %%", 100*(ratio-1))
	return strings.NewReplacer("+0.0 ", "0.0 ", "-0.0 ", "0.0 ").Replace(text)
}
