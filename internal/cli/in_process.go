package cli

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"contend/report"
	"contend/setting"
)

// lookUp returns what the names stand for, each once; without any, all.
func lookUp[D any](names, all []string, lookup func(string) (D, error)) (found []D, err error) {
	if len(names) == 0 {
		names = all
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		d, unknown := lookup(name)
		if unknown != nil {
			m := setting.NotOneOf(name, all)
			m.Setting.Name = "design"
			err = errors.Join(err, m)
		}
		found = append(found, d)
	}
	return found, err
}

// A visited is measured in this process, in short visits.
type visited interface {
	label() string
	visit(context.Context) error
}

// inVisits is how often each is visited.
const inVisits = 3

// visitAll visits all of them in a new random order each time, so that none gets all of a disturbance, and shows how
// far it is. After an error nothing more is visited.
func visitAll[V visited](ctx context.Context, p *progress, seed uint64, all []V, soFar func() *report.Document) (err error) {
	random := rand.New(rand.NewPCG(seed, 0))
	for visit := range inVisits {
		for i, n := range random.Perm(len(all)) {
			p.between(float64(visit*len(all)+i)/float64(inVisits*len(all)), all[n].label(), soFar)
			if err == nil && ctx.Err() == nil {
				err = all[n].visit(ctx)
			}
		}
	}
	p.clear()
	return err
}
