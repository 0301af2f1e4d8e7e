package pprof

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"contend/why/symbol"
)

var kept [][]byte

//go:noinline
func allocate(n int) {
	for range n {
		kept = append(kept[:0], make([]byte, 64<<10))
	}
}

// Between two snapshots 2000 slices of 64 KiB are allocated: 131 MB, with one sample each 512 KiB. Taking
// snapshots is not included, and a lock that somebody waits for is attributed to where it is released.
func TestSnapshots(t *testing.T) {
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	s := program(t)
	before, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const each, n = 64 << 10, 2000
	allocate(n)
	contend(50 * time.Millisecond)
	after, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := after.Since(before)
	if err != nil {
		t.Fatal(err)
	}
	// The cost of the snapshots is known to about a hundred objects: requests and answers differ.
	if got.Bytes < each*n*99/100 || got.Bytes > each*n*101/100 || got.Objects < n/2 || got.Objects > 3*n {
		t.Errorf("%+v, want about %d bytes in %d objects and hardly more", got.Allocated, each*n, n)
	}
	sampled := int64(0)
	for _, a := range got.Allocations {
		if symbol.Tells(a.Frames[len(a.Frames)-1].Function) {
			t.Errorf("%+v", a.Frames)
		}
		if a.Frames[0].Function == "contend/why/pprof.allocate" {
			sampled += a.Bytes
		}
	}
	if sampled < each*n/2 || sampled > each*n*3/2 {
		t.Errorf("%d bytes were sampled, want about %d", sampled, each*n)
	}
	held := time.Duration(0)
	for _, d := range got.Held {
		if len(d.Frames) > 1 && d.Frames[0].Function == "sync.(*Mutex).Unlock" {
			held += d.Time
		}
	}
	if held == 0 {
		t.Errorf("nobody waited for a lock: %+v", got.Held)
	}
}

// contend holds a lock for which another goroutine waits.
func contend(length time.Duration) {
	var mu sync.Mutex
	var other sync.WaitGroup
	mu.Lock()
	other.Go(func() {
		mu.Lock()
		defer mu.Unlock()
	})
	time.Sleep(length)
	mu.Unlock()
	other.Wait()
}

// ofHeap is a profile of the heap with so many bytes in main.handle, whose name is hostile.
func ofHeap(t testing.TB, bytes int64) []byte {
	t.Helper()
	handle := &profile.Function{ID: 1, Name: "main.handle\x1b"}
	at := &profile.Location{ID: 1, Line: []profile.Line{{Function: handle}}}
	p := &profile.Profile{Function: []*profile.Function{handle}, Location: []*profile.Location{at}}
	for _, name := range []string{"alloc_objects", "alloc_space", "delay"} {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name})
	}
	p.Sample = []*profile.Sample{{Location: p.Location, Value: []int64{bytes / 100, bytes, bytes / 10}}}
	return packed(t, p)
}

func shot(t *testing.T, bytes int64) *Snapshot {
	p := ofHeap(t, bytes)
	return &Snapshot{First: Allocated{bytes, bytes / 100}, Last: Allocated{bytes + 300, bytes/100 + 3}, Asked: Allocated{100, 1}, Heap: p, Mutex: p, Block: p}
}

// 5000 − 1300 − 100 bytes, as to ask once allocates 100; and the profiles differ by 4000.
func TestSince(t *testing.T) {
	got, err := shot(t, 5000).Since(shot(t, 1000))
	if err != nil || got.Allocated != (Allocated{3600, 36}) || len(got.Allocations) != 1 || len(got.Held) != 1 || len(got.Waited) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if a := got.Allocations[0]; a.Allocated != (Allocated{4000, 40}) || strings.Contains(a.Frames[0].Function, "\x1b") || got.Held[0].Time != 400 {
		t.Errorf("%+v, %+v", a, got.Held)
	}
}

func TestSinceRefuses(t *testing.T) {
	for want, change := range map[string]func(s, before *Snapshot){
		"its counts have fallen":                  func(s, _ *Snapshot) { s.First.Bytes = 1200 },
		"the heap profile is broken: ":            func(s, _ *Snapshot) { s.Heap = []byte("<html>") },
		"the mutex profile is broken: ":           func(s, _ *Snapshot) { s.Mutex = nil },
		"the block profile has no delay":          func(s, before *Snapshot) { s.Block, before.Block = packed(t, ofCPU()), packed(t, ofCPU()) },
		"two heap profiles do not fit each other": func(s, _ *Snapshot) { s.Heap = packed(t, ofCPU()) },
	} {
		s, before := shot(t, 5000), shot(t, 1000)
		change(s, before)
		if got, err := s.Since(before); got != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v, %v; want %s", got, err, want)
		}
	}
}

// A server that does not answer like a program in Go is refused.
func TestSnapshotRefuses(t *testing.T) {
	pages := http.NewServeMux()
	pages.HandleFunc(DefaultPath+"heap", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("debug") == "1" {
			fmt.Fprint(w, "heap profile: 0\n# TotalAlloc = 5\n# Mallocs = 2\n")
		} else {
			http.Error(w, "no heap", http.StatusTeapot)
		}
	})
	for want, s := range map[string]*Server{
		"heap?debug=1 does not tell TotalAlloc": at(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }))),
		"heap?gc=1 answers 418":                 at(t, serve(t, pages)),
	} {
		if got, err := s.Snapshot(t.Context()); got != nil || err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%+v, %v; want %s", got, err, want)
		}
	}
}

func FuzzSince(f *testing.F) {
	f.Add(plain(f, ofHeap(f, 1000)), plain(f, ofHeap(f, 5000)))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		first, second := Snapshot{Heap: zipped(t, before)}, Snapshot{Heap: zipped(t, after)}
		first.Mutex, first.Block, second.Mutex, second.Block = first.Heap, first.Heap, second.Heap, second.Heap
		bounded(t, func() {
			if got, err := second.Since(&first); (got == nil) == (err == nil) {
				t.Fatalf("%+v, %v", got, err)
			}
		})
	})
}
