package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/failure"
	"contend/internal/rebind"
)

// start makes one attempt. With an error it returns the ended subject, or nil
// if there was none.
func start(ctx context.Context, cfg Config) (*Subject, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := cfg.checkContainer(); err != nil {
		return nil, err
	}
	cfg, err := cfg.inFolder()
	if err != nil {
		return nil, err
	}
	s, err := cfg.launch(ctx)
	if s == nil {
		return nil, errors.Join(err, cfg.removeFolder())
	}
	return s, err
}

// launch starts the process and waits until it is ready. With an error it
// returns the ended subject, or nil if there was none.
func (cfg Config) launch(ctx context.Context) (*Subject, error) {
	texts := slices.Concat(cfg.Command, cfg.Env, slices.Collect(maps.Values(cfg.Files)))
	names, err := addressNames(texts)
	if err != nil {
		return nil, err
	}
	onlyPORT := cfg.Addressed && cfg.insists() == "" && !slices.Contains(names, "")
	if onlyPORT {
		names = append(names, "")
	}
	if err := cfg.Ready.validate(names); err != nil {
		return nil, err
	}
	watch, err := cfg.Ready.watch()
	if err != nil {
		return nil, err
	}
	addrs, err := cfg.addresses(names)
	if err != nil {
		return nil, err
	}
	if err := cfg.writeFiles(addrs); err != nil {
		return nil, err
	}
	handover, err := cfg.handover()
	if err != nil {
		return nil, err
	}
	cmd := command(cfg, addrs)
	s := &Subject{
		name:        cfg.Name,
		addrs:       addrs,
		ended:       cfg.removeFolder,
		stopTimeout: cmp.Or(cfg.StopTimeout, defaultStopTimeout),
		stubborn:    cfg.learning(),
		cmd:         cmd,
		container:   containerOf(cmd),
		onlyPORT:    onlyPORT,
		named:       cfg.Named,
		insists:     cfg.insists() != "",
		handover:    handover,
		unmoved:     make(chan error, 1),
		cpus:        slices.Clone(cfg.CPUs),
		counted:     slices.Clone(cfg.Counted),
		stdout:      tail{watch: watch},
		stderr:      tail{watch: watch},
		done:        make(chan struct{}),
	}
	if handover != nil {
		s.own = netip.MustParseAddrPort(addrs[""]).Addr()
	}
	launched := make(chan error, 1)
	go s.live(launched)
	if err := <-launched; err != nil {
		<-s.done
		return nil, notStarted(err)
	}
	return s, s.becomeReady(ctx, cmp.Or(cfg.StartTimeout, DefaultStartTimeout), s.probes(cfg, watch))
}

// probes are what has to hold until the subject is ready.
func (s *Subject) probes(cfg Config, watch *lineWatch) []probe {
	if s.container != nil {
		return cfg.Ready.probes(s.addrs, watch, true, cfg.said(s.addrs))
	}
	own := &owner{subject: s, final: cfg.again || cfg.At != ""}
	if s.onlyPORT && len(s.addrs) == 1 && cfg.Ready == (Ready{}) {
		return []probe{(&finder{subject: s, several: cfg.AnyPort}).probe, own.probe}
	}
	return append(cfg.Ready.probes(s.addrs, watch, false, cfg.said(s.addrs)), own.probe)
}

// moves reports whether what the subject binds is moved. A container's binds are its daemon's.
func (cfg Config) moves() bool { return len(cfg.Rebind) > 0 && runAt(cfg.Command) == 0 }

// handover takes over the listener of what the subject binds; nil: its binds stay as they are.
func (cfg Config) handover() (*rebind.Handover, error) {
	if !cfg.moves() {
		return nil, nil
	}
	return rebind.NewHandover()
}

// notStarted adds to the error of a start which program is missing, if one is.
func notStarted(err error) error {
	name := ""
	if missing, ok := errors.AsType[*exec.Error](err); ok && errors.Is(err, exec.ErrNotFound) {
		name = missing.Name
	} else if at, ok := errors.AsType[*fs.PathError](err); ok && at.Op == "fork/exec" && errors.Is(err, fs.ErrNotExist) {
		name = at.Path
	}
	if name == "" {
		return err
	}
	return failure.With(err, failure.Failure{Kind: failure.NoProgram, Program: name})
}

// becomeReady waits until the probes hold, or abandons the subject.
func (s *Subject) becomeReady(ctx context.Context, timeout time.Duration, probes []probe) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.limitStart(ctx, timeout, cancel)
	if err := awaitReady(ctx, s.done, probes); err != nil {
		return s.abandon(err)
	}
	return nil
}

// maxPatience bounds how much longer than its timeout a subject that waits for CPUs may take to start.
const maxPatience = 5

// limitStart ends ctx when the subject has had its time to start. While one of its threads could run and
// had no CPU, as on a machine that has much else to do, the time does not count.
func (s *Subject) limitStart(ctx context.Context, timeout time.Duration, end context.CancelCauseFunc) {
	started, limit := time.Now(), timeout
	for time.Since(started) < limit {
		select {
		case <-ctx.Done():
			return
		case <-time.After(limit - time.Since(started)):
		}
		limit = timeout + min(s.waited(), maxPatience*timeout)
	}
	text := fmt.Sprintf("not ready after %v", timeout)
	if more := limit - timeout; more >= timeout/10 {
		text += fmt.Sprintf(" and %v without a CPU", more.Round(timeout/10))
	}
	end(errors.New(text))
}

// waited is the longest that a thread could have run and had no CPU; 0 where that is unknown.
func (s *Subject) waited() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reaped {
		return 0
	}
	_, seen, _, _ := sampleAll(s.PID(), s.container)
	return seen.longestWait()
}

// said returns what puts into a text, in place of the address that binds are moved to and
// nobody knows, the one on which the program insists.
func (cfg Config) said(addrs map[string]string) *strings.Replacer {
	if cfg.Port == 0 {
		return strings.NewReplacer()
	}
	return strings.NewReplacer(addrs[""], net.JoinHostPort("localhost", strconv.Itoa(cfg.Port)))
}

// insists returns the port that the subject insists on; "": none.
func (cfg Config) insists() string {
	if cfg.Port != 0 {
		return strconv.Itoa(cfg.Port)
	}
	_, port, _ := net.SplitHostPort(cfg.At) // "" of none
	return port
}

// addresses returns the addresses of the names, and of a fixed port.
func (cfg Config) addresses(names []string) (map[string]string, error) {
	host := cmp.Or(cfg.Host, loopback)
	if cfg.moves() && cfg.Port == 0 {
		host = ownHost().String()
	}
	addrs, err := freeAddrs(host, names)
	switch {
	case err != nil:
	case cfg.Port != 0:
		addrs[""], err = ownAddr(cfg.Port)
	case cfg.At != "":
		addrs[""], err = cfg.At, vacant(cfg.At)
	}
	return addrs, err
}

func command(cfg Config, addrs map[string]string) *exec.Cmd {
	argv := slices.Clone(cfg.Under)
	for _, arg := range cfg.Command {
		argv = append(argv, substitute(arg, addrs))
	}
	if cfg.Named {
		argv = named(argv)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if cfg.moves() && cfg.there(cmd) { // else a missing program is noticed at once
		cmd = exec.Command(cfg.Rebind[0], slices.Concat(cfg.Rebind[1:], argv)...)
	}
	cmd.Dir = cfg.Dir
	cmd.Env = cmd.Environ()
	if _, port, err := net.SplitHostPort(addrs[""]); err == nil {
		cmd.Env = append(cmd.Env, "PORT="+port)
	}
	if cfg.Named {
		cmd.Env = append(cmd.Env, namingEnv)
	}
	for _, entry := range cfg.Env {
		cmd.Env = append(cmd.Env, substitute(entry, addrs))
	}
	return cmd
}

// there reports whether the program of a command was found. A relative path counts from Dir.
func (cfg Config) there(cmd *exec.Cmd) bool {
	path := cmd.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(cfg.Dir, path)
	}
	_, err := os.Stat(path)
	return cmd.Err == nil && !errors.Is(err, fs.ErrNotExist)
}

// abandon ends a subject that did not become ready and says why it did not.
func (s *Subject) abandon(reason error) error {
	astray := s.astray()
	if err := s.kill(); err != nil {
		return errors.Join(reason, err)
	}
	if s.handover != nil {
		reason = errors.Join(reason, <-s.unmoved)
	}
	if errors.Is(reason, errEnded) {
		ended, _ := failure.Of(s.err)
		return failure.With(fmt.Errorf("not ready: %w", s.err), failure.Failure{Cause: "not ready: " + ended.Cause, More: ended.More})
	}
	return s.parting(reason, astray, failure.Failure{Kind: failure.NotReady})
}

// A stray says where the subject listens instead of its address, and how it got that address if not
// by its command. It is zero if the subject listens there.
type stray struct {
	found  []string // sentences
	advice string   // follows the last of them
}

func (s stray) String() string {
	if s.advice == "" {
		return strings.Join(s.found, "; ")
	}
	return strings.Join(s.found, "; ") + ": " + s.advice
}

func (s *Subject) astray() (found stray) {
	addr := s.addrs[""]
	if addr == "" {
		return stray{}
	}
	insisted, advice := "", ""
	_, port, _ := net.SplitHostPort(addr)
	switch {
	case s.onlyPORT:
		found.found = append(found.found, fmt.Sprintf("it was told its port only by PORT=%s in its environment, since the command has neither {{addr}} nor {{port}}", port))
		advice = "put localhost and that port into the URL, or {{addr}} or {{port}} into the command"
	case s.insists:
		insisted = ", while the URL has the port " + port
		advice = "put the same port into the URL and the command"
	}
	at, err := netip.ParseAddrPort(addr)
	if err != nil { // of a name of the loopback
		at = netip.MustParseAddrPort(net.JoinHostPort(loopback, port))
	}
	places, there := s.listens(at, true)
	switch {
	case there:
		return stray{}
	case len(places) > 0:
		found.found = append(found.found, "it listens on "+strings.Join(s.saidOf(places, at.Addr()), " and ")+insisted)
		found.advice = advice
	default:
		found.found = append(found.found, s.peers()...)
	}
	return found
}

// saidOf are the places as users know them: of what is at all addresses, or at the one that
// binds were moved to and nobody knows, only the port.
func (s *Subject) saidOf(places []netip.AddrPort, moved netip.Addr) []string {
	var said []string
	for _, at := range places {
		text := at.String()
		if at.Addr().IsUnspecified() || s.handover != nil && at.Addr() == moved {
			text = fmt.Sprintf("port %d", at.Port())
		}
		said = append(said, text)
	}
	slices.Sort(said)
	return slices.Compact(said)
}

// lostItsAddress reports whether an attempt failed because somebody else bound
// the address first. The texts are those of strerror(EADDRINUSE) on Linux and
// BSD, of Node.js and of Docker.
func (s *Subject) lostItsAddress(err error) bool {
	if s == nil || len(s.addrs) == 0 || !errors.Is(err, errEnded) {
		return errors.Is(err, errTaken)
	}
	output := strings.ToLower(s.stdout.text() + "\n" + s.stderr.text())
	return strings.Contains(output, "address already in use") || strings.Contains(output, "eaddrinuse") || strings.Contains(output, "port is already allocated")
}

// parting adds to the cause of a failure where the subject listens instead, and the end of its
// standard error, or if that is empty of its standard output.
func (s *Subject) parting(cause error, at stray, facts failure.Failure) error {
	facts.Cause, facts.Advice = cause.Error(), at.advice
	facts.Stream = "stderr"
	last := s.stderr.text()
	if last == "" {
		facts.Stream, last = "stdout", s.stdout.text()
	}
	for _, unheard := range s.refusals.all() {
		at.found = append(at.found, fmt.Sprintf("nothing listened at %v, so its connection was refused", unheard))
	}
	more, text := at.found, ""
	if at.found != nil {
		text = "; " + at.String()
	}
	if last == "" {
		facts.Stream, more = "", append(more, "it wrote nothing")
		text += "; it wrote nothing"
	} else {
		facts.LastWords = strings.Split(last, "\n")
		text += fmt.Sprintf("; end of its %s:\n\t%s", facts.Stream, strings.ReplaceAll(last, "\n", "\n\t"))
	}
	facts.More = strings.Join(more, "; ")
	return failure.With(fmt.Errorf("%w%s", cause, text), facts)
}
