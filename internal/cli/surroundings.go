package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"contend/experiment"
)

// surroundings are what commands that are compared get, all or one of them.
type surroundings struct {
	Env         []string      `flag:"env" list:"repeat" words:"environment for the commands: *NAME=VALUE* for all, A:NAME=VALUE for one; repeatable"`
	Dir         []string      `flag:"dir" list:"repeat" words:"working *folder* of the commands: PATH for all, A:PATH for one; repeatable"`
	StopTimeout time.Duration `flag:"stop-timeout" min:"0s" max:"1h" words:"time for the commands to end after SIGTERM, before they are killed (5s, and 1s for one that ignored it)"`
}

// add gives the arms' subjects their variables, first those for all and then those
// for one, and returns every mistake.
func (s surroundings) add(arms []arm, subjects map[string]experiment.Subject) error {
	var errs []error
	for _, entry := range s.Env {
		if name, _, _ := strings.Cut(entry, "="); strings.Contains(name, ":") && ofArm(arms, entry) == nil {
			errs = append(errs, fmt.Errorf("--env is %q, which names no command; expected NAME=VALUE, perhaps after one of %s and a colon", entry, namesOf(arms)))
		}
	}
	for _, a := range arms {
		one := subjects[a.name]
		one.StopTimeout = s.StopTimeout
		all, own := split(arms, a, s.Env)
		one.Env = append(all, own...)
		all, own = split(arms, a, s.Dir)
		if dirs := append(all, own...); len(dirs) > 0 {
			one.Dir = dirs[len(dirs)-1]
		}
		subjects[a.name] = one
	}
	return errors.Join(errs...)
}

// split returns the entries for all arms, and those for one, without its name.
func split(arms []arm, a arm, entries []string) (all, own []string) {
	for _, entry := range entries {
		switch of := ofArm(arms, entry); {
		case of == nil:
			all = append(all, entry)
		case *of == a:
			own = append(own, strings.TrimPrefix(entry, a.name+":"))
		}
	}
	return all, own
}

// ofArm returns the arm that an entry begins with; nil: it is for all.
func ofArm(arms []arm, entry string) *arm {
	i := slices.IndexFunc(arms, func(a arm) bool { return strings.HasPrefix(entry, a.name+":") })
	if i < 0 {
		return nil
	}
	return &arms[i]
}

func namesOf(arms []arm) string {
	names := make([]string, len(arms))
	for i, a := range arms {
		names[i] = a.name
	}
	return strings.Join(names, ", ")
}
