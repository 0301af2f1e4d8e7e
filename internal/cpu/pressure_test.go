package cpu

import (
	"testing"
	"testing/fstest"
	"time"
)

func TestPressure(t *testing.T) {
	const some = "some avg10=0.08 avg60=1.29 avg300=1.79 total=17616170\nfull avg10=0.08 avg60=1.15 avg300=1.57 total=15645366\n"
	for text, want := range map[string]time.Duration{some: 17616170 * time.Microsecond, "": 0, "some avg10=0.08": 0, "some total=many\n": 0} {
		if got := Pressure(fstest.MapFS{"proc/pressure/io": {Data: []byte(text)}}, "io"); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := Pressure(fstest.MapFS{}, "io"); got != 0 {
		t.Errorf("of a kernel without it: %v", got)
	}
}
