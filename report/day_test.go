package report_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
	"contend/pace"
	"contend/report"
)

// A day of a server whose answers take from microseconds to seconds, with errors of several kinds,
// in fake time: its document is as small as that of a minute, and is read again.
func TestDocumentOfADayIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	random := rand.New(rand.NewPCG(1, 2))
	server := load.Func(func(context.Context) (load.Outcome, error) {
		time.Sleep(time.Duration(float64(10*time.Millisecond) * random.ExpFloat64() * random.ExpFloat64() * random.ExpFloat64()))
		switch random.IntN(20) {
		case 0:
			return load.Outcome{}, syscall.ECONNRESET
		case 1:
			return load.Outcome{}, io.ErrUnexpectedEOF
		case 2:
			return load.Outcome{Failed: true, Status: 500}, nil
		}
		return load.Outcome{Status: 200}, nil
	})
	var r *load.Result
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		var err error
		start := time.Now()
		r, err = load.Run(t.Context(), "http://localhost/", server, load.Plan{VUs: 1, Pacer: pace.Constant(2), Warmup: time.Minute, Duration: 24 * time.Hour,
			Grace: load.DefaultGrace, Timer: pace.Runtime, ServerCPU: func() time.Duration { return time.Since(start) / 3 }})
		if err != nil {
			t.Fatal(err)
		}
	})
	var b bytes.Buffer
	if err := runDocument(r).Write(&b); err != nil {
		t.Fatal(err)
	}
	c := r.Course
	t.Logf("%d iterations in %v: %d intervals of %v, %d bytes", r.Planned, time.Since(began), len(c.Intervals), c.Width, b.Len())
	if b.Len() > 1<<20 || len(c.Intervals) < 150 {
		t.Errorf("%d bytes with %d intervals, want at most 1 MB and at least 150", b.Len(), len(c.Intervals))
	}
	if _, err := report.Read(&b); err != nil {
		t.Error(err)
	}
}
