package load

import "testing"

func TestAmpleVUs(t *testing.T) {
	for perSec, want := range map[float64]int{0: 16, 2: 16, 16.5: 17, 300: 300, 1e6: 500} {
		if got := AmpleVUs(perSec); got != want {
			t.Errorf("%v arrivals per second: %d, want %d", perSec, got, want)
		}
	}
}
