package symbol

import (
	"math/rand/v2"
	"testing"
)

// The range on top is the last one that covers an address.
func TestLayers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		bounds := make([][2]uint64, random.IntN(12))
		for i := range bounds {
			bounds[i] = [2]uint64{random.Uint64N(20), random.Uint64N(20)} // some end before they start
		}
		l := lay(len(bounds), func(i int) (uint64, uint64) { return bounds[i][0], bounds[i][1] })
		for addr := range uint64(22) {
			want := -1
			for i, b := range bounds {
				if b[0] <= addr && addr < b[1] {
					want = i
				}
			}
			got, ok := l.top(addr)
			if ok != (want >= 0) || ok && got != want {
				t.Fatalf("%v: on top at %d is %d (%v), want %d", bounds, addr, got, ok, want)
			}
		}
	}
}

func TestNoNames(t *testing.T) {
	for _, n := range []*names{nil, {}, newNames(nil, nil, 0)} {
		if name, ok := n.at(0); ok {
			t.Errorf("%v has the name %q", n, name)
		}
	}
}
