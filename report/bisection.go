package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"contend/bisect"
	"contend/internal/unit"
	"contend/report/plain"
	"contend/stat"
	"contend/trial"
)

// A Bisection is what is known of the commits between two revisions, whose comparison is that of the document.
type Bisection struct {
	bisect.Bisection
	Good string `json:"good"` // hashes
	Bad  string `json:"bad"`
	// Stopped is why the search ended before a commit was certain: "time" or "interrupted"; "": it came to its end.
	Stopped string `json:"stopped,omitempty"`
	// Unbroken is why no commit broke the claim that is searched by; "": one did, or there is no claim.
	Unbroken string `json:"unbroken,omitempty"`
	// Confirmed compares the commit that was found with its parent; nil: it was not compared.
	Confirmed *trial.Comparison `json:"confirmed,omitempty"`
}

// Found reports whether a commit is certain, and nothing speaks against it.
func (b *Bisection) Found() bool {
	return len(b.Looks) > 0 && b.Commits[b.Best()].Probability >= bisect.Certain && !b.refuted()
}

// refuted reports whether the commit that was found is as fast as its parent, or differs from it the other way.
func (b *Bisection) refuted() bool {
	if b.Confirmed == nil {
		return false
	}
	v := b.Confirmed.Verdict
	return v == stat.Equivalent || v.Differs() && (b.Confirmed.Ratio > 1) != (b.Looks[0].Mean() > 0)
}

// mostCommits are those on a page.
const mostCommits = 8

// bisectScreen answers which commit made the difference.
func (d *Document) bisectScreen() *screen {
	b, whole := d.Bisection, d.compareScreen()
	if len(b.Looks) == 0 {
		whole.first = strings.TrimSuffix("No commit to find: "+b.Unbroken, ": ") + ". " + whole.first
		return whole
	}
	s := &screen{care: whole.care, mood: good}
	best := b.Commits[b.Best()]
	likely := b.Likely()
	looks := fmt.Sprintf("%s of %s", plural(len(b.Looks), "comparison"), plural(len(b.Commits), "commit"))
	switch {
	case b.refuted():
		s.first = "No single commit made the difference. " + sentence(against(best, *b.Confirmed))
		s.trust, s.mood = "INCONCLUSIVE: several commits may have changed a little each; "+looks, doubted
	case !b.Found() && b.Stopped != "":
		s.first = fmt.Sprintf("Not found yet: one of %s", plural(len(likely), "commit"))
		s.trust, s.mood = "INCONCLUSIVE: the search was stopped after "+looks, doubted
	case !b.Found():
		s.first = fmt.Sprintf("One of %s: no comparison tells more", plural(len(likely), "commit"))
		s.trust, s.mood = "INCONCLUSIVE: commits between were skipped; "+looks, doubted
	case b.Confirmed != nil:
		s.first = sentence(against(best, *b.Confirmed))
		s.trust = fmt.Sprintf("Valid: probability %s after %s, then compared with its parent", probable(best.Probability), looks)
		if !b.Confirmed.Verdict.Differs() {
			s.trust, s.mood = trust(*b.Confirmed, at(*b.Confirmed), 0), doubted
		}
	default:
		s.first = titled(best) + " made the difference"
		s.trust = fmt.Sprintf("Valid: probability %s after %s", probable(best.Probability), looks)
	}
	s.rows(b.table(likely))
	s.aside("%s", whole.first)
	s.next = Step{"see what it changed", "git show " + best.Hash[:min(12, len(best.Hash))]}
	if i := slices.IndexFunc(likely, func(i int) bool { return b.Commits[i].Failed != "" }); best.Probability < bisect.Certain && i >= 0 {
		c := b.Commits[likely[i]]
		s.aside("%s", skipped(c))
		if strings.HasPrefix(c.Failed, string(stat.Invalid)) && len(d.Counts) == 0 && !strings.Contains(d.Asked, "--expect") {
			s.next = cmp.Or(d.settles(), advise("add --count: other programs do not change how many instructions a commit executes"))
		}
	}
	return s
}

func skipped(c bisect.Commit) string { return fmt.Sprintf("%.12s was skipped: %s", c.Hash, c.Failed) }

// titled is a commit with what its message begins with.
func titled(c bisect.Commit) string {
	return fmt.Sprintf("%.7s (%s)", c.Hash, plain.Clip(c.Subject, 50))
}

// against is the comparison of a commit with its parent, in these words.
func against(commit bisect.Commit, c trial.Comparison) trial.Comparison {
	c.Baseline, c.Candidate = "its parent", titled(commit)
	return c
}

// probable is a probability, which is never all.
func probable(p float64) string {
	const most = 0.999
	if p > most {
		return "over " + unit.Percent(most)
	}
	return unit.Percent(p)
}

// write lists every comparison and every commit that was skipped.
func (b *Bisection) write(v *view) {
	if len(b.Looks) == 0 {
		return
	}
	v.say("Every comparison of a commit with the good revision:")
	t := table{columns: []string{"comparison", "commit", "rounds", "difference", ""}}
	for n, look := range b.Looks {
		c := b.Commits[look.Commit]
		t.rows = append(t.rows, []string{strconv.Itoa(n + 1), fmt.Sprintf("%.12s", c.Hash), strconv.Itoa(len(look.LogRatios)),
			unit.SignedDifference(math.Exp(look.Mean())), c.Subject})
	}
	v.table(t)
	for _, c := range b.Commits {
		if c.Failed != "" {
			v.bullet("%s", skipped(c))
		}
	}
}

// table are the most likely commits, and those that were skipped.
func (b *Bisection) table(likely []int) table {
	t := table{columns: []string{"probability", "commit", ""}}
	for _, i := range likely[:min(len(likely), mostCommits)] {
		c := b.Commits[i]
		text := c.Subject
		if c.Failed != "" {
			text += " (skipped)"
		}
		t.rows = append(t.rows, []string{probable(c.Probability), fmt.Sprintf("%.12s", c.Hash), text})
	}
	if rest := len(likely) - mostCommits; rest > 0 {
		t.rows = append(t.rows, []string{"", "", plural(rest, "more commit")})
	}
	return t
}
