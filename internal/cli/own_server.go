package cli

import (
	"errors"
	"strings"
	"time"

	"contend/experiment"
	"contend/protocol"
	"contend/setting"
	"contend/trial"
)

// An ownServer is one that a command starts for its target.
type ownServer struct {
	Command     string        `flag:"command" words:"start this *command* again for every run or attempt; {{addr}} in it and in TARGET becomes its address"`
	Env         []string      `flag:"env" list:"repeat" words:"environment for the command: *NAME=VALUE*; repeatable"`
	Dir         string        `flag:"dir" words:"working *folder* of the command"`
	StopTimeout time.Duration `flag:"stop-timeout" min:"0s" max:"1h" words:"time for the command to end after SIGTERM, before it is killed (5s, and 1s once it ignored it)"`
}

func (s *ownServer) subject() experiment.Subject {
	return experiment.Subject{Command: s.Command, Env: s.Env, Dir: s.Dir, StopTimeout: s.StopTimeout}
}

// arm is that of a target, served by the command if there is one.
func (s *ownServer) arm(target protocol.Target, o experiment.Options) trial.Arm {
	return experiment.ServerArm("", target, s.subject(), o)
}

// check returns what is wrong with the server of a target.
func (s *ownServer) check(target protocol.Target) error {
	if s.Command == "" {
		if s.Env != nil || s.Dir != "" || s.StopTimeout != 0 {
			return errors.New("--env, --dir and --stop-timeout require --command")
		}
		return nil
	}
	var errs []error
	for i, entry := range s.Env {
		if name, _, found := strings.Cut(entry, "="); !found || name == "" {
			m := setting.At(s, &s.Env).OutOf(entry, "NAME=VALUE")
			m.Index = i
			errs = append(errs, setting.FlagErrors(m))
		}
	}
	return errors.Join(append(errs, s.subject().CheckAddress(target))...)
}

// again are the flags that have a command start the same server, and the same workers drive the load.
func (s *ownServer) again(f *fleetOptions) []string {
	flags := f.again()
	if s.Command == "" {
		return flags
	}
	flags = append(flags, "--command", s.Command)
	for _, entry := range s.Env {
		flags = append(flags, "--env", entry)
	}
	if s.Dir != "" {
		flags = append(flags, "--dir", s.Dir)
	}
	if s.StopTimeout > 0 {
		flags = append(flags, "--stop-timeout", setting.Duration(s.StopTimeout))
	}
	return flags
}
