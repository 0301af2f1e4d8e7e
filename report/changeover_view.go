package report

import (
	"fmt"
	"slices"

	"contend/internal/unit"
)

// changedOver writes what was compared at a constant rate in a part, each after the
// reason.
func (d *Document) changedOver(v *view, at Place) {
	for _, t := range d.Trials {
		if t.Place != at {
			continue
		}
		for _, o := range t.ChangedOver {
			if len(o.Trials.Comparisons) == 0 {
				continue
			}
			v.say("At concurrency %d the load generator was the bottleneck (%s), so %s compared at a constant %s, %.0f%% of the %s that the slowest came to: there CPU and response times are the servers' own.",
				o.Concurrency, o.Reason.String(), wasWere(o.Candidates), unit.Rate(o.RatePerSec),
				100*o.RatePerSec/o.LimitPerSec, unit.Rate(o.LimitPerSec))
			results(v, o.Trials.Results)
			comparisons(v, o.Trials.Comparisons, o.Trials.Results)
			scatter(v, o.Trials.Comparisons, o.Trials.Probes)
		}
	}
}

func wasWere(names []string) string {
	if len(names) == 1 {
		return names[0] + " was"
	}
	return enumerated(names) + " were"
}

// whyAtRate says for each comparison that was changed over why it was, level by level.
func whyAtRate(list []Comparison) []string {
	var sentences []string
	for _, c := range list {
		if c.ChangedOver == nil {
			continue
		}
		sentence := fmt.Sprintf("At concurrency %d the load generator was the bottleneck: both were driven at %s, %.0f%% of it",
			c.Concurrency, unit.Rate(c.ChangedOver.RatePerSec), 100*c.ChangedOver.RatePerSec/c.ChangedOver.LimitPerSec)
		if !slices.Contains(sentences, sentence) {
			sentences = append(sentences, sentence)
		}
	}
	return sentences
}
