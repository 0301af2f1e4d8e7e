package abtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/internal/perf"
	"contend/stat"
	"contend/why"
)

// failing keeps what a test would be failed with.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper()           {}
func (f *failing) Error(args ...any) { f.text += fmt.Sprint(args...) }

func work(n int) {
	for i := 0; i < 1000*n; i++ {
	}
}

// slower is a comparison that was judged to be so.
func slower(c Config, a, b Func) *Result {
	c, _ = c.withDefaults(a, b)
	return &Result{Name: "X", Baseline: a.Name, Candidate: b.Name, Comparison: Comparison{Verdict: stat.Slower}, Uncounted: "nobody did", config: c, funcs: [2]Func{a, b}}
}

// What the candidate does more is named, after the verdict, by the kernel's samples and, where it takes none, by
// the runtime's.
func TestFailureSaysWhy(t *testing.T) {
	for name, sample := range map[string]func() (sampler, error){
		"kernel": sampleOwn, "runtime": func() (sampler, error) { return nil, errors.New("it is not allowed") },
	} {
		t.Run(name, func(t *testing.T) { saysWhy(t, sample) })
	}
}

func saysWhy(t *testing.T, sample func() (sampler, error)) {
	defer func(usual time.Duration) { sampledBlock = usual }(sampledBlock)
	sampledBlock = 12 * time.Millisecond // nearly all is the hash, and the runtime takes four samples of it
	page := make([]byte, 4096)
	hash := func(n int) {
		work(n)
		for range n {
			sha256.Sum256(page)
		}
	}
	f := failing{TB: t}
	slower(Config{sample: sample}, Func{"plain", work}, Func{"hashing", hash}).FailIfSlower(&f)
	judged, because, _ := strings.Cut(f.text, "\n  why: ")
	// Either may be too little to be certain of on a busy machine.
	named := regexp.MustCompile(`(?m)^(  why: )?\+.* µs  (in abtest\.saysWhy\.func\d, not seen in plain; most of it sha256\.Sum256|hashing \(crypto/internal/fips140/sha256\.)`)
	if !strings.HasPrefix(judged, "X: SLOWER: hashing takes") || !named.MatchString(because) {
		t.Errorf("%s", f.text)
	}
}

// fakeSampler takes no samples.
type fakeSampler struct{ stop error }

func (fakeSampler) Start() error                   { return nil }
func (f fakeSampler) Stop() (*perf.Samples, error) { return &perf.Samples{}, f.stop }
func (fakeSampler) Close() error                   { return nil }

func TestFailureSaysWhyNot(t *testing.T) {
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Skip(err) // of this test itself
	}
	defer pprof.StopCPUProfile()
	defer func(usual time.Duration) { sampledBlock = usual }(sampledBlock)
	sampledBlock = 5 * time.Millisecond
	refused := &perf.UnavailableError{Event: perf.CPUTime, Reason: "it is not allowed", Advice: "allow it"}
	for _, c := range []struct {
		name   string
		sample func() (sampler, error)
		a, b   Func
		want   string
	}{
		{"refused", func() (sampler, error) { return nil, refused }, Func{"a", work}, Func{"b", work}, "\n  why: not known: it is not allowed: allow it; nor does the program profile itself: "},
		{"an error", func() (sampler, error) { return fakeSampler{errors.New("no ring")}, nil }, Func{"a", work}, Func{"b", work}, "\n  why: not known: no ring"},
	} {
		saysWhyNot(t, c.name, c.sample, c.a, c.b, c.want)
	}
	synctest.Test(t, func(t *testing.T) {
		saysWhyNot(t, "too slow", func() (sampler, error) { return fakeSampler{}, nil },
			sleeper("a", time.Millisecond, 0), sleeper("b", 2100*time.Millisecond, 0), "more than the 2s that samples are worth here")
	})
	f := failing{TB: t}
	(&Result{Name: "X", Comparison: Comparison{Verdict: stat.Slower}}).FailIfSlower(&f)
	if strings.Contains(f.text, "why:") {
		t.Errorf("of a stored result: %s", f.text)
	}
}

func saysWhyNot(t *testing.T, name string, sample func() (sampler, error), a, b Func, want string) {
	f := failing{TB: t}
	slower(Config{sample: sample, Block: time.Millisecond}, a, b).FailIfSlower(&f)
	if !strings.Contains(f.text, want) || strings.Count(f.text, "why:") != 1 {
		t.Errorf("%s: %s", name, f.text)
	}
}

func TestRowLine(t *testing.T) {
	for _, c := range []struct {
		ns        float64
		functions []string
		want      string
	}{
		{190, []string{"runtime.mallocgc", "runtime.nextFreeFast"}, "+190 ns  allocation (runtime.mallocgc, runtime.nextFreeFast)"},
		{999.4, nil, "+999 ns  allocation"}, {1500, nil, "+1.50 µs  allocation"}, {2.5e6, nil, "+2.50 ms  allocation"}, {3e10, nil, "+30.0 s  allocation"},
	} {
		if got := rowLine(why.Row{Name: "allocation", Functions: c.functions, Shift: stat.Shift{Value: c.ns}}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
