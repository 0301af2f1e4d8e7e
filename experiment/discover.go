package experiment

import (
	"context"
	"errors"
	"slices"

	"contend/discover"
	"contend/failure"
	"contend/trial"
)

// Discover starts each subject once, by its name, to find out where it listens and what it speaks. Say gets what was found
// of each, which is asked like r. The options need Self.
func Discover(ctx context.Context, names []string, subjects map[string]Subject, o Options, r discover.Request, say func(name string, found *discover.Server)) ([]*discover.Server, error) {
	o = o.filled()
	var all []*discover.Server
	var failed []error
	for _, name := range names {
		cfg, err := subjects[name].process(name, o.Self, trial.Setup{})
		if err == nil && o.Movable() == nil {
			cfg.Rebind = append(slices.Clone(o.Self), "observe")
		}
		var found *discover.Server
		if err == nil {
			found, err = discover.Look(ctx, cfg, r)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case err == nil:
			say(name, found)
			all = append(all, found)
		case len(names) > 1:
			failed = append(failed, failure.About(name+": ", err, failure.Failure{Arm: name}))
		default:
			failed = append(failed, err)
		}
	}
	return all, errors.Join(failed...)
}
