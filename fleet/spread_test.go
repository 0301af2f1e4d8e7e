package fleet

import (
	"testing"
	"time"

	"contend/load"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	d := &drive{session: "s", workers: []Worker{{ID: "1", Name: "a"}, {ID: "2", Name: "b"}, {ID: "3", Name: "c"}}, weights: []int{1, 1, 2}}
	after := func(elapsed time.Duration, ops int64) glance {
		return glance{Elapsed: elapsed, Measured: elapsed, Ops: ops}
	}
	for name, tt := range map[string]struct {
		a, b, c glance
		want    load.Spread
	}{
		"alike, for their weights":    {after(2*time.Second, 200), after(2*time.Second, 240), after(2*time.Second, 400), load.Spread{Generators: 3, LeastPerSec: 100, MostPerSec: 200}},
		"one has half":                {after(2*time.Second, 200), after(2*time.Second, 100), after(2*time.Second, 400), load.Spread{Generators: 3, LeastPerSec: 100, MostPerSec: 200, Odd: "b", OddPerSec: 50}},
		"one has nothing":             {after(2*time.Second, 200), after(2*time.Second, 0), after(2*time.Second, 400), load.Spread{Generators: 3, LeastPerSec: 100, MostPerSec: 200, Odd: "b"}},
		"one has fallen silent":       {after(9*time.Second, 900), after(2*time.Second, 200), after(9*time.Second, 1800), load.Spread{Generators: 3, LeastPerSec: 100, MostPerSec: 200, Odd: "b", OddSilent: true}},
		"one has not told yet":        {after(2*time.Second, 200), glance{}, after(2*time.Second, 400), load.Spread{Generators: 3, LeastPerSec: 100, MostPerSec: 200}},
		"none has answered, all told": {after(2*time.Second, 0), after(2*time.Second, 0), after(2*time.Second, 0), load.Spread{Generators: 3}},
	} {
		told := map[string]glance{livePrefix + "s.1": tt.a, livePrefix + "s.2": tt.b, livePrefix + "s.3": tt.c}
		if got := d.spread(told, tt.a.Elapsed); got == nil || *got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if got := d.spread(map[string]glance{livePrefix + "s.1": {Elapsed: time.Second}}, time.Second); got != nil {
		t.Errorf("in the warm-up: %+v", got)
	}
}
