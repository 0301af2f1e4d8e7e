package script

import (
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// Rates of counters are over all of a run, and virtual users are counted from the beginning of setup to the end of
// teardown, as in k6.
func TestTheWholeRunIsMeasured(t *testing.T) {
	t.Parallel()
	path := testenv.Files(t, "flow.js", `import { sleep } from 'k6'; import exec from 'k6/execution'; import { check } from 'k6';
		export const options = { thresholds: { iterations: ['count==2', 'rate<0.48', 'rate>0'], vus: ['min==0', 'max==2'], vus_max: ['value==2', 'min==2'] } };
		export function setup() { sleep(1.2); }
		export default function () { check(exec.instance, { 'setup is part of it': (i) => i.currentTestRunDuration >= 1200, 'both are active': (i) => i.vusActive === 2 }); sleep(1.5); }
		export function teardown() { sleep(1.5); }`)
	for _, engine := range []string{"", "goroutines"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			target := newTarget(t, Config{Script: path, URL: shop(t).URL, Engines: wire.Engines{Engine: engine}})
			plan := load.Plan{VUs: 2, Iterations: 2, PerVU: 1, Grace: testenv.Patience}
			target.Follow(plan)
			r := wiretest.Run(t, target, plan)
			testenv.Must(t, target.Close())
			load.Settle(target, r)
			for _, claim := range target.Options.Thresholds {
				if held, detail := claim.parsed.Check(r); !held {
					t.Errorf("%s: %s in %v", claim.Claim, detail, r.Whole)
				}
			}
			if took := target.summarise(r).State["testRunDurationMs"].(float64); took < 4200 || took != milliseconds(r.Whole) || target.users.over != nil {
				t.Errorf("a run of 4.2 s took %v ms, and %v; virtual users are still counted: %t", took, r.Whole, target.users.over != nil)
			}
			for _, c := range r.Checks {
				if c.Failed > 0 && c.Name != "both are active" { // the other may not have begun
					t.Errorf("%s: %d of 2 not", c.Name, c.Failed)
				}
			}
		})
	}
}

// As long as a load begins iterations its plan says how many virtual users are active, else these are who is within one.
func TestActiveUsers(t *testing.T) {
	callers, err := pace.ParseCallers("0/10s,0-4/8s,4/10s")
	testenv.Must(t, err)
	pacer, err := pace.Parse("constant:10")
	testenv.Must(t, err)
	for _, c := range []struct {
		name   string
		plan   *load.Plan
		ago    time.Duration // its first iteration began; 0: none has
		begun  int64
		active int64 // 1 is within an iteration
	}{
		{"not begun", &load.Plan{VUs: 3, Duration: time.Hour}, 0, 0, 0},
		{"constant", &load.Plan{VUs: 3, Duration: time.Hour}, time.Minute, 9, 3},
		{"over", &load.Plan{VUs: 3, Duration: time.Minute}, time.Hour, 9, 1},
		{"no iteration is left", &load.Plan{VUs: 3, Iterations: 9}, time.Minute, 9, 1},
		{"one is left", &load.Plan{VUs: 3, Iterations: 10}, time.Minute, 9, 3},
		{"each has its own", &load.Plan{VUs: 3, Iterations: 10, PerVU: 5}, time.Minute, 9, 1},
		{"they come", &load.Plan{VUs: 4, Callers: callers, Duration: 28 * time.Second}, 3 * time.Second, 9, 2}, // after 15 s
		{"all have come", &load.Plan{VUs: 4, Callers: callers, Duration: 28 * time.Second}, 7 * time.Second, 9, 4},
		{"arrivals", &load.Plan{VUs: 3, Pacer: pacer, Duration: time.Hour}, time.Minute, 9, 1},
		{"nobody said", nil, time.Minute, 9, 1},
	} {
		d := &driven{target: new(Target), load: new(Load), plan: c.plan}
		d.begun.Store(c.begun)
		if c.ago > 0 {
			d.began.Store(time.Now().Add(-c.ago).UnixNano())
			d.within.Store(1)
		}
		if got := d.active(); got != c.active {
			t.Errorf("%s: %d are active, want %d", c.name, got, c.active)
		}
	}
}
