package perf

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"contend/internal/testenv"
)

// unit is the amount of work that tests plant, in pages.
const unit = 10_000

// countable skips a test that needs events that cannot be counted here.
func countable(t testing.TB, events ...Event) {
	t.Helper()
	for _, event := range events {
		c, err := Own(event)
		switch {
		case err == nil:
			must(0, c.Close())
		case event == PageFaults:
			testenv.Missing(t, err)
		default:
			testenv.Hardware(t, err)
		}
	}
}

// counted returns what counters count of something.
func counted(t testing.TB, c *Counters, what func()) Counts {
	t.Helper()
	must(0, c.Start())
	what()
	counts, err := c.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// growth returns how much more than one unit of work three units cost: what has to be
// done once, whatever the amount, cancels out.
func growth(t testing.TB, c *Counters, event Event, do func(units int)) uint64 {
	t.Helper()
	return growths(t, map[string]*Counters{"": c}, event, do)[""]
}

// growths is growth by each of several counters of the same work.
func growths(t testing.TB, all map[string]*Counters, event Event, do func(units int)) map[string]uint64 {
	t.Helper()
	cost := func(units int) map[string]uint64 {
		counts := map[string]uint64{}
		what := func() { do(units) }
		for how, c := range all {
			within := what
			what = func() { counts[how] = counted(t, c, within)[event] }
		}
		what()
		return counts
	}
	do(1) // is not counted
	one, three := cost(1), cost(3)
	for how := range all {
		three[how] -= one[how]
	}
	return three
}

// near fails the test if got is not within a part in a hundred of want.
func near(t *testing.T, what string, got, want uint64) {
	t.Helper()
	if ratio := float64(got) / float64(want); ratio < 0.99 || ratio > 1.01 {
		t.Errorf("%s: %d, want %d ± 1 %%", what, got, want)
	}
}

// attached opens counters on a running worker.
func attached(t testing.TB, p *process, events ...Event) *Counters {
	t.Helper()
	c, err := Threads(p.threads, events...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(0, c.Close()) })
	return c
}

// begotten opens counters and then starts a worker, on a thread that sleeps until
// the test ends.
func begotten(t testing.TB, p *process, events ...Event) *Counters {
	t.Helper()
	opened, end := make(chan *Counters), make(chan bool)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		c, err := Children(events...)
		if err == nil {
			p.start()
		} else {
			t.Error(err)
		}
		opened <- c
		<-end
	}()
	c := <-opened
	t.Cleanup(func() { close(end) })
	if c == nil {
		t.FailNow()
	}
	t.Cleanup(func() { must(0, c.Close()) })
	return c
}

// Counts grow with the work and by nothing else, before or after the start of a
// process, whichever part of it does the work.
func TestCountsPlantedWork(t *testing.T) {
	for _, event := range []Event{PageFaults, Instructions} {
		for _, job := range []string{"alone", "threads", "processes"} {
			t.Run(fmt.Sprintf("%s/%s", event, job), func(t *testing.T) {
				countable(t, event)
				p := prepared(t)
				fromTheStart := begotten(t, p, event)
				plant(t, p, map[string]*Counters{"from the start": fromTheStart, "attached": attached(t, p, event)}, job, event)
			})
		}
	}
}

// plant compares what is counted with the work that is done: with its amount in pages,
// and as nobody knows how many instructions that are, with half the work.
func plant(t *testing.T, p *process, all map[string]*Counters, job string, event Event) {
	t.Helper()
	const k = 5
	amount := unit
	if job == "processes" {
		amount *= 5 // so that it matters little that their starts differ by hundreds of pages
	}
	do := func(units int) { p.do(job, k, units*amount/k) }
	less := growths(t, all, event, do)
	if event == PageFaults {
		for how, pages := range less {
			near(t, how+", pages", pages, uint64(2*amount))
		}
		return
	}
	for how, more := range growths(t, all, event, func(units int) { do(2 * units) }) {
		near(t, how+", twice the work", more, 2*less[how])
	}
}

// A group counts its events together, with or without the processor's.
func TestGroup(t *testing.T) {
	for _, events := range [][]Event{
		{PageFaults, PageFaults},
		{PageFaults, Instructions, Cycles, BranchMisses},
		{Instructions, PageFaults},
	} {
		t.Run(fmt.Sprint(events), func(t *testing.T) {
			countable(t, events...)
			p := started(t)
			c := attached(t, p, events...)
			near(t, "pages", growth(t, c, PageFaults, func(units int) { p.do("threads", 4, units*unit/4) }), 2*unit)
			counts := counted(t, c, func() { p.do("alone", 1, unit) })
			if instructions, ok := counts[Instructions]; ok && instructions < 3000*unit {
				t.Errorf("counts %v", counts)
			}
		})
	}
}

func TestOwn(t *testing.T) {
	countable(t, PageFaults)
	c, err := Own(PageFaults)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	near(t, "our pages", growth(t, c, PageFaults, func(units int) { jobs["threads"](4, units*unit/4) }), 2*unit)
}

// Counters that are opened while threads are created miss none of them and count none twice.
func TestThreadsThatComeMeanwhile(t *testing.T) {
	countable(t, PageFaults)
	const often, many, each = 5, 80, 100
	p := started(t)
	var c *Counters
	looks := 0
	list := func() ([]int, error) {
		threads, err := p.threads()
		if looks++; looks <= often {
			p.do("crowd", many, 1) // while counters are opened on those listed
		}
		return threads, err
	}
	for c == nil { // ends when all have come, at the latest
		var err error
		if c, err = Threads(list, PageFaults); err != nil && !strings.Contains(err.Error(), "new threads came") {
			t.Fatal(err)
		}
	}
	defer c.Close()
	for ; looks < often; looks++ { // no newcomer was seen in between
		p.do("crowd", many, 1)
	}
	near(t, fmt.Sprintf("after %d looks, pages", looks),
		growth(t, c, PageFaults, func(units int) { p.do("every", 0, units*each) }), 2*often*many*each)
}

// A thread that ends while its counters or its sampler are opened does not keep the others from being opened.
func TestThreadsThatEndMeanwhile(t *testing.T) {
	countable(t, PageFaults)
	p := started(t)
	done := make(chan bool)
	go func() {
		defer close(done)
		for range 150 {
			p.do("threads", 8, 30)
		}
	}()
	for {
		c, err := Threads(p.threads, PageFaults, PageFaults)
		if err == nil {
			err = c.Close()
		}
		s, sErr := Sample(p.threads)
		if sErr == nil {
			sErr = s.Close()
		}
		for _, err := range []error{err, sErr} {
			if err != nil && !strings.Contains(err.Error(), "new threads came") {
				t.Fatal(err)
			}
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// Threads that come and go while they are read are no error: the kernel refuses to add
// up a group that one of them has left half.
func TestReadWhileThreadsEnd(t *testing.T) {
	countable(t, PageFaults)
	p := started(t)
	c := attached(t, p, PageFaults, PageFaults)
	done := make(chan bool)
	go func() {
		defer close(done)
		for range 150 {
			p.do("threads", 8, 30)
		}
	}()
	for {
		counted(t, c, func() {})
		select {
		case <-done:
			return
		default:
		}
	}
}

// With 1,000 threads there are as many groups, each of them a file per event.
func TestThousandThreads(t *testing.T) {
	countable(t, PageFaults)
	const many, each = 1000, 40
	p := started(t)
	p.do("crowd", many, 1)
	p.do("every", 0, 1)
	before := openFiles(t)
	c := attached(t, p, PageFaults, PageFaults)
	if got := openFiles(t) - before; got < 2*many {
		t.Errorf("%d files, want at least 2 for each of %d threads", got, many)
	}
	near(t, "pages", growth(t, c, PageFaults, func(units int) { p.do("every", 0, units*each) }), 2*many*each)
	must(0, c.Close())
	if after := openFiles(t); after != before {
		t.Errorf("%d files before, %d after", before, after)
	}
}

// The counts of a process that was killed remain.
func TestDeathWhileCounted(t *testing.T) {
	countable(t, PageFaults)
	p := started(t)
	p.do("alone", 1, 1)
	c := attached(t, p, PageFaults)
	counts := counted(t, c, func() {
		p.do("alone", 1, unit)
		p.do("crash", 0, 0)
		_ = p.cmd.Wait()
	})
	near(t, "pages until its death", counts[PageFaults], unit)
	if again := counted(t, c, func() {}); again[PageFaults] != 0 {
		t.Errorf("the dead counted %v", again)
	}
	if _, err := Threads(func() ([]int, error) { return []int{p.cmd.Process.Pid}, nil }, PageFaults); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("counters of the dead: %v", err)
	}
}

// Before Start and after Stop nothing is counted. The kernel may overlook a thread that is born while counters stop
// (it copies their state before it adds them to the list that is stopped): they stop again then.
func TestOpenCountersRest(t *testing.T) {
	countable(t, PageFaults)
	p := started(t)
	c := attached(t, p, PageFaults)
	for range 2 {
		for try := 1; ; try++ {
			before := must(c.read())
			p.do("threads", 2, unit)
			after := must(c.read())
			if slices.Equal(before, after) {
				break
			}
			if try == 3 {
				t.Fatalf("counted %v before, %v after", before, after)
			}
			must(c.Stop())
		}
		counted(t, c, func() { p.do("alone", 1, unit) })
	}
}

func TestClose(t *testing.T) {
	countable(t, PageFaults)
	before := openFiles(t)
	c, err := Own(PageFaults)
	if err != nil {
		t.Fatal(err)
	}
	counted(t, c, func() {})
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	_, stopped := c.Stop()
	for _, err := range []error{c.Start(), stopped} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("closed counters: %v", err)
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files before, %d after", before, after)
	}
}

func openFiles(t testing.TB) int {
	t.Helper()
	return len(must(os.ReadDir("/proc/self/fd")))
}

func TestWhatIsNoEvent(t *testing.T) {
	_, none := Own()
	_, unknown := Own("instruction")
	for err, want := range map[error]string{
		none:    "no event to count",
		unknown: `event is "instruction"; expected [branch_misses cache_misses cycles instructions `,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestFilesRunOut(t *testing.T) {
	countable(t, PageFaults)
	p := started(t)
	p.do("crowd", 20, 1)
	p.do("every", 0, 1)
	before := openFiles(t)
	err := withFiles(20, func() error {
		_, err := Threads(p.threads, PageFaults, PageFaults)
		return err
	})
	if !errors.Is(err, unix.EMFILE) || !strings.Contains(err.Error(), "2 files for each thread") {
		t.Errorf("error %v", err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files before, %d after", before, after)
	}
}

// A thread without privileges is refused the kernel, and another user's process, and
// told so.
func TestWithoutPrivileges(t *testing.T) {
	countable(t, PageFaults)
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	p := started(t)
	p.do("alone", 1, 1)
	threads := must(p.threads())
	list := func() ([]int, error) { return threads, nil }
	refusals := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		const nobody = 65534
		unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody)
		_, stranger := Threads(list, PageFaults)
		refusals <- stranger
		_, kernel := Children(KernelInstructions)
		refusals <- kernel
	}()
	stranger, kernel := <-refusals, <-refusals
	check := func(err error, want string) {
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	level := paranoid()
	if level <= 2 {
		check(stranger, fmt.Sprintf("thread %d belongs to another user", threads[0]))
	}
	if level >= 2 {
		check(kernel, fmt.Sprintf("kernel_instructions cannot be counted: kernel.perf_event_paranoid is %d; sysctl kernel.perf_event_paranoid=1", level))
	}
}

func BenchmarkOpenClose(b *testing.B) {
	benchmark(b, func(b *testing.B, open func() *Counters) {
		for b.Loop() {
			must(0, open().Close())
		}
	})
}

func BenchmarkStartStop(b *testing.B) {
	benchmark(b, func(b *testing.B, open func() *Counters) {
		c := open()
		defer c.Close()
		for b.Loop() {
			must(0, c.Start())
			must(c.Stop())
		}
	})
}

// benchmark runs body for processes of some threads.
func benchmark(b *testing.B, body func(b *testing.B, open func() *Counters)) {
	for _, events := range [][]Event{{PageFaults}, {Instructions}, {Instructions, Cycles, CacheMisses, BranchMisses}} {
		for _, threads := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("%d-%s/%d-threads", len(events), events[0], threads), func(b *testing.B) {
				countable(b, events...)
				p := started(b)
				p.do("crowd", threads, 1)
				p.do("every", 0, 1)
				body(b, func() *Counters { return must(Threads(p.threads, events...)) })
			})
		}
	}
}
