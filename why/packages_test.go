package why

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"contend/why/symbol"
)

// A package counts once in a stack, however many of its functions are in it.
func TestPackagesOf(t *testing.T) {
	stacks := []Stack{
		{Frames: frames("json.string", "json.Marshal", "main.handle"), Samples: 3},
		{Frames: frames("runtime.mallocgc", "json.Marshal", "main.handle"), Samples: 2},
		{Frames: frames("main.handle"), Samples: 1},
		{Frames: []symbol.Frame{{}}, Samples: 5},
		{Samples: 7},
	}
	want := "[{[unknown] 50ns 50ns} {json 50ns 30ns} {main 60ns 10ns} {runtime 20ns 20ns}]"
	if got := fmt.Sprint(addPackages(packagesOf(stacks, 10))); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// B formats 300 ns more, 100 of them itself and 200 in the runtime that it calls; its hashing calls nothing else. What
// both share, 2000 ns, does not change.
func TestExplainPackages(t *testing.T) {
	of := func(name string, ns, alone time.Duration) Package { return Package{name, 1000 * ns, 1000 * alone} } // of 1000 operations
	var all []Profile
	for r := 1; r <= 12; r++ {
		more, shared := time.Duration(r), Work{"", "main.serve", 2000}
		a, b := profile("A", r, shared, Work{"", "main.handle", 1000}), profile("B", r, shared, Work{"", "main.handle", 1400})
		a.Packages = []Package{of("main", 1000, 500), of("json", 200, 100), of("runtime", 400, 400)}
		b.Packages = []Package{of("main", 1400+more, 500), of("json", 500+more, 200), of("runtime", 600+more, 600+more), of("sha256", 100, 100)}
		all = append(all, a, b)
	}
	e, ok := Explain(all, "A", "B", 8, 0.95, nil)
	if !ok {
		t.Fatal("12 rounds are too few")
	}
	var got []string
	for _, r := range e.Packages {
		got = append(got, fmt.Sprintf("%s %.1f", r.Name, r.Value))
	}
	if want := "[main 406.5 json 306.5 runtime 206.5 json alone 100.0 sha256 100.0]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// The program's own file has another name in each arm, whatever of the standard library or of shared ones one alone calls.
func TestPackagesOfOne(t *testing.T) {
	profile := func(arm string, names ...string) Profile {
		p := Profile{Arm: arm, CPU: 1000}
		for _, name := range names {
			p.Packages = append(p.Packages, Package{Name: name, Time: 100})
		}
		return p
	}
	gone, fresh := packagesOfOne([]Profile{profile("A", "shop", "net/http"), profile("B", "shopB", "net/http", "strings", "libz.so.1")}, [2]string{"A", "B"})
	if !slices.Equal(gone, []string{"shop"}) || !slices.Equal(fresh, []string{"shopB"}) {
		t.Errorf("%q and %q", gone, fresh)
	}
}
