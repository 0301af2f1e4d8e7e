package cli

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"contend/probe"
	"contend/report"
	"contend/setting"
)

// readCPUs reads what --server-cpus gives.
func readCPUs(t testing.TB, text string) (pins, error) {
	t.Helper()
	var p pins
	given := setting.Values{"server-cpus": {Texts: strings.Split(text, ",")}}
	return p, fillFlags(given, &p)
}

func TestParseCPUs(t *testing.T) {
	tests := []struct {
		text string
		cpus []int
		want []string // of the mistakes
	}{
		{"1", []int{1}, nil},
		{"0,2-3", []int{0, 2, 3}, nil},
		{"3,1-2,2,0", []int{0, 1, 2, 3}, nil},
		{"", nil, []string{`""; allowed: a CPU or a range of them, as in 0 or 2-3`}},
		{"0,", nil, []string{`""; allowed: a CPU or a range of them, as in 0 or 2-3`}},
		{"a,1-,-1,1-2-3, 1", nil, []string{`"a"`, `"1-"`, `"-1"`, `"1-2-3"`, `" 1"`}},
		{"3-1", nil, []string{`"3-1"; allowed: a CPU`}},
		{"99999999999", nil, []string{"is \"99999999999\"; allowed: a CPU"}},
		{"2-1,x", nil, []string{`"2-1"`, `"x"`}},
		{"2,2", nil, []string{`"2", given twice`}},
	}
	for _, tt := range tests {
		p, err := readCPUs(t, tt.text)
		if err == nil {
			if got := cpusOf(p.Servers); !slices.Equal(got, tt.cpus) || tt.want != nil {
				t.Errorf("%q: %v, want %v", tt.text, got, tt.cpus)
			}
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(tt.want) {
			t.Errorf("%q: %d mistakes, want %d:\n%v", tt.text, len(lines), len(tt.want), err)
			continue
		}
		for i, line := range lines {
			if !strings.HasPrefix(line, "--server-cpus is ") || !strings.Contains(line, tt.want[i]) {
				t.Errorf("%q: mistake %q, want %q", tt.text, line, tt.want[i])
			}
		}
	}
}

func TestCPUsThatMayNotBeUsed(t *testing.T) {
	allowed, err := probe.CPUs()
	if err != nil {
		t.Skip(err)
	}
	all := formatCPUs(allowed)
	p := pins{Servers: []cpuRange{{allowed[0], allowed[0]}, {60000, 60000}, {allowed[0], 60001}}}
	want := fmt.Sprintf("--server-cpus is \"60000\"; allowed: %s, which this process may use\n"+
		"--server-cpus is \"%d-60001\"; allowed: %[1]s, which this process may use", all, allowed[0])
	if err := p.check("", true); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What is written is read again.
func TestFormatCPUs(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cpus := rapid.SliceOfNDistinct(rapid.IntRange(0, 20), 1, 10, rapid.ID).Draw(r, "cpus")
		slices.Sort(cpus)
		if p, err := readCPUs(t, formatCPUs(cpus)); err != nil || !slices.Equal(cpusOf(p.Servers), cpus) {
			r.Errorf("%v is written %s and read %v, %v", cpus, formatCPUs(cpus), p.Servers, err)
		}
	})
}

func TestServersOfPins(t *testing.T) {
	list := func(cpus ...int) []int { return cpus }
	held := func(generator, servers, allowed []int, started bool) pins {
		return pins{generator: generator, servers: servers, allowed: allowed, started: started}
	}
	allowed := []int{0, 1, 2, 3}
	tests := []struct {
		name    string
		p       pins
		servers []int
		own     bool
	}{
		{"none", pins{started: true}, nil, false},
		{"apart", held(list(0, 1, 2), list(3), allowed, true), []int{3}, true},
		{"overlapping", held(list(0, 1), list(1, 2), allowed, true), []int{1, 2}, false},
		// The generator's CPUs are not inherited.
		{"generator", held(list(0), list(), allowed, true), allowed, true},
		{"generator on all", held(list(0, 1, 2, 3), list(), allowed, true), allowed, false},
		{"servers", held(list(), list(2), allowed, true), []int{2}, false},
		{"not our server", held(list(0), list(), allowed, false), nil, true},
	}
	for _, tt := range tests {
		if got := tt.p.serverCPUs(); !slices.Equal(got, tt.servers) {
			t.Errorf("%s: servers on %v, want %v", tt.name, got, tt.servers)
		}
		if got := tt.p.ownCores(); got != tt.own {
			t.Errorf("%s: own cores %v", tt.name, got)
		}
	}
}

func TestPins(t *testing.T) {
	allowed, err := probe.CPUs()
	if err != nil {
		t.Skip(err)
	}
	last := allowed[len(allowed)-1]
	procs := runtime.GOMAXPROCS(0)
	only := []cpuRange{{last, last}}
	p := pins{generatorPin: generatorPin{only}, Servers: only}
	var notes bytes.Buffer
	if err := p.check("", true); err != nil {
		t.Fatal(err)
	}
	free, err := p.apply(&notes)
	if err != nil {
		t.Fatal(err)
	}
	var e report.Environment
	p.describe(&e)
	held := make(chan []int)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends
		cpus, _ := probe.CPUs()
		held <- cpus
	}()
	if cpus := <-held; !slices.Equal(cpus, []int{last}) || runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("held to %v with GOMAXPROCS %d, want %d and 1", cpus, runtime.GOMAXPROCS(0), last)
	}
	p.probe()
	if runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("GOMAXPROCS is %d after a look at the machine", runtime.GOMAXPROCS(0))
	}
	free()
	if cpus, _ := probe.CPUs(); !slices.Equal(cpus, allowed) || runtime.GOMAXPROCS(0) != procs {
		t.Errorf("on %v with GOMAXPROCS %d afterwards, want %v and %d", cpus, runtime.GOMAXPROCS(0), allowed, procs)
	}
	if want := fmt.Sprint(last); e.GeneratorCPUs != want || e.ServerCPUs != want || !strings.Contains(notes.String(), "share CPUs") {
		t.Errorf("%+v, notes %q", e, notes.String())
	}
}

func TestDuetCPUs(t *testing.T) {
	tests := []struct{ allowed, generator, a, b string }{
		{"0-2", "0", "1", "2"},
		{"1,4,6,7", "1,4", "6", "7"},
		{"0-6", "0-4", "5", "6"},
		{"0-7", "0-3", "4-5", "6-7"}, // 8 ÷ 4 for each variant
	}
	for _, tt := range tests {
		p, err := readCPUs(t, tt.allowed)
		if err != nil {
			t.Fatal(err)
		}
		generator, a, b, err := duetCPUs(cpusOf(p.Servers))
		if err != nil || formatCPUs(generator) != tt.generator || formatCPUs(a) != tt.a || formatCPUs(b) != tt.b {
			t.Errorf("%s: %v, %v, %v, %v", tt.allowed, generator, a, b, err)
		}
	}
	for n := range 3 {
		_, _, _, err := duetCPUs(make([]int, n))
		want := fmt.Sprintf("duet needs 3 CPUs: one for the generator and one for each variant; this process may use %d", n)
		if err == nil || err.Error() != want {
			t.Errorf("%d CPUs: %v", n, err)
		}
	}
}
