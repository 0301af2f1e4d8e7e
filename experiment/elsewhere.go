package experiment

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	"contend/subject"
	"contend/trial"
)

// Nameless is what Elsewhere returns if the name is missing: no subject can have it.
const Nameless = "?"

// ofWorker precedes the name of a subject of a worker where a command would be.
const ofWorker = "subject:"

// Elsewhere returns the name, NAME or WORKER/NAME, of the subject of a worker that subject:NAME asks
// for instead of a command; "": a command.
func (s Subject) Elsewhere() string {
	name, elsewhere := strings.CutPrefix(s.Command, ofWorker)
	switch {
	case !elsewhere:
		return ""
	case name == "":
		return Nameless
	}
	return name
}

// elsewhere checks what is asked of a worker: a name alone.
func (c *subjectCheck) elsewhere() {
	name := c.Elsewhere()
	if !nameForm().MatchString(name[strings.LastIndexByte(name, '/')+1:]) {
		c.add("command", "is %q; expected %sNAME or %sWORKER/NAME, of a worker with --subjects", c.Command, ofWorker, ofWorker)
	}
	rest := c.Subject
	rest.Command = ""
	if !reflect.ValueOf(rest).IsZero() {
		c.addSentence("", "%s has a command, with all that belongs to it, in the file of its worker: nothing else can be given here", c.Command)
	}
}

// allElsewhere reports whether workers start all servers of a part.
func (r *runner) allElsewhere(p Part) bool {
	for _, name := range r.names(p) {
		if r.Subjects[p.Arms[name].Subject].Elsewhere() == "" {
			return false
		}
	}
	return true
}

// Offered are the subjects that a worker starts for its coordinators.
type Offered struct {
	// Address is the address of the worker's machine on which they listen; empty means the loopback.
	Address  string             `yaml:"address"`
	Subjects map[string]Subject `yaml:"subjects"`
}

// ParseOffered reads the file of a worker, as Parse does that of an experiment.
func ParseOffered(name string, text []byte) (*Offered, error) {
	return parse(name, text, "servers (key subjects)", (*Offered).validate)
}

func (o *Offered) validate(m *mistakes) {
	v := &validator{mistakes: m}
	if len(o.Subjects) == 0 {
		v.missing("subjects", "the servers that the worker starts, by name")
	}
	if at, err := netip.ParseAddr(o.Address); o.Address != "" && (err != nil || at.IsUnspecified()) {
		v.add("address", "is %q; expected an IP address of this machine that the generators reach", o.Address)
	}
	for _, name := range sortedKeys(o.Subjects) {
		s, path := o.Subjects[name], "subjects."+name
		v.subject(path, name, s)
		if s.URL != "" {
			v.add(path+".url", "is given, but a worker starts its servers; expected command, serve")
		}
		if s.Elsewhere() != "" {
			v.add(path+".command", "is %q, but this is the file of the worker; expected a command", s.Command)
		}
	}
}

// Starters returns what starts the subjects, by their names; self is the command that runs contend. Whatever their
// files and commands do not say of where they listen, PORT in their environment does.
func (o *Offered) Starters(self []string) map[string]func(context.Context, trial.Setup) (trial.Server, error) {
	all := map[string]func(context.Context, trial.Setup) (trial.Server, error){}
	for name, s := range o.Subjects {
		all[name] = func(ctx context.Context, setup trial.Setup) (trial.Server, error) {
			if reason := s.cannotRun(); reason != "" {
				return nil, fmt.Errorf("server %s: %s", name, reason)
			}
			cfg, err := s.process(name, self, setup)
			cfg.Host, cfg.Addressed = o.Address, true
			if err != nil {
				return nil, err
			}
			return trial.Started(subject.Start(ctx, cfg))
		}
	}
	return all
}
