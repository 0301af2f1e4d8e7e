package bisect

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// line is a history without merges.
func line(n int) *Bisection {
	b := &Bisection{Commits: make([]Commit, n)}
	for i := 1; i < n; i++ {
		b.Commits[i].Parents = []int{i - 1}
	}
	return b
}

func probabilities(b *Bisection) []float64 {
	var all []float64
	for _, c := range b.Commits {
		all = append(all, c.Probability)
	}
	return all
}

// Looks of 3 rounds weigh w = 1 / (1/3 + 0.05) = 2.609; of each pair the sum of squares within both is 2 · 2 · 0.01² = 0.0004, and N is 6.
// With x the first's mean and 1 the bad one's: if the first made it, Σwx = 2w and S = 0.0004 + w(1−x)²/2; if the second did,
// Σwx = w and S = 0.0004 + wx². For x = 0.5 the second's evidence is √2 · (0.3265 / 0.6526)^2.5 = 0.2504 of the first's.
func TestTwoCommits(t *testing.T) {
	for _, tt := range []struct {
		first  []float64
		second float64 // probability
	}{
		{[]float64{-0.01, 0, 0.01}, 1},
		{[]float64{0.99, 1, 1.01}, 0},
		{[]float64{0.49, 0.5, 0.51}, 0.2504 / 1.2504},
	} {
		b := line(2)
		b.Looks = []Look{{1, []float64{0.99, 1, 1.01}}, {0, tt.first}}
		b.Derive()
		if p := probabilities(b); math.Abs(p[1]-tt.second) > 1e-4 || math.Abs(p[0]+p[1]-1) > 1e-12 {
			t.Errorf("%v: %v, want %v", tt.first, p, tt.second)
		}
	}
}

func TestWithoutALookAllAreAlike(t *testing.T) {
	b := line(5)
	b.Looks = []Look{{4, []float64{0.1, 0.11, 0.09}}}
	b.Derive()
	for _, p := range probabilities(b) {
		if math.Abs(p-0.2) > 1e-12 {
			t.Fatal(probabilities(b))
		}
	}
	if next, ok := b.Next(3); !ok || next != 1 && next != 2 {
		t.Errorf("next is %d, %v: want the middle", next, ok)
	}
	if likely := b.Likely(); len(likely) != 5 {
		t.Errorf("likely are %v", likely)
	}
}

// 0 and 1 are on branches of their own, which 2 merges. 3 follows.
func TestMerge(t *testing.T) {
	b := &Bisection{Commits: []Commit{{}, {}, {Parents: []int{0, 1}}, {Parents: []int{2}}}}
	b.Looks = []Look{{3, []float64{0.1}}}
	b.Derive()
	for i, want := range [][]bool{{true, false, false, false}, {false, true, false, false}, {true, true, true, false}, {true, true, true, true}} {
		for j := range want {
			if b.contains(i, j) != want[j] {
				t.Errorf("%d contains %d: %v", i, j, b.contains(i, j))
			}
		}
	}
	changed := []float64{0.1, 0.101, 0.099}
	b.Looks = []Look{{3, changed}, {2, changed}, {0, []float64{0, 0.001, -0.001}}}
	b.Derive()
	if p := probabilities(b); p[1]+p[2] < 0.99 || math.Abs(p[1]-p[2]) > 0.01 {
		t.Errorf("%v: want one of the other branch or the merge", p)
	}
	if next, ok := b.Next(3); next != 1 || !ok {
		t.Errorf("next is %d, %v", next, ok)
	}
}

// What cannot be built is not chosen, and stays possible.
func TestFailedBuilds(t *testing.T) {
	b := line(3)
	b.Commits[1].Failed = "it does not build"
	changed, same := []float64{0.1, 0.101, 0.099}, []float64{0, 0.001, -0.001}
	b.Looks = []Look{{2, changed}, {0, same}}
	b.Derive()
	if next, ok := b.Next(3); ok {
		t.Errorf("next is %d", next)
	}
	if likely := b.Likely(); !slices.Equal(likely, []int{1, 2}) {
		t.Errorf("%v, want the last two: %v", likely, probabilities(b))
	}
}

// Where a comparison tells all there is, no commit is compared again, and 10 comparisons with that of the bad one are enough
// for 512 commits; counts of builds differ by a thousandth of the change.
func TestCountsAreLookedAtOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		const n, change, spread = 512, 0.003, 0.00001
		b, culprit, looked := line(n), rng.IntN(n), map[int]bool{}
		for next, ok := n-1, true; ok; next, ok = b.Next(0) {
			if looked[next] {
				t.Fatalf("%d is looked at twice", next)
			}
			middle := 0.000003 * rng.NormFloat64()
			if looked[next] = true; next >= culprit {
				middle += change
			}
			b.Looks = append(b.Looks, Look{next, []float64{middle - spread, middle + spread}})
			b.Derive()
		}
		if best := b.Best(); best != culprit || b.Commits[best].Probability < Certain || len(looked) > 10 {
			t.Errorf("%d with %v after %d comparisons, want %d", best, b.Commits[best].Probability, len(looked), culprit)
		}
	}
	undecided := line(3)
	undecided.Looks = []Look{{2, []float64{1, 1}}, {0, []float64{0.5, 0.5}}, {1, []float64{0.5, 0.5}}}
	undecided.Derive()
	if next, ok := undecided.Next(0); ok {
		t.Errorf("%d is next: %v", next, probabilities(undecided))
	}
}

func TestValidate(t *testing.T) {
	changed := func(change func(*Bisection)) *Bisection {
		b := line(2)
		b.Looks = []Look{{1, []float64{0.1}}, {0, []float64{0}}}
		change(b)
		return b
	}
	for want, b := range map[string]*Bisection{
		"":                                     changed(func(*Bisection) {}),
		"commits are 0; expected 1 to 10000":   changed(func(b *Bisection) { *b = Bisection{} }),
		"commits[1].parents are [1]; expected": changed(func(b *Bisection) { b.Commits[1].Parents[0] = 1 }),
		"looks[1].commit is 2; expected the index": changed(func(b *Bisection) { b.Looks[1].Commit = 2 }),
		"looks[0].commit is 0; expected the index": changed(func(b *Bisection) { b.Looks[0].Commit = 0 }),
		"looks[1].log_ratios are []; expected":     changed(func(b *Bisection) { b.Looks[1].LogRatios = nil }),
		"looks[1].log_ratios are [101]; expected":  changed(func(b *Bisection) { b.Looks[1].LogRatios = []float64{101} }),
	} {
		err := b.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestRounds(t *testing.T) {
	for _, tt := range []struct {
		bad  []float64
		want int
	}{
		{[]float64{0.1, 0.1, 0.1}, leastRounds},
		{[]float64{0.01, 0.03}, 5}, // mean 0.02, deviation 0.01414: (3 · 0.707)² = 4.5
		{[]float64{0.001, 0.03, -0.02}, MostRounds},
		{[]float64{-1, 1}, MostRounds}, // nothing to see
	} {
		b := line(3)
		b.Looks = []Look{{2, tt.bad}}
		b.Derive()
		if got := b.Rounds(); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.bad, got, tt.want)
		}
	}
}

// A commit that was compared so often that only its build is in doubt is not compared again.
func TestBoundOfWhatRoundsTell(t *testing.T) {
	b, many := line(2), make([]float64, 400)
	for i := range many {
		many[i] = 0.015 + 0.03*float64(i%2*2-1)
	}
	b.Looks = []Look{{1, []float64{0.03, 0.06, 0, 0.03}}, {0, many}}
	b.Derive()
	if next, ok := b.Next(b.Rounds()); ok || b.Commits[b.Best()].Probability >= Certain {
		t.Errorf("next is %d: %v", next, probabilities(b))
	}
	b.Looks[1].LogRatios = many[:10]
	b.Derive()
	if next, ok := b.Next(b.Rounds()); !ok || next != 0 {
		t.Errorf("next is %d, %v: %v", next, ok, probabilities(b))
	}
}

// search looks for the commit that changed by 3%, with so much noise in each round and build.
func search(rng *rand.Rand, n int, noise, build float64) (right bool, stated float64, looks int) {
	culprit := rng.IntN(n)
	own := map[int]float64{}
	look := func(b *Bisection, i, rounds int) {
		if _, known := own[i]; !known {
			own[i] = build * rng.NormFloat64()
		}
		ratios := make([]float64, rounds)
		for r := range ratios {
			ratios[r] = own[i] + noise*rng.NormFloat64()
			if i >= culprit {
				ratios[r] += 0.03
			}
		}
		b.Looks = append(b.Looks, Look{i, ratios})
		b.Derive()
	}
	b := line(n)
	look(b, n-1, 7)
	for len(b.Looks) < 200 {
		rounds := b.Rounds()
		next, ok := b.Next(rounds)
		if !ok {
			break
		}
		look(b, next, rounds)
	}
	best := b.Best()
	return best == culprit, b.Commits[best].Probability, len(b.Looks)
}

// Not fewer searches are right than stated, but for three standard errors of 400 with a probability of 0.96, 0.03. 7 answers that
// are certain find one of 128 commits.
func TestStatedProbabilitiesHold(t *testing.T) {
	for _, tt := range []struct{ noise, build float64 }{{0.005, 0}, {0.01, 0.002}, {0.02, 0}, {0.02, 0.004}} {
		rng := rand.New(rand.NewPCG(1, uint64(1000*tt.noise)))
		var right, stated float64
		var looks []int
		const runs = 400
		for range runs {
			ok, p, n := search(rng, 128, tt.noise, tt.build)
			if ok {
				right++
			}
			stated += p
			looks = append(looks, n)
		}
		slices.Sort(looks)
		median, most := looks[runs/2], looks[runs*95/100]
		t.Logf("noise %v: %.1f%% right, %.1f%% stated, %d looks in the median, 95%% at most %d", tt.noise, 100*right/runs, 100*stated/runs, median, most)
		if stated/runs < Certain || (stated-right)/runs > 0.03 || median > 20 || most > 40 {
			t.Errorf("noise %v: %v of %v were right, %v stated, %d looks in the median, 95%% at most %d", tt.noise, right, runs, stated, median, most)
		}
	}
}
