package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
)

// Where there is no terminal there is a line at once, and then at most one in ten seconds,
// however often something is told.
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
		want := "    0s   0 %  A\n" +
			"   10s  20 %  40s left  A: 6/s\n" + // the figures until then; a fifth took 10 s
			"   20s  40 %  30s left  A: 6/s\n"
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	})
}

// On a terminal the line is written over five times a second at most, keeps within its
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
