package cli

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
	"contend/report"
	"contend/report/page"
	"contend/trial"
)

// Without a terminal a line is printed at once, and then at most one in ten seconds,
// however often progress is reported.
func TestPlainProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := newProgress(&out)
		for second := range 26 {
			p.show(float64(second)/50, "A")
			p.update("5/s")
			p.update("6/s")
			time.Sleep(time.Second)
		}
		p.clear()
		want := "    0s    0%  A\n" +
			"   10s   20%  40s left  A: 6/s\n" + // the figures until then; a fifth took 10 s
			"   20s   40%  30s left  A: 6/s\n"
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	})
}

// What is left is written as soon as it is known: it may take minutes.
func TestProgressSaysAtOnceWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := newProgress(&out)
		for _, left := range []time.Duration{0, 0, 9 * time.Minute, 8 * time.Minute} {
			p.follow(trial.Progress{Label: "A", Left: left}, "", 0, nil)
			time.Sleep(time.Second)
		}
		if want := "    0s    0%  A\n    2s    0%  9m0s left  A\n"; out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	})
}

// On a terminal the line is overwritten at most five times a second, keeps within its
// width, and is removed in the end.
func TestTerminalProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := newProgress(&out)
		p.width, p.most = func() int { return 40 }, time.Minute
		for range 10 {
			p.show(-1, "visit 1 of 3, 10 VUs")
			p.update("5/s")
			time.Sleep(100 * time.Millisecond)
		}
		p.clear()
		lines := strings.Split(out.String(), "\r\x1b[K")
		if len(lines) != 7 || lines[0] != "" || lines[6] != "" {
			t.Errorf("%d lines: %q", len(lines), lines)
		}
		if want := "    0s  at most 1m0s left  visit 1 of …"; lines[1] != want {
			t.Errorf("line %q, want %q", lines[1], want)
		}
		p.width = func() int { return 0 } // not known
		time.Sleep(time.Second)
		p.update("7/s, no errors")
		if want := "    2s  at most 58s left  visit 1 of 3, 10 VUs: 7/s, no errors"; !strings.HasSuffix(out.String(), want) {
			t.Errorf("the last line of %q is not %q", out.String(), want)
		}
	})
}

func TestSoFar(t *testing.T) {
	for want, now := range map[string]load.Progress{
		"warm-up":                         {Elapsed: time.Second},
		"0/s, no errors":                  {Measured: time.Second},
		"2,000/s, p99 36.5 ms, no errors": {Measured: 2 * time.Second, Ops: 4000, Completed: 40, P99: 36500 * time.Microsecond},
		"1/s, p99 1.00 s, 1 error":        {Measured: 2 * time.Second, Ops: 2, Completed: 2, P99: time.Second, Failed: 1},
		"5/s, p99 1.00 s, 3,000 errors":   {Measured: time.Second, Ops: 5, Completed: 5, P99: time.Second, Failed: 1000, Errored: 2000},
	} {
		if got := soFar(now); got != want {
			t.Errorf("%+v: %q, want %q", now, got, want)
		}
	}
}

// A page is drawn at most once a second, and only while a browser watches it.
func TestPagesAreDrawnOnceASecond(t *testing.T) {
	var err strings.Builder
	a := &app{Streams: Streams{Out: &err, Err: &err}}
	p := a.progress(true)
	defer a.live.End(nil, 0)
	drawn := 0
	draw := func() *report.Document { drawn++; return &report.Document{Command: "guard"} }
	p.between(0, "unwatched", draw)
	answer, failed := http.Get(a.live.Address() + "events")
	if failed != nil {
		t.Fatal(failed)
	}
	defer answer.Body.Close()
	p.paused = time.Time{}
	for range 10 {
		p.tell((*page.Live).Show, draw)
		p.between(0, "watched", draw)
		p.drawn, p.paused = time.Now(), time.Now() // however slow the machine is
	}
	if drawn != 1 {
		t.Errorf("drawn %d times, want 1", drawn)
	}
	p.drawn = time.Time{}
	if p.tell((*page.Live).Show, draw); drawn != 2 {
		t.Errorf("a second later drawn %d times, want 2", drawn)
	}
}

// A drawing of a run comes when the generator has used a hundred times its time, and else after ten
// seconds.
func TestDrawingsAreAShareOfTheGenerator(t *testing.T) {
	d := new(drawing)
	if !d.due() {
		t.Error("the first one is not due")
	}
	if d.took = time.Hour; d.due() {
		t.Error("the next one is due before the generator has used anything")
	}
	if d.begun = d.begun.Add(-seldom); !d.due() {
		t.Error("it is not due after ten seconds")
	}
	if d.took = 0; !d.due() {
		t.Error("what takes nothing is not due")
	}
}

func TestProgressOfWorkers(t *testing.T) {
	t.Parallel()
	for want, spread := range map[string]*load.Spread{
		"":                              nil,
		", 2 workers at 900 to 1,100/s": {Generators: 2, LeastPerSec: 900, MostPerSec: 1100},
		", 2 workers at 900/s":          {Generators: 2, LeastPerSec: 900, MostPerSec: 900},
		", 3 workers at 900 to 1,100/s, but c at 12/s":              {Generators: 3, LeastPerSec: 900, MostPerSec: 1100, Odd: "c", OddPerSec: 12},
		", 1000 workers at 900 to 1,100/s, but worker 17 is silent": {Generators: 1000, LeastPerSec: 900, MostPerSec: 1100, Odd: "worker 17", OddSilent: true},
	} {
		if got := each(spread); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
