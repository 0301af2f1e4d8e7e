package cli

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"contend/internal/placement"
	"contend/probe"
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
		{"", nil, []string{`""; expected a CPU or a range of them, as in 0 or 2-3`}},
		{"0,", nil, []string{`""; expected a CPU or a range of them, as in 0 or 2-3`}},
		{"a,1-,-1,1-2-3, 1", nil, []string{`"a"`, `"1-"`, `"-1"`, `"1-2-3"`, `" 1"`}},
		{"3-1", nil, []string{`"3-1"; expected a CPU`}},
		{"99999999999", nil, []string{"is \"99999999999\"; expected a CPU"}},
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
	all := placement.Format(allowed)
	p := pins{Servers: []cpuRange{{allowed[0], allowed[0]}, {60000, 60000}, {allowed[0], 60001}}}
	want := fmt.Sprintf("--server-cpus is \"60000\"; expected %s, which this process may use\n"+
		"--server-cpus is \"%d-60001\"; expected %[1]s, which this process may use", all, allowed[0])
	if err := p.check("", true); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
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
	p := pins{Generator: only, Servers: only}
	var notes bytes.Buffer
	if err := p.check("", true); err != nil {
		t.Fatal(err)
	}
	if err := p.place(placement.Auto, &notes); err != nil {
		t.Fatal(err)
	}
	held := make(chan []int)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends
		cpus, _ := probe.CPUs()
		held <- cpus
	}()
	if cpus := <-held; !slices.Equal(cpus, []int{last}) || runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("held to %v with GOMAXPROCS %d, want %d and 1", cpus, runtime.GOMAXPROCS(0), last)
	}
	p.process.Probe()
	if runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("GOMAXPROCS is %d after a look at the machine", runtime.GOMAXPROCS(0))
	}
	p.process.Release()
	if cpus, _ := probe.CPUs(); !slices.Equal(cpus, allowed) || runtime.GOMAXPROCS(0) != procs {
		t.Errorf("on %v with GOMAXPROCS %d afterwards, want %v and %d", cpus, runtime.GOMAXPROCS(0), allowed, procs)
	}
	if l := p.process.Layout; !slices.Equal(l.Generator, []int{last}) || !slices.Equal(l.Servers, []int{last}) || !strings.Contains(notes.String(), "share CPUs") {
		t.Errorf("%+v, notes %q", l, notes.String())
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
		if err != nil || placement.Format(generator) != tt.generator || placement.Format(a) != tt.a || placement.Format(b) != tt.b {
			t.Errorf("%s: %v, %v, %v, %v", tt.allowed, generator, a, b, err)
		}
	}
	for n := range 3 {
		_, _, _, err := duetCPUs(make([]int, n))
		want := fmt.Sprintf("--duet requires 3 CPUs: one for the load generator and one for each variant; this process may use %d", n)
		if err == nil || err.Error() != want {
			t.Errorf("%d CPUs: %v", n, err)
		}
	}
}
