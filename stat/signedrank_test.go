package stat

import (
	"math"
	"math/bits"
	"sort"
	"testing"

	"contend/internal/testenv"
)

// Critical values of the signed-rank statistic, the largest W with a two-sided p of
// at most the level, as printed in statistical tables (Wilcoxon 1945 and Hollander,
// Wolfe and Chicken, table A.4); −1 where no W is small enough.
func TestSignedRankTailAgreesWithTables(t *testing.T) {
	tests := []struct{ n, at05, at01 int }{
		{5, -1, -1}, {6, 0, -1}, {7, 2, -1}, {8, 3, 0}, {9, 5, 1}, {10, 8, 3}, {11, 10, 5},
		{12, 13, 7}, {13, 17, 9}, {14, 21, 12}, {15, 25, 15}, {16, 29, 19}, {17, 34, 23},
		{18, 40, 27}, {19, 46, 32}, {20, 52, 37}, {24, 81, 61}, {25, 89, 68},
	}
	for _, tt := range tests {
		tail := signedRankTail(tt.n)
		for level, want := range map[float64]int{0.05: tt.at05, 0.01: tt.at01} {
			got := sort.Search(len(tail), func(w int) bool { return 2*tail[w] > level }) - 1
			if got != want {
				t.Errorf("n=%d level=%g: critical value %d, want %d", tt.n, level, got, want)
			}
		}
	}
}

// Every subset of the ranks 1 … n is one of the 2ⁿ sign patterns; count them all.
func TestSignedRankTailAgreesWithEnumeration(t *testing.T) {
	for n := 1; n <= 14; n++ {
		tail := signedRankTail(n)
		counts := make([]int, n*(n+1)/2+1)
		for signs := range uint(1) << n {
			sum := 0
			for rest := signs; rest != 0; rest &= rest - 1 {
				sum += bits.TrailingZeros(rest) + 1
			}
			counts[sum]++
		}
		atMost := 0
		for w := range tail {
			atMost += counts[w]
			if want := float64(atMost) / float64(uint(1)<<n); tail[w] != want {
				t.Fatalf("n=%d: P(W ≤ %d) = %g, want exactly %g", n, w, tail[w], want)
			}
		}
	}
}

// The floor 1/2ⁿ is reached exactly, also at 60 rounds, and the tail climbs to at
// least one half in its middle, the distribution being symmetric.
func TestSignedRankTailAtSixtyRounds(t *testing.T) {
	tail := signedRankTail(60)
	if tail[0] != math.Ldexp(1, -60) {
		t.Errorf("P(W ≤ 0) = %g, want 2^-60", tail[0])
	}
	if !sort.Float64sAreSorted(tail) {
		t.Error("the tail is not non-decreasing")
	}
	if last := tail[len(tail)-1]; last < 0.5 || last > 0.51 {
		t.Errorf("P(W ≤ middle) = %g, want just above 0.5", last)
	}
}

// Where counting ends and the approximation begins they must agree. The next term of
// the Edgeworth series is κ/24·|z³−3z|·φ(z) with excess kurtosis κ = −3.6/n = −0.018:
// at most 0.00041 (z = 0.74), and below 0.00012 in the outer 5% where verdicts are made.
func TestNormalTailAgreesWithExactTail(t *testing.T) {
	exact, normal := exactTail(exactRounds), normalSignedRankTail(exactRounds)
	for w := range exact {
		tolerance := 5e-4
		if exact[w] <= 0.05 {
			tolerance = 1.5e-4
		}
		if math.Abs(exact[w]-normal[w]) > tolerance {
			t.Fatalf("P(W ≤ %d) is %g, approximated by %g", w, exact[w], normal[w])
		}
	}
	if signedRankTail(exactRounds)[0] != exact[0] || signedRankTail(exactRounds + 1)[0] != normalSignedRankTail(exactRounds + 1)[0] {
		t.Error("counting does not end where it should")
	}
}

// The logarithm of the ratio of Paired: of ln 1, ln 2 and ln 8 the Walsh averages are
// 0, ½·ln 2, ln 2, 1½·ln 2, 2·ln 2 and 3·ln 2, so their median is 1¼·ln 2.
func TestCenter(t *testing.T) {
	logs := []float64{math.Log(8), 0, math.Log(2)}
	effect, err := Paired(logs, 0.95)
	testenv.Must(t, err)
	if got, want := Center(logs), 1.25*math.Ln2; math.Abs(got-want) > 1e-12 || math.Abs(math.Log(effect.Ratio)-want) > 1e-12 {
		t.Errorf("center %v, ln of the ratio %v, want %v", got, math.Log(effect.Ratio), want)
	}
	if got := Center(nil); got != 0 {
		t.Errorf("center of nothing is %v, want 0", got)
	}
}
