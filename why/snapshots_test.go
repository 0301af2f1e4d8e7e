package why

import (
	"math"
	"slices"
	"testing"
	"time"

	"contend/why/gotrace"
	"contend/why/pprof"
	"contend/why/symbol"
)

func stack(functions ...string) (frames []symbol.Frame) {
	for _, f := range functions {
		frames = append(frames, symbol.GoFrame(f, "", 0))
	}
	return frames
}

func allocation(bytes, objects int64, functions ...string) pprof.Allocation {
	return pprof.Allocation{Frames: stack(functions...), Allocated: pprof.Allocated{Bytes: bytes, Objects: objects}}
}

// 900 bytes in 9 objects were sampled of 1800 in 27: each counts for 2, and for 3 objects. In half a second
// goroutines waited 100 ms at one place, and 50 ms where no function is the program's own.
func TestNewSnapshots(t *testing.T) {
	c := &pprof.Counted{Allocated: pprof.Allocated{Bytes: 1800, Objects: 27}, Allocations: []pprof.Allocation{
		allocation(300, 2, "reflect.unsafe_New", "encoding/json.Marshal", "main.handle", "net/http.HandlerFunc.ServeHTTP"),
		allocation(200, 1, "encoding/json.Marshal", "main.other"),
		allocation(150, 3, "main.handle"),
		allocation(150, 2, "net/textproto.readMIMEHeader", "net/http.(*conn).serve"),
		allocation(100, 1),
	}, Held: []pprof.Delay{
		{Frames: stack("sync.(*Mutex).Unlock", "main.handle"), Time: 60 * time.Millisecond},
		{Frames: stack("sync.(*RWMutex).Unlock", "main.handle"), Time: 40 * time.Millisecond},
		{Frames: stack("sync.(*Mutex).Unlock", "net/http.(*conn).serve"), Time: 50 * time.Millisecond},
	}}
	s := NewSnapshots(c, 1000, 2000)
	want := []Allocation{{"encoding/json.Marshal", 1000, 9}, {"main.handle", 300, 9}, {"net/textproto.readMIMEHeader", 300, 6}, {unknown, 200, 3}}
	slices.SortFunc(s.Allocations[1:3], func(a, b Allocation) int { return int(b.Objects - a.Objects) })
	if !slices.Equal(s.Allocations, want) || s.Bytes != 1800 || s.Objects != 27 {
		t.Errorf("%+v, want %+v", s, want)
	}
	if want := []gotrace.Wait{waitOf(gotrace.Lock, "main.handle", "", 0.2)}; !slices.Equal(s.Held, want) || s.Waited != nil {
		t.Errorf("%+v, %+v; want %+v", s.Held, s.Waited, want)
	}
	if s := NewSnapshots(&pprof.Counted{}, 0, 0); s.Allocations != nil || s.Held != nil {
		t.Errorf("of nothing: %+v", s)
	}
}

// counted adds snapshots of 100 operations to profiles: both allocate 2000 bytes in 20 objects an operation, and B
// so many more in one object in json.Marshal; 1 goroutine of A waits for a lock, and of B as many as given.
func counted(all []Profile, more int64, waiting float64) []Profile {
	for i := range all {
		s := &Snapshots{Operations: 100, PerSec: 50, Bytes: 200_000, Objects: 2000, Allocations: []Allocation{{"main.handle", 200_000, 2000}},
			Held: []gotrace.Wait{waitOf(gotrace.Lock, "main.handle", "", 1)}}
		if all[i].Arm == "B" {
			s.Bytes, s.Objects = s.Bytes+100*more, s.Objects+100
			s.Allocations = append(s.Allocations, Allocation{"encoding/json.Marshal", 100 * more, 100})
			s.Held[0].Goroutines = waiting
		}
		all[i].Snapshots = s
	}
	return all
}

func TestAllocated(t *testing.T) {
	e, _ := Explain(counted(planted(12), 500, 5), "A", "B", 8, 0.95, nil)
	a := e.Allocated
	if a == nil || !a.Matters || a.All.BaselineValue != 2000 || a.All.Value != 500 || a.All.Objects.Value != 1 || a.Looked != 2 {
		t.Fatalf("%+v", a)
	}
	if len(a.Functions) != 1 || a.Functions[0].Name != "encoding/json.Marshal" || a.Functions[0].Value != 500 || a.Functions[0].Objects.CandidateValue != 1 {
		t.Errorf("%+v", a.Functions)
	}
	// 4 more wait, of 50 answers a second: 80 ms an answer.
	if len(e.Held.Waits) != 1 || e.Held.Places != 1 || math.Abs(e.Held.Waits[0].Value-80e6) > 1 || e.Held.Waits[0].Goroutines.Value != 4 || e.Waited.Places != 0 {
		t.Errorf("%+v, %+v", e.Held, e.Waited)
	}
	if e, _ := Explain(counted(planted(12), 0, 1), "A", "B", 8, 0.95, nil); e.Allocated.All.Row.Excludes0() || !e.Allocated.Matters || e.Held.Waits != nil {
		t.Errorf("an object of 21 more: %+v, %+v", e.Allocated, e.Held)
	}
}

// If neither work nor waiting of the arms clearly differs, nothing that they allocate is worth mentioning,
// nor is less than 1%.
func TestAllocatedDoesNotMatter(t *testing.T) {
	equal := planted(12)
	for i := range equal {
		equal[i].CPU, equal[i].Work = 1400*time.Microsecond, nil
	}
	if e, _ := Explain(counted(equal, 500, 1), "A", "B", 8, 0.95, nil); e.Allocated.Matters || !e.Allocated.All.Row.Excludes0() {
		t.Errorf("%+v", e.Allocated)
	}
	little := counted(planted(12), 15, 1)
	for i := range little {
		little[i].Snapshots.Objects = 2000
	}
	if e, _ := Explain(little, "A", "B", 8, 0.95, nil); e.Allocated.Matters || !e.Allocated.All.Row.Excludes0() {
		t.Errorf("%+v", e.Allocated)
	}
	for name, change := range map[string]func(*Profile){
		"no snapshots of a round": func(p *Profile) { p.Snapshots = nil },
		"no answer in a round":    func(p *Profile) { p.Snapshots.Operations = 0 },
	} {
		all := counted(planted(12), 500, 5)
		change(&all[5])
		if e, _ := Explain(all, "A", "B", 8, 0.95, nil); e.Allocated == nil || e.Allocated.All.Value != 500 || len(e.Held.Waits) != 1 {
			t.Errorf("%s: it is not left out: %+v", name, e.Allocated)
		}
		for i := range all {
			change(&all[i])
		}
		if e, _ := Explain(all, "A", "B", 8, 0.95, nil); e.Allocated != nil || e.Held.Waits != nil {
			t.Errorf("%s: of all rounds: %+v", name, e.Allocated)
		}
	}
}
