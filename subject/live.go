package subject

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

// outputTimeout is how long the output of an ended subject is waited for when a
// daemon that left its session still holds it open.
const outputTimeout = 250 * time.Millisecond

// live is the life of the process, on one locked thread: see Lifetime in the
// package comment. It sends on launched whether there is a process at all.
func (s *Subject) live(watch *lineWatch, launched chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	guard, err := newGuardian()
	s.unguarded = err
	defer guard.dismiss()
	output := collector{watch: watch}
	defer output.finish()
	err = s.launch(&output)
	if err == nil {
		guard.watch(s.PID())
	}
	launched <- err
	if err != nil {
		return
	}
	err = s.reap()
	output.finish()
	s.conclude(err)
}

func (s *Subject) launch(output *collector) error {
	stdout, err := output.open(&s.stdout)
	if err != nil {
		return err
	}
	defer stdout.Close()
	stderr, err := output.open(&s.stderr)
	if err != nil {
		return err
	}
	defer stderr.Close()
	s.cmd.Stdout, s.cmd.Stderr = stdout, stderr
	isolate(s.cmd)
	s.launched = time.Now()
	return s.cmd.Start()
}

// conclude notes how the process ended, unless it was asked to.
func (s *Subject) conclude(waited error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	if waited == nil {
		waited = errors.New("exit status 0")
	}
	s.err = fmt.Errorf("%w: %w%s", errEnded, waited, s.lastLines())
}

// A collector reads output streams until they end.
type collector struct {
	watch   *lineWatch
	readers []*os.File
	wg      sync.WaitGroup
}

// open returns the end to write to; what is written there goes to t.
func (c *collector) open(t *tail) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.readers = append(c.readers, r)
	c.wg.Go(func() { drain(r, t, c.watch) })
	return w, nil
}

// finish returns when all streams have ended, or outputTimeout has passed.
func (c *collector) finish() {
	expire := time.AfterFunc(outputTimeout, func() {
		for _, r := range c.readers {
			r.SetReadDeadline(time.Now())
		}
	})
	defer expire.Stop()
	c.wg.Wait()
}
