// Package bisect finds the commit that changed a figure, from comparisons that are not certain.
//
// Each comparison sets a commit against the good revision, which all commits follow. Git bisect
// takes every answer as certain; this keeps a probability for each commit. A comparison that could
// have gone either way moves it little, and the next commit is the one whose answer tells most
// (Horstein, "Sequential transmission using noiseless feedback", 1963; Waeber, Frazier and
// Henderson, "Bisection search with noisy responses", 2013).
package bisect

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Certain is the probability at which a commit is named.
const Certain = 0.95

// A Commit is one that may have changed the figure.
type Commit struct {
	Hash    string `json:"hash"`
	Subject string `json:"subject"` // first line of its message
	// Parents are indexes of commits, each smaller than the commit's own. The good revision and
	// what it contains are left out.
	Parents []int `json:"parents,omitempty"`
	// Failed says why the commit cannot be compared, "" if it can be.
	Failed string `json:"failed,omitempty"`
	// Probability is that this commit made the change, as Derive computes it.
	Probability float64 `json:"probability"`
}

// A Look is a comparison of a commit with the good revision.
type Look struct {
	Commit int `json:"commit"` // its index
	// LogRatios are ln(commit ÷ good), one for each round, at least one.
	LogRatios []float64 `json:"log_ratios"`
}

// Mean is that of its log-ratios.
func (l Look) Mean() float64 {
	mean, _ := spread(l.LogRatios)
	return mean
}

// A Bisection is what is known of a series of commits. The last is the bad one, which contains all others.
type Bisection struct {
	Commits []Commit `json:"commits"`
	Looks   []Look   `json:"looks"`

	within [][]uint64 // set by Derive: those commits that each contains, itself included
	// The change and the variance of a round, on average over the commits by their probabilities. Set by Derive.
	change, variance float64
}

// MostCommits of a Bisection: each has a bit for each other.
const MostCommits = 10_000

// Validate returns every mistake in what Derive and the others need.
func (b *Bisection) Validate() error {
	var errs []error
	if n := len(b.Commits); n < 1 || n > MostCommits {
		errs = append(errs, fmt.Errorf("commits are %d; expected 1 to %d", n, MostCommits))
	}
	for i, c := range b.Commits {
		if slices.ContainsFunc(c.Parents, func(parent int) bool { return parent < 0 || parent >= i }) {
			errs = append(errs, fmt.Errorf("commits[%d].parents are %d; expected smaller indexes", i, c.Parents))
		}
	}
	for i, look := range b.Looks {
		if look.Commit < 0 || look.Commit >= len(b.Commits) || i == 0 && look.Commit != len(b.Commits)-1 {
			errs = append(errs, fmt.Errorf("looks[%d].commit is %d; expected the index of a commit, first that of the last", i, look.Commit))
		}
		if len(look.LogRatios) == 0 || slices.ContainsFunc(look.LogRatios, func(r float64) bool { return math.Abs(r) > mostLogRatio }) {
			errs = append(errs, fmt.Errorf("looks[%d].log_ratios are %v; expected some, of at most %d", i, look.LogRatios, mostLogRatio))
		}
	}
	return errors.Join(errs...)
}

// mostLogRatio is far beyond what any two servers differ by.
const mostLogRatio = 100

// contains reports whether commit i contains commit j.
func (b *Bisection) contains(i, j int) bool {
	return b.within[i][j/64]>>(j%64)&1 == 1
}

func (b *Bisection) ancestors() [][]uint64 {
	within := make([][]uint64, len(b.Commits))
	for i, c := range b.Commits {
		set := make([]uint64, len(b.Commits)/64+1)
		set[i/64] |= 1 << (i % 64)
		for _, parent := range c.Parents {
			for word, bits := range within[parent] {
				set[word] |= bits
			}
		}
		within[i] = set
	}
	return within
}

// betweenBuilds is the variance of what a build has of its own, such as where its functions lie, as a
// part of the variance of a round. More rounds of the same commit do not average it out.
const betweenBuilds = 0.05

// weight is that of the mean of so many rounds of a commit: the variance of a round ÷ its own.
func weight(rounds int) float64 {
	if rounds == 0 {
		return 0
	}
	return 1 / (1/float64(rounds) + betweenBuilds)
}

// rounds are the log-ratios of each commit, of all looks at it.
func (b *Bisection) rounds() [][]float64 {
	of := make([][]float64, len(b.Commits))
	for _, look := range b.Looks {
		of[look.Commit] = append(of[look.Commit], look.LogRatios...)
	}
	return of
}

// spread returns the mean of values, and the sum of their squared distances from it.
func spread(values []float64) (mean, squares float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, squares
}

// Derive computes the probabilities from the looks, the first of them at the bad commit. Without looks there are none.
//
// If commit j made the change, then the log-ratios of commits that contain it have the mean δ, those
// of others 0, and all have the same variance. Nothing is known of δ and of the variance beforehand.
// With the weight w of each commit that was looked at, x = 1 if it contains j and else 0, and its mean m, the evidence
// for j is (Σwx)^(−1/2) · S^(−(N−1)/2), where S is the sum of squares within the commits, plus Σwm² −
// (Σwxm)² / Σwx, and N the number of rounds (Bayesian linear regression with the prior 1/variance: Gelman et
// al., "Bayesian Data Analysis", 3rd edition, section 14.2). Before any look all commits are equally likely.
func (b *Bisection) Derive() {
	if len(b.Looks) == 0 {
		return
	}
	if len(b.within) != len(b.Commits) {
		b.within = b.ancestors()
	}
	weights, means := make([]float64, len(b.Commits)), make([]float64, len(b.Commits))
	var looked []int
	var rounds, whole, all float64
	for i, logRatios := range b.rounds() {
		if len(logRatios) == 0 {
			continue
		}
		mean, within := spread(logRatios)
		looked, weights[i], means[i] = append(looked, i), weight(len(logRatios)), mean
		whole += within + weights[i]*mean*mean
		rounds += float64(len(logRatios))
	}
	logs, changes, variances := make([]float64, len(b.Commits)), make([]float64, len(b.Commits)), make([]float64, len(b.Commits))
	for j := range b.Commits {
		var sum, product float64
		for _, i := range looked {
			if b.contains(i, j) {
				sum += weights[i]
				product += weights[i] * means[i]
			}
		}
		rest := max(whole-product*product/sum, math.SmallestNonzeroFloat64)
		changes[j], variances[j] = product/sum, rest/max(1, rounds-1)
		logs[j] = -math.Log(sum)/2 - (rounds-1)/2*math.Log(rest)
	}
	most := slices.Max(logs)
	for j := range logs {
		logs[j] = math.Exp(logs[j] - most)
		all += logs[j]
	}
	b.change, b.variance = 0, 0
	for j := range b.Commits {
		p := logs[j] / all
		b.Commits[j].Probability = p
		b.change, b.variance = b.change+p*changes[j], b.variance+p*variances[j]
	}
}

// A comparison is not worth its time if its less likely answer has a smaller probability than leastInformative, or if it
// moves the odds of that by less than leastTold, by how likely it is: what more rounds tell has a bound.
const (
	leastInformative = 0.01
	leastTold        = 0.01
)

// Next returns the commit whose comparison, in so many rounds, tells most: where both answers are alike in probability, and the
// rounds add much to what is known of the commit. With 0 rounds a comparison tells all there is, and none is made again. ok is
// false if no comparison tells anything more, or if a commit is Certain.
func (b *Bisection) Next(rounds int) (next int, ok bool) {
	if b.Commits[b.Best()].Probability >= Certain {
		return 0, false
	}
	known, most := b.rounds(), leastTold
	told := b.change * b.change / max(2*b.variance, math.SmallestNonzeroFloat64) // by a round, in logarithms of odds
	for i, c := range b.Commits {
		changed := 0.0
		for j, other := range b.Commits {
			if other.Probability > 0 && b.contains(i, j) {
				changed += other.Probability
			}
		}
		less := min(changed, 1-changed)
		tells := less * told * (weight(len(known[i])+rounds) - weight(len(known[i])))
		if rounds == 0 && len(known[i]) == 0 {
			tells = less
		}
		if c.Failed == "" && less > leastInformative && tells > most {
			next, ok, most = i, true, tells
		}
	}
	return next, ok
}

// Best is the most likely commit.
func (b *Bisection) Best() int {
	best := 0
	for j, c := range b.Commits {
		if c.Probability > b.Commits[best].Probability {
			best = j
		}
	}
	return best
}

// Likely are the fewest commits that are Certain together, the most likely first.
func (b *Bisection) Likely() []int {
	order := make([]int, len(b.Commits))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(b.Commits[j].Probability, b.Commits[i].Probability) })
	sum := 0.0
	for n, j := range order {
		if sum += b.Commits[j].Probability; sum >= Certain {
			return order[:n+1]
		}
	}
	return order
}

const (
	// MostRounds of a look: then it is better to look at another commit.
	MostRounds = 10
	// leastRounds show how rounds differ.
	leastRounds = 2
	// clear is how many standard errors the change should be from none in a look.
	clear = 3
)

// Rounds returns how many rounds the next look should have, for a change as large and rounds as different as in all looks so far.
func (b *Bisection) Rounds() int {
	if b.change == 0 {
		return MostRounds
	}
	return int(min(max(math.Ceil(clear*clear*b.variance/(b.change*b.change)), leastRounds), MostRounds))
}
