package pace

import (
	"testing"
	"time"
)

func TestToleranceText(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Tolerance
		back string
	}{
		{"auto", Auto, "auto"},
		{"0", None, "0s"},
		{"0s", None, "0s"},
		{"100us", Tolerance(100 * time.Microsecond), "100µs"},
		{"1s", Tolerance(time.Second), "1s"},
	} {
		var got Tolerance
		if err := got.UnmarshalText([]byte(tt.text)); err != nil || got != tt.want {
			t.Errorf("%s: %d, %v; want %d", tt.text, got, err, tt.want)
		}
		if back, err := got.MarshalText(); err != nil || string(back) != tt.back {
			t.Errorf("%s becomes %s, %v; want %s", tt.text, back, err, tt.back)
		}
	}
	for _, text := range []string{"", "5", "auto "} {
		got := Tolerance(7)
		if err := got.UnmarshalText([]byte(text)); err == nil || got != 7 {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}

func TestToleranceOf(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, tt := range []struct {
		give          Tolerance
		service, want time.Duration
	}{
		{Auto, 0, 0},
		{Auto, 60 * us, 1200},          // 2% of 60 µs, in ns
		{Auto, 10 * ms, 200 * us},      // 2%
		{Auto, 50 * ms, ms},            // 2%
		{Auto, time.Second, ms},        // at most
		{None, time.Second, 0},         //
		{Tolerance(3 * ms), 0, 3 * ms}, // whatever is measured
	} {
		if got := tt.give.Of(tt.service); got != tt.want {
			t.Errorf("%d of %v is %v, want %v", tt.give, tt.service, got, tt.want)
		}
	}
}
