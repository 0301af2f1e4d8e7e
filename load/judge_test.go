package load

import (
	"testing"
	"time"
)

func TestThreeDigits(t *testing.T) {
	for _, tt := range []struct{ give, want string }{
		{"0s", "0s"},
		{"999ns", "999ns"},
		{"2.172927ms", "2.17ms"},
		{"15.4449s", "15.4s"},
		{"999.6ms", "1s"}, // 9996 units of 100 µs
	} {
		d, err := time.ParseDuration(tt.give)
		if got := threeDigits(d).String(); err != nil || got != tt.want {
			t.Errorf("%s became %s, want %s", tt.give, got, tt.want)
		}
	}
}
