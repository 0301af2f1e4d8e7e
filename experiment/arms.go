package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"

	"contend/finding"
	"contend/internal/perf"
	"contend/load"
	"contend/protocol"
	"contend/report"
	"contend/subject"
	"contend/trial"
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
		entry.Warnings = append(entry.Warnings, finding.LeftOut.Warning("%s, so the variants of %s were left out", reason, strings.Join(because[reason], ", ")))
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
	names := slices.Clone(p.Order)
	if names == nil {
		names = slices.Sorted(maps.Keys(p.Arms))
	}
	names = slices.DeleteFunc(names, func(name string) bool { return r.absent[p.Arms[name].Subject] })
	if i := slices.Index(names, p.Baseline); i >= 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, p.Baseline)
	}
	return names
}

func (r *runner) arms(p Part) []trial.Arm {
	var arms []trial.Arm
	for _, name := range r.names(p) {
		arms = append(arms, r.arm(p, name))
	}
	return arms
}

func (r *runner) arm(p Part, name string) trial.Arm {
	arm := p.Arms[name]
	opener := r.options.Opener
	opener.VUs, opener.Seed = max(opener.VUs, p.mostVUs()), r.options.Seed
	return trial.Arm{Name: name, Start: func(ctx context.Context, setup trial.Setup) (*trial.Live, error) {
		live, err := r.start(ctx, setup, arm.Subject, arm.Target, opener)
		if err == nil && live.Subject != nil && slices.Contains(r.Analyses, roundTripsName) {
			r.trips.readAtStop(live, partArm{p.Name, name})
		}
		return live, err
	}}
}

// mostVUs returns the highest level that the part may come to.
func (p Part) mostVUs() int {
	return slices.Max(append([]int{p.Sweep.ExtendTo}, p.Design.Levels...))
}

// start brings an arm to life. Arms with the same subject share its process.
func (r *runner) start(ctx context.Context, setup trial.Setup, subjectName string, target protocol.Target, opener protocol.Opener) (*trial.Live, error) {
	live := &trial.Live{}
	release := func(context.Context) error { return nil }
	if subjectName != "" {
		if len(setup.CPUs) == 0 {
			setup.CPUs = r.options.ServerCPUs
		}
		s, err := r.subjects[subjectName].acquire(ctx, setup, target)
		if err != nil {
			return nil, err
		}
		release = r.subjects[subjectName].release
		target = target.With("url", s.at(target.URL()))
		if s.process != nil {
			live.Subject = s.process
			live.Profile = func() (trial.Profiler, error) { return s.process.Profiler() }
			live.Counters = func(events ...perf.Event) (trial.Counters, error) { return s.process.Counters(events...) }
		}
	}
	if address := target.Address(); live.Counters == nil && address != "" {
		live.Find(ctx, address)
	}
	opened, err := opener.Open(ctx, target)
	if err != nil {
		return nil, errors.Join(err, release(ctx))
	}
	live.Address, live.Target = target.URL(), opened
	live.Stop = func(ctx context.Context) error { return errors.Join(closeTarget(opened), release(ctx)) }
	return live, nil
}

func closeTarget(t load.Target) error {
	if c, ok := t.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// sharedSubject is a subject that several arms may use at the same time.
type sharedSubject struct {
	name   string
	config Subject
	self   []string // the command that runs contend
	// movable says why binds cannot be moved here, or nil.
	movable func() error

	mu      sync.Mutex
	users   int
	running started
}

type started struct {
	addr    string
	moved   bool             // from the address of the URL
	process *subject.Subject // nil: already running, not ours
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
	return s.running.process.Stop(ctx)
}

func (s *sharedSubject) launch(ctx context.Context, setup trial.Setup, target protocol.Target) (started, error) {
	if s.config.URL != "" {
		return started{addr: s.config.URL}, nil
	}
	command, err := SplitWords(s.config.Command)
	for i := range command {
		command[i] = s.config.withProgram(command[i])
	}
	if s.config.Serve != "" {
		command, err = SplitWords(s.config.Serve)
		command = slices.Concat(s.self, []string{"serve"}, command)
	}
	if err != nil {
		return started{}, err
	}
	cfg := subject.Config{
		Name: s.name, Command: command, Env: s.env(setup), Dir: s.config.Dir, Files: s.config.files(), CPUs: setup.CPUs,
		Ready: subject.Ready{HTTP: s.config.Ready.HTTP, Log: s.config.Ready.Log}, Counted: setup.Counted,
		Addressed: addressed(target.URL()),
	}
	if port := FixedPort(target); port != 0 {
		if s.movable() == nil {
			cfg.Port, cfg.Rebind = port, append(slices.Clone(s.self), "rebind")
		} else {
			cfg.At = target.Address()
		}
	}
	process, err := subject.Start(ctx, cfg)
	if err != nil {
		return started{}, err
	}
	return started{addr: process.Addr(""), moved: cfg.Port != 0, process: process}, nil
}

// withProgram puts the program into a word of the command, which may hold spaces then.
func (s Subject) withProgram(word string) string {
	if s.Program == "" {
		return word
	}
	return strings.ReplaceAll(word, "{{out}}", s.Program)
}

// env is that of the subject, with the padding of the set-up.
func (s *sharedSubject) env(setup trial.Setup) []string {
	if setup.Padding == 0 {
		return s.config.Env
	}
	return append(slices.Clone(s.config.Env), "CONTEND_PADDING="+strings.Repeat("x", setup.Padding))
}

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
