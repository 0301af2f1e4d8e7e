package placement

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"contend/probe"
)

// machine has CPUs in the form core@node, one after another; a ! marks a busy one.
func machine(limit float64, list ...string) Machine {
	m := Machine{Limit: limit}
	for i, text := range list {
		c := CPU{ID: i}
		if text[len(text)-1] == '!' {
			c.Busy, text = 0.5, text[:len(text)-1]
		}
		fmt.Sscanf(text, "%1s@%d", &c.Core, &c.Node)
		m.CPUs = append(m.CPUs, c)
	}
	return m
}

func TestApart(t *testing.T) {
	tests := []struct {
		name               string
		m                  Machine
		need               int
		generator, servers string
		err                string
	}{
		{"two cores", machine(0, "a", "b"), 1, "0", "1", ""},
		{"one CPU", machine(0, "a"), 1, "", "", "there is one"},
		{"two threads of one core", machine(0, "a", "a"), 1, "0", "1", ""},
		{"threads stay together", machine(0, "a", "a", "b", "b"), 1, "0-1", "2-3", ""},
		{"as far siblings are numbered", machine(0, "a", "b", "a", "b"), 1, "0,2", "1,3", ""},
		{"three of six", machine(0, "a", "a", "b", "b", "c", "c"), 3, "0-3", "4-5", ""},
		{"one memory node", machine(0, "a@0", "b@1", "c@1", "d@1"), 1, "1", "2-3", ""},
		{"nodes of the same size", machine(0, "a@0", "b@0", "c@1", "d@1"), 1, "0", "1", ""},
		{"a busy one is left alone", machine(0, "a", "b!", "c"), 1, "0", "2", ""},
		{"busy", machine(0, "a!", "b"), 1, "", "", "other programs use CPU 0 (50%)"},
		{"limit of one", machine(1.5, "a", "b", "c"), 1, "", "", "this control group may use 1.5 CPUs at once"},
		{"a quota of less than one CPU", machine(0.5, "a", "b"), 1, "", "", "this control group may use 0.5 CPUs at once"},
		// The CPUs that both sides can use at once are below the limit, so that nobody is throttled.
		{"limit of two", machine(2.9, "a", "b", "c", "d"), 1, "0", "1", ""},
		{"too many needed", machine(0, "a", "b"), 2, "", "", "2 CPUs are free, and the load generator needs 2"},
	}
	for _, tt := range tests {
		l, err := tt.m.Apart(tt.need)
		if got := fmt.Sprint(err); tt.err != "" && got != tt.err || tt.err == "" && err != nil {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
		if Format(l.Generator) != tt.generator || Format(l.Servers) != tt.servers {
			t.Errorf("%s: %v", tt.name, l)
		}
	}
}

// Whatever the machine, no CPU and, of several cores, no core is on both sides, none is busy, and
// the load generator has what it needs.
func TestApartOfAnyMachine(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := Machine{Limit: rapid.SampledFrom([]float64{0, 1, 2.5, 4}).Draw(r, "limit")}
		for id := range rapid.IntRange(1, 12).Draw(r, "CPUs") {
			m.CPUs = append(m.CPUs, CPU{ID: id, Core: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(r, "core"),
				Node: rapid.IntRange(0, 1).Draw(r, "node"), Busy: rapid.SampledFrom([]float64{0, 0, 1}).Draw(r, "busy")})
		}
		need := rapid.IntRange(1, 4).Draw(r, "need")
		l, err := m.Apart(need)
		if err != nil {
			return
		}
		if !l.Apart() || len(l.Generator) < need {
			r.Fatalf("%v", l)
		}
		cores := map[string]bool{}
		for _, id := range l.Generator {
			cores[m.CPUs[id].Core] = true
		}
		both := append(slices.Clone(l.Generator), l.Servers...)
		all := map[string]bool{}
		for _, id := range both {
			all[m.CPUs[id].Core] = true
			if m.CPUs[id].Busy > 0 || m.CPUs[id].Node != m.CPUs[both[0]].Node {
				r.Errorf("%v has CPU %d", l, id)
			}
		}
		for _, id := range l.Servers {
			if len(all) > 1 && cores[m.CPUs[id].Core] {
				r.Errorf("%v divides a core", l)
			}
		}
		if m.Limit > 0 && float64(len(both)) > m.Limit {
			r.Errorf("%v is more than %v", l, m.Limit)
		}
	})
}

// In the first look CPU 1 is busy for 100 of 200 ms, in the second for none.
func TestLook(t *testing.T) {
	stat := func(busy, idle int) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "cpu  1 0 0 1 0 0 0 0\ncpu0 0 0 0 %d 0 0 0 0 0 0\ncpu1 %d 0 0 %d 0 0 0 0 0 0\n", busy+idle, busy, idle)}
	}
	root := fstest.MapFS{
		"proc/stat": stat(0, 0),
		"sys/devices/system/cpu/cpu1/topology/physical_package_id": {Data: []byte("1\n")},
		"sys/devices/system/cpu/cpu1/topology/core_id":             {Data: []byte("7\n")},
		"sys/devices/system/cpu/cpu1/node3":                        {},
	}
	looked := 0
	m := look(root, []int{0, 1}, func(time.Duration) {
		looked++
		root["proc/stat"] = stat(10, 10*(2*looked-1))
	})
	want := []CPU{{ID: 0, Core: "0"}, {ID: 1, Core: "1:7", Node: 3}}
	if !slices.Equal(m.CPUs, want) || looked != 2 {
		t.Errorf("%+v after %d looks, want %+v", m.CPUs, looked, want)
	}
}

// What is written is read again.
func TestFormat(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cpus := rapid.SliceOfNDistinct(rapid.IntRange(0, 20), 1, 10, rapid.ID).Draw(r, "cpus")
		slices.Sort(cpus)
		if got := Parse(Format(cpus)); !slices.Equal(got, cpus) {
			r.Errorf("%v is written %s and read %v", cpus, Format(cpus), got)
		}
	})
	for _, text := range []string{"", "a", "1-", "3-1", "1,,2", "99999"} {
		if got := Parse(text); got != nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestOwnCores(t *testing.T) {
	list := func(cpus ...int) []int { return cpus }
	all := list(0, 1, 2, 3)
	tests := []struct {
		name               string
		generator, servers []int
		own                bool
	}{
		{"none", nil, nil, false},
		{"apart", list(0, 1, 2), list(3), true},
		{"overlapping", list(0, 1), list(1, 2), false},
		{"servers on all", list(0), all, true},
		{"both on all", all, all, false},
		{"servers", nil, list(2), false},
		{"not our server", list(0), nil, true},
	}
	for _, tt := range tests {
		if p := Fixed(Layout{Generator: tt.generator, Servers: tt.servers}, all); p.OwnCores() != tt.own {
			t.Errorf("%s: own cores %v", tt.name, p.OwnCores())
		}
	}
}

// A process that is apart holds its threads, is widened to what there is, and lets go.
func TestProcess(t *testing.T) {
	all, err := probe.CPUs()
	if err != nil || len(all) < 2 {
		t.Skip("there is one CPU")
	}
	p := Process{kind: Auto, first: Layout{Generator: all[:1], Servers: all[1:]}}
	if err := p.Place(Auto); err != nil {
		t.Fatal(err)
	}
	if cpus, _ := probe.CPUs(); !slices.Equal(cpus, all[:1]) || !p.OwnCores() {
		t.Errorf("held to %v, want %v", cpus, all[:1])
	}
	for range 10 {
		if !p.Widen() {
			break
		}
	}
	if p.Apart() && len(p.Generator) == 1 {
		t.Errorf("still %v", p.Layout)
	}
	before := Layout{Generator: all[:1], Servers: all[1:]}
	asked := Process{kind: Apart, first: before}
	if err := asked.Place(Apart); err != nil {
		t.Fatal(err)
	}
	for asked.Widen() {
	}
	if !asked.Apart() {
		t.Errorf("asked to be apart and %v", asked.Layout)
	}
	asked.Release()
	p.Release()
	if cpus, _ := probe.CPUs(); !slices.Equal(cpus, all) {
		t.Errorf("held to %v afterwards, want %v", cpus, all)
	}
	if err := p.Place(Shared); err != nil || p.Apart() || p.Because != "" {
		t.Errorf("%v, %v", p.Layout, err)
	}
}

// Of two that hold this process at the same time the last lets it go, whichever that is.
func TestTwoAtATime(t *testing.T) {
	all, err := probe.CPUs()
	if err != nil || len(all) < 2 {
		t.Skip("there is one CPU")
	}
	procs := runtime.GOMAXPROCS(0)
	for first := range 2 {
		held := [2]Process{}
		for i := range held {
			held[i] = Fixed(Layout{Generator: all[:1], Servers: all[1:]}, all)
			if err := held[i].Place(Apart); err != nil {
				t.Fatal(err)
			}
		}
		held[first].Release()
		if cpus, _ := probe.CPUs(); !slices.Equal(cpus, all[:1]) {
			t.Errorf("on %v while one holds it to %v", cpus, all[:1])
		}
		held[1-first].Release()
		if cpus, _ := probe.CPUs(); !slices.Equal(cpus, all) || runtime.GOMAXPROCS(0) != procs {
			t.Errorf("on %v with %d processors afterwards, want %v and %d", cpus, runtime.GOMAXPROCS(0), all, procs)
		}
	}
}

// A coordinator asks a worker for more CPUs as long as that says that the two are apart, and holds nothing itself.
func TestFar(t *testing.T) {
	p := Far()
	if err := p.Place(Auto); err != nil || p.Widen() {
		t.Errorf("%v; or widened what is not known", err)
	}
	for want := 1; want <= 4; want *= 2 {
		if kind, needs := p.Asked(); kind != Auto || needs != want {
			t.Errorf("asked for %s, %d; want auto, %d", kind, needs, want)
		}
		p.Told(Layout{Generator: []int{0}, Servers: []int{1}})
		if !p.Widen() || p.free != nil || p.ServersHere() != nil {
			t.Errorf("%+v", p)
		}
	}
	p.Told(Layout{Because: "there is one"})
	if p.Widen() {
		t.Error("widened what is shared")
	}
}
