package subject

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"contend/internal/perf"
	"contend/internal/testenv"
)

// unit is the amount of work that these tests plant, in pages.
const unit = 10_000

// workAt does jobs as testdata/work.c does, half of each in a goroutine of its own.
func workAt(args []string) {
	listener := must(net.Listen("tcp", args[0]))
	for {
		conn := must(listener.Accept())
		var units int
		if n, _ := fmt.Fscan(conn, &units); n > 0 { // who looks whether we are ready asks for nothing
			var half sync.WaitGroup
			half.Go(func() { touch(units / 2) })
			touch(units / 2)
			half.Wait()
			fmt.Fprintln(conn, "done")
		}
		conn.Close()
	}
}

// touch does n units of work.
func touch(n int) {
	const most = 1000 // at a time
	for ; n > 0; n -= most {
		memory := must(unix.Mmap(-1, 0, min(n, most)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE))
		_ = unix.Madvise(memory, unix.MADV_NOHUGEPAGE) // a kernel without huge pages refuses
		for page := 0; page < len(memory); page += os.Getpagesize() {
			x := byte(page)
			for range 3000 {
				x = x*5 + 1
			}
			memory[page] = x
		}
		must(0, unix.Munmap(memory))
	}
}

// ask has a worker do n units.
func ask(t testing.TB, addr string, n int) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	testenv.Must(t, err)
	defer conn.Close()
	fmt.Fprintln(conn, n)
	if answer, err := bufio.NewReader(conn).ReadString('\n'); answer != "done\n" {
		t.Fatalf("answer %q, %v", answer, err)
	}
}

// countable skips a test that needs an event that cannot be counted here.
func countable(t testing.TB, event perf.Event) {
	t.Helper()
	c, err := perf.Own(event)
	switch {
	case err == nil:
		must(0, c.Close())
	case event == perf.PageFaults:
		testenv.Missing(t, err)
	default:
		testenv.Hardware(t, err)
	}
}

func near(t *testing.T, what string, got, want uint64) {
	t.Helper()
	if ratio := float64(got) / float64(want); ratio < 0.99 || ratio > 1.01 {
		t.Errorf("%s: %d, want %d ± 1%%", what, got, want)
	}
}

// A program is one that does jobs.
type program struct {
	name  string
	build func(t *testing.T) Config
}

// programs are of several languages and shapes.
func programs(t *testing.T) []program {
	c := compiled(t)
	all := []program{
		{"Go", func(*testing.T) Config {
			cfg := role("work", "{{addr}}")
			cfg.Env = append(cfg.Env, "GOGC=off")
			return cfg
		}},
		{"Python", func(t *testing.T) Config {
			return Config{Command: []string{testenv.Program(t, "python3"), "testdata/work.py", "{{port}}"}}
		}},
		{"of a shell", func(*testing.T) Config {
			return Config{Command: []string{"sh", "-c", `"$0" {{port}} alone 1; exit`, c}}
		}},
	}
	for _, mode := range []string{"alone 1", "threads 4", "processes 4", "prefork 4", "crowd 1000"} {
		all = append(all, program{"C " + mode, func(*testing.T) Config {
			return Config{Command: append([]string{c, "{{port}}"}, strings.Fields(mode)...)}
		}})
	}
	return all
}

// compiled returns testdata/work.c as a program.
func compiled(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "work")
	if out, err := exec.Command(testenv.Program(t, "cc"), "-O1", "-pthread", "-o", file, "testdata/work.c").CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return file
}

// Whatever a server is made of and whoever started it, what is counted is the work that
// it did, and what perf counts, which looks at the same time.
func TestCountersOfServers(t *testing.T) {
	for _, event := range []perf.Event{perf.PageFaults, perf.Instructions} {
		for _, p := range programs(t) {
			t.Run(fmt.Sprintf("%s/%s", event, p.name), func(t *testing.T) {
				countable(t, event)
				cfg := p.build(t)
				cfg.Counted = []perf.Event{event}
				s := started(t, cfg)
				ask(t, s.Addr(""), unit)
				server, err := Listening(t.Context(), s.Addr(""))
				testenv.Must(t, err)
				counters := map[string]*perf.Counters{}
				for _, of := range []struct {
					what string
					open func(...perf.Event) (*perf.Counters, error)
				}{
					{"from the start", s.Counters},
					{"attached", s.Counters},
					{"of whoever listens", server.Counters},
				} {
					c, err := of.open(event)
					testenv.Must(t, err)
					defer func() { must(0, c.Close()) }()
					counters[of.what] = c
				}
				compare(t, s, counters, event)
			})
		}
	}
}

// compare compares what each of the counters counts with perf, and with the work that is done: with its amount in pages,
// and as nobody knows how many instructions that are, with half of it.
func compare(t *testing.T, s *Subject, counters map[string]*perf.Counters, event perf.Event) {
	t.Helper()
	cost := func(units int) map[string]uint64 {
		for _, c := range counters {
			must(0, c.Start())
		}
		ask(t, s.Addr(""), units*unit)
		counts := map[string]uint64{}
		for what, c := range counters {
			counts[what] = must(c.Stop())[event]
		}
		return counts
	}
	peer := perfStat(t, s, event)
	peer.tell("enable")
	three := cost(3)
	peer.tell("disable")
	one, seen := cost(1), peer.count()
	five := map[string]uint64{}
	if event != perf.PageFaults {
		five = cost(5)
	}
	for what := range counters {
		near(t, what+", beside perf", three[what], seen)
		if event == perf.PageFaults {
			near(t, what+", pages", three[what]-one[what], 2*unit)
		} else {
			near(t, what+", twice the work", five[what]-one[what], 2*(three[what]-one[what]))
		}
	}
}

// A peer is a perf that counts what we count.
type peer struct {
	t            *testing.T
	cmd          *exec.Cmd
	file         string
	control, ack *os.File
}

// perfStat has perf attach to the tree of a subject and wait for its commands.
func perfStat(t *testing.T, s *Subject, event perf.Event) *peer {
	t.Helper()
	var pids []string
	for _, member := range must(tree(s.PID())) {
		pids = append(pids, strconv.Itoa(member.PID))
	}
	name := map[perf.Event]string{perf.PageFaults: "page-faults:u", perf.Instructions: "instructions:u"}[event]
	commands, control, err1 := os.Pipe()
	acks, ack, err2 := os.Pipe()
	testenv.Must(t, errors.Join(err1, err2))
	p := &peer{t: t, file: filepath.Join(t.TempDir(), "perf"), control: control, ack: acks}
	p.cmd = exec.Command(testenv.Program(t, "perf"), "stat", "-x,", "-D-1", "--control=fd:3,4",
		"-e", name, "-o", p.file, "-p", strings.Join(pids, ","))
	p.cmd.ExtraFiles = []*os.File{commands, ack}
	testenv.Must(t, p.cmd.Start())
	commands.Close()
	ack.Close()
	return p
}

// tell gives a command and waits until it is carried out.
func (p *peer) tell(command string) {
	p.t.Helper()
	fmt.Fprintln(p.control, command)
	if answer, err := bufio.NewReader(p.ack).ReadString('\n'); !strings.HasPrefix(answer, "ack") {
		p.t.Fatalf("perf answers %q to %s: %v", answer, command, err)
	}
}

// count ends perf and returns what it counted: the first field of its one line that is no
// remark.
func (p *peer) count() uint64 {
	p.t.Helper()
	must(0, p.cmd.Process.Signal(os.Interrupt))
	_ = p.cmd.Wait() // by a signal
	p.control.Close()
	p.ack.Close()
	for line := range strings.Lines(string(must(os.ReadFile(p.file)))) {
		field, _, _ := strings.Cut(line, ",")
		if n, err := strconv.ParseUint(field, 10, 64); err == nil {
			return n
		}
	}
	p.t.Fatalf("perf says\n%s", must(os.ReadFile(p.file)))
	return 0
}

// The counters of Config.Counted are open already; others are opened.
func TestCountersAreHandedOutOnce(t *testing.T) {
	countable(t, perf.PageFaults)
	cfg := with(role("hang"), Ready{})
	cfg.Counted = []perf.Event{perf.PageFaults, perf.PageFaults}
	before := openCounters()
	s := started(t, cfg)
	most := 0
	for i, test := range []struct {
		events []perf.Event
		opened bool
	}{
		{[]perf.Event{perf.PageFaults}, true}, // others than Counted
		{cfg.Counted, false},
		{cfg.Counted, true}, // for the second time
	} {
		files := openCounters()
		c, err := s.Counters(test.events...)
		testenv.Must(t, err)
		if opened := openCounters() > files; opened != test.opened {
			t.Errorf("call %d opened counters: %v, want %v", i, opened, test.opened)
		}
		most = max(most, openCounters())
		must(0, c.Close())
	}
	must(0, s.Stop(testContext()))
	if after := openCounters(); after != before || most <= before {
		t.Errorf("%d counters before, at most %d, %d after", before, most, after)
	}
	if _, err := s.Counters(perf.PageFaults); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("counters after the end: %v", err)
	}
}

// Counters that nobody asks for are closed with the subject, also where it did not start.
func TestCountersThatNobodyAskedFor(t *testing.T) {
	countable(t, perf.PageFaults)
	before := openCounters()
	for _, cfg := range []Config{role("hang"), with(role("end"), Ready{Log: "x"}), {Command: []string{"/no/such"}}} {
		cfg.Counted = []perf.Event{perf.PageFaults}
		if s, err := Start(t.Context(), cfg); err == nil {
			must(0, s.Stop(testContext()))
		}
		if after := openCounters(); after != before {
			t.Errorf("%v: %d counters before, %d after", cfg.Command, before, after)
		}
	}
}

// openCounters is how many descriptors of counters this process has: others come and go
// with what earlier tests left to be closed.
func openCounters() int {
	open := 0
	for _, fd := range must(os.ReadDir("/proc/self/fd")) {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && to == "anon_inode:[perf_event]" {
			open++
		}
	}
	return open
}

// A subject that dies while it is counted leaves its counts, and this process adds none.
func TestCountersOfTheDead(t *testing.T) {
	countable(t, perf.PageFaults)
	cfg := role("work", "{{addr}}")
	cfg.Counted = []perf.Event{perf.PageFaults}
	s := started(t, cfg)
	ask(t, s.Addr(""), unit)
	c, err := s.Counters(cfg.Counted...)
	testenv.Must(t, err)
	defer c.Close()
	must(0, c.Start())
	ask(t, s.Addr(""), unit)
	must(0, unix.Kill(s.PID(), unix.SIGKILL))
	ended(t, s)
	var ours sync.WaitGroup
	for range 20 {
		ours.Go(func() {
			runtime.LockOSThread() // so that it is on many
			defer runtime.UnlockOSThread()
			touch(unit / 10)
		})
	}
	ours.Wait()
	near(t, "page faults", must(c.Stop())[perf.PageFaults], unit)
}

// A tree that changes while counters are opened is counted as a whole.
func TestCountersOfAChangingTree(t *testing.T) {
	countable(t, perf.PageFaults)
	s := started(t, Config{Command: []string{compiled(t), "{{port}}", "processes", "20"}})
	jobs, end := make(chan bool), make(chan bool)
	go func() {
		defer close(jobs)
		for {
			select {
			case <-end:
				return
			default:
				ask(t, s.Addr(""), 200)
			}
		}
	}()
	var c *perf.Counters
	for range 20 {
		opened, err := s.Counters(perf.PageFaults)
		if err != nil && !strings.Contains(err.Error(), "new threads came") {
			t.Error(err)
		}
		if err == nil && c != nil {
			must(0, c.Close())
		}
		if err == nil {
			c = opened
		}
	}
	close(end)
	<-jobs
	if c == nil {
		t.Skip("threads came during each attempt")
	}
	defer c.Close()
	costs := map[int]uint64{}
	for _, units := range []int{1, 3} {
		must(0, c.Start())
		ask(t, s.Addr(""), units*unit)
		costs[units] = must(c.Stop())[perf.PageFaults]
	}
	near(t, "pages", costs[3]-costs[1], 2*unit)
}
