package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"contend/finding"
	"contend/internal/lazyregexp"
	"contend/protocol"
	"contend/report"
	"contend/subject"
	"contend/trial"
	"contend/why/pprof"
)

// missing finds the subjects that cannot run here, and says so once for each
// reason.
func (r *runner) missing(entry *report.Experiment) {
	because := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(r.Experiment.Subjects)) {
		if reason := r.Experiment.Subjects[name].cannotRun(); reason != "" {
			r.absent[name] = true
			because[reason] = append(because[reason], name)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(because)) {
		entry.Warnings = append(entry.Warnings, finding.LeftOut.Warning("%s, so the variants of %s were skipped", reason, strings.Join(because[reason], ", ")))
	}
}

// cannotRun says why the subject cannot run here, or nothing.
func (s Subject) cannotRun() string {
	if s.OS != "" && s.OS != runtime.GOOS {
		return fmt.Sprintf("this is %s and not %s", runtime.GOOS, s.OS)
	}
	if s.Requires != "" {
		if _, err := exec.LookPath(s.Requires); err != nil {
			return s.Requires + " is not installed"
		}
	}
	return ""
}

// names returns the part's arms that can run, with the baseline first and the
// others in the part's order.
func (r *runner) names(p Part) []string {
	return slices.DeleteFunc(p.ordered(), func(name string) bool { return r.absent[p.Arms[name].Subject] })
}

func (r *runner) arms(p Part) []trial.Arm {
	var arms []trial.Arm
	for _, name := range r.names(p) {
		arms = append(arms, r.arm(p, name))
	}
	return arms
}

func (r *runner) arm(p Part, name string) trial.Arm {
	own := p.Arms[name]
	o := r.options
	o.Opener.VUs = max(o.Opener.VUs, p.mostVUs())
	arm := o.arm(name, own.Target, r.subjects[own.Subject])
	if !slices.Contains(r.Analyses, roundTripsName) {
		return arm
	}
	start := arm.Start
	arm.Start = func(ctx context.Context, setup trial.Setup) (*trial.Live, error) {
		live, err := start(ctx, setup)
		if err == nil && live.Subject != nil {
			r.trips.readAtStop(live, partArm{p.Name, name})
		}
		return live, err
	}
	return arm
}

// ServerArm is an arm without a comparison: a target, and the subject that serves it, if it is not empty.
func ServerArm(name string, target protocol.Target, s Subject, o Options) trial.Arm {
	o = o.filled()
	if !s.isStarted() && s.URL == "" {
		return o.arm(name, target, nil)
	}
	return o.arm(name, target, o.share(cmp.Or(name, "server"), s))
}

// arm is a target, served by a subject if there is one.
func (o Options) arm(name string, target protocol.Target, served *sharedSubject) trial.Arm {
	return trial.Arm{Name: name, Start: func(ctx context.Context, setup trial.Setup) (*trial.Live, error) {
		return o.start(ctx, setup, target, served)
	}}
}

// mostVUs returns the highest level that the part may come to.
func (p Part) mostVUs() int {
	return slices.Max(append([]int{p.Sweep.ExtendTo}, p.Design.Levels...))
}

// start brings an arm to life. Arms with the same subject share its process.
func (o Options) start(ctx context.Context, setup trial.Setup, target protocol.Target, served *sharedSubject) (*trial.Live, error) {
	live := &trial.Live{}
	release := func(context.Context) error { return nil }
	fill := func(text string) string { return subject.Fill(text, target.Address()) }
	if served != nil {
		if len(setup.CPUs) == 0 && served.config.Elsewhere() == "" {
			setup.CPUs = o.Placement.ServersHere()
		}
		s, err := served.acquire(ctx, setup, target)
		if err != nil {
			return nil, err
		}
		release = served.release
		target = target.With("url", s.at(target.URL()))
		if s.process != nil {
			fill = func(text string) string { return subject.FillAll(text, s.process.Addrs()) }
			live.Subject = s.process
			live.Profile, live.Counters = s.process.Profile, s.process.Counters
		}
	}
	if address := target.Address(); live.Counters == nil && address != "" {
		live.Find(ctx, address)
	}
	opener := o.Opener
	opener.Seed, opener.OwnCores, opener.Slower = o.Seed, o.Placement.OwnCores(), setup.Slower
	inspected, unusable := o.inspector(fill)
	live.Inspect = inspected
	opened, err := opener.Open(ctx, target)
	if err = errors.Join(unusable, err); err != nil {
		return nil, errors.Join(err, release(ctx))
	}
	live.Address, live.Target = target.URL(), opened
	live.Stop = func(ctx context.Context) error { return errors.Join(protocol.Close(opened), release(ctx)) }
	return live, nil
}

// CheckPprof returns what is wrong with a URL of net/http/pprof (Options).
func CheckPprof(url string) error {
	if unknown := subject.Unknown(url); len(unknown) > 0 {
		return fmt.Errorf("%q; expected %s, and not %s", url, subject.Placeholders, strings.Join(unknown, ", "))
	}
	if _, err := pprof.At(subject.Fill(url, "127.0.0.1:1")); err != nil {
		return fmt.Errorf("%q; expected a URL such as http://{{addr}}%s", url, pprof.DefaultPath)
	}
	return nil
}

// inspector asks a server what goes on in it, for which its addresses are filled in; nil: nobody
// wants to know, or it has none.
func (o Options) inspector(fill func(string) string) (trial.Inspector, error) {
	if !o.Why {
		return nil, nil
	}
	server, err := pprof.At(fill(cmp.Or(o.Pprof, "http://{{addr}}"+pprof.DefaultPath)))
	switch {
	case err == nil:
		return server, nil
	case o.Pprof == "":
		return nil, nil
	}
	return nil, fmt.Errorf("--pprof: %w", err)
}

// sharedSubject is a subject that several arms may use at the same time.
type sharedSubject struct {
	name   string
	config Subject
	self   []string // the command that runs contend
	// elsewhere starts subjects of workers; nil: no workers.
	elsewhere func(ctx context.Context, name string, setup trial.Setup) (trial.Server, error)
	// movable says why binds cannot be moved here, or nil.
	movable func() error

	mu       sync.Mutex
	users    int
	running  started
	stubborn atomic.Bool // see subject.Config
	warn     func(finding.Warning)
	warned   []finding.Warning
}

// stop ends the process, and passes on once what that showed.
func (s *sharedSubject) stop(ctx context.Context) error {
	err := s.running.process.Stop(ctx)
	if own, ok := s.running.process.(interface{ Warnings() []finding.Warning }); ok && s.warn != nil {
		for _, w := range own.Warnings() {
			if !slices.ContainsFunc(s.warned, func(o finding.Warning) bool { return o.Code == w.Code }) {
				s.warned = append(s.warned, w)
				s.warn(w)
			}
		}
	}
	return err
}

type started struct {
	addr    string
	moved   bool         // from the address of the URL
	process trial.Server // nil: already running, not ours
}

// acquire starts the subject, to be driven through a target, unless it runs.
func (s *sharedSubject) acquire(ctx context.Context, setup trial.Setup, target protocol.Target) (started, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		running, err := s.launch(ctx, setup, target)
		if err != nil {
			return started{}, err
		}
		s.running = running
	}
	s.users++
	return s.running, nil
}

func (s *sharedSubject) release(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	if s.users > 0 || s.running.process == nil {
		return nil
	}
	return s.stop(ctx)
}

func (s *sharedSubject) launch(ctx context.Context, setup trial.Setup, target protocol.Target) (started, error) {
	if s.config.URL != "" {
		return started{addr: s.config.URL}, nil
	}
	if name := s.config.Elsewhere(); name != "" {
		if s.elsewhere == nil {
			return started{}, fmt.Errorf("%s is a server that a worker starts, and there are workers with --fleet only", s.config.Command)
		}
		process, err := s.elsewhere(ctx, name, setup)
		if err != nil {
			return started{}, err
		}
		return started{addr: process.Addrs()[""], process: process}, nil
	}
	cfg, err := s.config.process(s.name, s.self, setup)
	if err != nil {
		return started{}, err
	}
	cfg.Addressed, cfg.Stubborn = addressed(target.URL()), &s.stubborn
	if port := fixedPort(target); port != 0 {
		if s.movable() == nil {
			cfg.Port, cfg.Rebind = port, append(slices.Clone(s.self), "rebind")
		} else {
			cfg.At = target.Address()
		}
	}
	process, err := trial.Started(subject.Start(ctx, cfg))
	if err != nil {
		return started{}, err
	}
	return started{addr: process.Addrs()[""], moved: cfg.Port != 0, process: process}, nil
}

// slowStop is how long a server may take to end that runs under a simulator, which writes its counts then.
const slowStop = 12 * time.Second

// process is how the subject is started, under a name, except where it listens.
func (s Subject) process(name string, self []string, setup trial.Setup) (subject.Config, error) {
	command, err := SplitWords(s.Command)
	for i := range command {
		command[i] = s.withProgram(command[i])
	}
	if s.Serve != "" {
		command, err = SplitWords(s.Serve)
		command = slices.Concat(self, []string{"serve"}, command)
	}
	own, command := Assigned(command)
	stop := s.StopTimeout
	if len(setup.Under) > 0 {
		stop = cmp.Or(stop, slowStop)
	}
	return subject.Config{
		Name: name, Command: command, Env: append(s.env(setup), own...), Dir: s.Dir, Files: s.files(), CPUs: setup.CPUs,
		Ready: subject.Ready{HTTP: s.Ready.HTTP, Log: s.Ready.Log}, Counted: setup.Counted, Under: setup.Under, Named: setup.Named,
		StartTimeout: time.Duration(setup.Slower) * subject.DefaultStartTimeout, StopTimeout: stop,
	}, err
}

// withProgram puts the program into a word of the command, which may hold spaces then.
func (s Subject) withProgram(word string) string {
	if s.Program == "" {
		return word
	}
	return strings.ReplaceAll(word, "{{out}}", s.Program)
}

// env is that of the subject, with the padding of the set-up.
func (s Subject) env(setup trial.Setup) []string {
	if setup.Padding == 0 {
		return slices.Clone(s.Env)
	}
	return append(slices.Clone(s.Env), "CONTEND_PADDING="+strings.Repeat("x", setup.Padding))
}

// Assigned takes the NAME=VALUE words off the begin of a command: they are of its environment, as in a shell.
func Assigned(words []string) (env, command []string) {
	n := 0
	for n < len(words) && assignment().MatchString(words[n]) {
		n++
	}
	return words[:n:n], words[n:]
}

var assignment = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=`)

// SplitWords splits a command at white space; single and double quotes group,
// and nothing else is special. An error says that a quote is not closed.
func SplitWords(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, c := range command {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote == 0 && strings.ContainsRune(" \t\n", c):
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("command %q: the quote %c is not closed", command, quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
