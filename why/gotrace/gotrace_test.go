package gotrace

import (
	"bytes"
	"os"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Each waits in a function of its own until the test is over.
type planted struct {
	over  chan struct{}
	lock  sync.Mutex
	read  sync.RWMutex
	cond  *sync.Cond
	group sync.WaitGroup
	end   bool
	pipe  *os.File
}

func (p *planted) sleeps()     { time.Sleep(time.Hour) }
func (p *planted) receives()   { <-p.over }
func (p *planted) sends()      { p.sent() <- struct{}{} }
func (p *planted) locks()      { p.lock.Lock(); defer p.lock.Unlock() }
func (p *planted) readLocks()  { p.read.RLock(); defer p.read.RUnlock() }
func (p *planted) waitsGroup() { p.group.Wait() }
func (p *planted) reads()      { _, _ = p.pipe.Read(make([]byte, 1)) }
func (p *planted) naps() {
	for {
		select {
		case <-p.over:
			return
		default:
			time.Sleep(time.Millisecond)
		}
	}
}
func (p *planted) selects() {
	select {
	case <-p.over:
	case <-p.sent():
	}
}
func (p *planted) conditions() {
	p.cond.L.Lock()
	defer p.cond.L.Unlock()
	for !p.end {
		p.cond.Wait()
	}
}

func (p *planted) sent() chan struct{} { return make(chan struct{}) }

// traced is a trace of this process of about so long.
func traced(t *testing.T, length time.Duration) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	time.Sleep(length)
	trace.Stop()
	return b.Bytes()
}

// What waits before the trace begins and until after it ends is counted, and so is what wakes up during it.
func TestRead(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &planted{over: make(chan struct{}), cond: sync.NewCond(new(sync.Mutex)), pipe: reader}
	p.lock.Lock()
	p.read.Lock()
	p.group.Add(1)
	var all sync.WaitGroup
	for _, waits := range []func(){p.receives, p.locks, p.readLocks, p.waitsGroup, p.reads, p.selects, p.selects, p.conditions, p.naps, p.naps, p.naps} {
		all.Go(waits)
	}
	go p.sleeps() // until the process ends
	go p.sends()
	time.Sleep(20 * time.Millisecond) // until they wait, as far as that matters: a part of the trace
	body := traced(t, 300*time.Millisecond)
	p.lock.Unlock()
	p.read.Unlock()
	p.group.Done()
	close(p.over)
	writer.Close()
	p.cond.L.Lock()
	p.end = true
	p.cond.L.Unlock()
	p.cond.Broadcast()
	all.Wait()

	got, err := Read(body)
	if err != nil {
		t.Fatal(err)
	}
	if got.Length < 300*time.Millisecond || got.Processors != runtime.GOMAXPROCS(0) {
		t.Errorf("%v long with %d processors, want 300 ms and %d", got.Length, got.Processors, runtime.GOMAXPROCS(0))
	}
	waited := map[Place]float64{}
	for _, w := range got.Waits {
		waited[w.Place] = w.Goroutines
	}
	for _, c := range []struct {
		reason      Reason
		in, through string
		least, most float64
	}{
		{Sleep, "sleeps", "", 1, 1}, {Receive, "receives", "", 1, 1}, {Send, "sends", "", 1, 1}, {Lock, "locks", "", 1, 1},
		{Lock, "readLocks", "", 1, 1}, {WaitGroup, "waitsGroup", "", 1, 1}, {Network, "reads", "os.(*File).Read", 1, 1},
		{Select, "selects", "", 2, 2}, {Cond, "conditions", "", 1, 1},
		{Sleep, "naps", "", 0.03, 3}, // of three; on a busy machine they are seldom asleep
	} {
		at := Place{c.reason, "contend/why/gotrace.(*planted)." + c.in, c.through}
		if got := waited[at]; got > c.most+1e-9 || got < c.least-1e-9 {
			t.Errorf("%g goroutines wait at %+v, want %g to %g", got, at, c.least, c.most)
		}
	}
	for _, w := range got.Waits {
		if w.For == "" || w.Function == "" && w.For != Processor || strings.HasPrefix(w.Function, "runtime") {
			t.Errorf("%+v is no place of the program's own", w)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	whole := traced(t, time.Millisecond)
	for name, body := range map[string][]byte{
		"nothing":        nil,
		"HTML":           []byte("<!doctype html><title>Not here</title>"),
		"a header":       whole[:16],
		"half of one":    whole[:len(whole)/2],
		"another format": append([]byte("go 1.99 trace\x00\x00\x00"), whole[16:]...),
		"zeros":          append(bytes.Clone(whole[:16]), make([]byte, 1000)...),
	} {
		if got, err := Read(body); err == nil || got != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A goroutine that serves a program's profiles waits for nothing of the program's own, and this holds for no other
// library.
func TestPlaceOf(t *testing.T) {
	for caller, own := range map[string]bool{"net/http/pprof.Profile": false, "runtime/pprof.profileWriter": false, "runtime/trace.Start.func1": false, "net/http.(*conn).serve": true} {
		at, found := PlaceOf(slices.Values([]string{"time.Sleep", "main.handle", caller}))
		if want := (Place{For: Sleep, Function: "main.handle"}); found != own || own && at != want {
			t.Errorf("%s: %+v, %v; want %v", caller, at, found, own)
		}
	}
}

// Whatever comes is read to an end within bounds, and what is found is possible.
func FuzzRead(f *testing.F) {
	f.Add(traceOf("26", batched(1, numbers(procStatus, 0, 0, 1, goStatus, 0, 1, 1, 2), numbers(taskBegin, 0, 1, 0, 0, 0))))
	f.Add(traceOf("22", batched(1, []byte{4}, append(numbers(text, 1, 4), "main"...)), batched(1, []byte{2}, numbers(stack, 1, 1, 9, 1, 1, 1))))
	f.Fuzz(func(t *testing.T, body []byte) {
		bounded(t, func() {
			got, err := Read(body)
			if (got == nil) == (err == nil) {
				t.Fatalf("%+v, %v", got, err)
			}
			for i := 0; got != nil && i < len(got.Waits); i++ {
				if w := got.Waits[i]; !(w.Goroutines > 0) || w.For == "" {
					t.Fatalf("%+v", w)
				}
			}
		})
	})
}
