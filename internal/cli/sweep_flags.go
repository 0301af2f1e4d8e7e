package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"contend/load"
	"contend/search"
	"contend/setting"
	"contend/sweep"
)

type sweepFlags struct {
	spec  targetFlags
	given setting.Values // of the load and of either design
	own   *options
	sweepOptions

	// What follows from the flags: see check.
	plan   load.Plan
	design sweep.Design
	search search.Design
}

type sweepOptions struct {
	Rate bool `flag:"rate" words:"find the highest arrival rate that keeps the objectives"`
	ownServer
	portChoice
	remembered
	outlets
	fleetOptions
}

func (s *sweepFlags) flags(cmd *cobra.Command) {
	s.given = settingFlags(cmd, slices.Concat(ofLevels(), ofRates()))
	s.spec.flags(cmd)
}

// The settings of the two kinds of sweep.
func ofLevels() []setting.Setting {
	return append(setting.Of(sweep.Design{}), ofPlan("pacer", "start_lag")...)
}
func ofRates() []setting.Setting {
	return append(setting.Of(search.Design{}), ofPlan("pacer", "think")...)
}

// ofPlan returns the settings of a plan that apply to each of its runs: those
// that a file can give, with some exceptions.
func ofPlan(except ...string) []setting.Setting {
	return slices.DeleteFunc(setting.Of(load.Plan{}), func(s setting.Setting) bool {
		return s.Path == "" || slices.Contains(except, s.Name)
	})
}

// check fills the plan and the design and returns every mistake in them.
func (s *sweepFlags) check() error {
	errs := []error{s.own.read(), s.oneForm(), s.outlets.check(), s.checkPort(s.own)}
	own, why := ofLevels(), "requires --rate"
	if s.Rate {
		own, why = ofRates(), "does not work with --rate"
	}
	for _, name := range setting.Foreign(own, s.given, setting.InFlags) {
		because := why
		if name == "concurrency" && !s.Rate {
			because += "; to choose the levels of a sweep yourself, use --levels " + strings.Join(s.given[name].Texts, ",")
		}
		errs = append(errs, fmt.Errorf("--%s %s", name, because))
	}
	given := s.given.Only(own, setting.InFlags)
	errs = append(errs, setting.Fill(&s.plan, given.Only(ofPlan("pacer"), setting.InFlags), setting.InFlags))
	if s.Rate {
		if s.OTLP != "" || s.Prometheus != "" {
			errs = append(errs, errors.New("--otlp and --prometheus do not work with --rate, whose attempts run at different rates"))
		}
		errs = append(errs, setting.Fill(&s.search, given, setting.InFlags))
		if _, ok := given["max-attempt"]; !ok {
			s.search.MaxAttempt = max(s.search.MaxAttempt, s.search.Attempt)
		}
		errs = append(errs, s.search.Validate())
	} else {
		errs = append(errs, setting.Fill(&s.design, given, setting.InFlags), s.design.Validate())
	}
	s.plan.VUs = 1 // of each visit: its level
	return errors.Join(errs...)
}
