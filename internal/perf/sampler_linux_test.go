package perf

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"contend/internal/testenv"
)

// sampler opens one, or skips the test where there can be none.
func sampler(t testing.TB, list func() ([]int, error)) *Sampler {
	t.Helper()
	s, err := Sample(list)
	if err != nil {
		testenv.Missing(t, err)
	}
	t.Cleanup(func() { must(0, s.Close()) })
	return s
}

// samplesOf returns those of something.
func samplesOf(t testing.TB, s *Sampler, what func()) *Samples {
	t.Helper()
	before := time.Now()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	what()
	samples, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if samples.Lost+samples.Dropped+samples.Throttled > 0 {
		t.Errorf("%d records lost, %d samples dropped, throttled %d times", samples.Lost, samples.Dropped, samples.Throttled)
	}
	if began := samples.Began; began.Before(before) || began.After(started) {
		t.Errorf("began at %v, between %v and %v", began, before, started)
	}
	return samples
}

// cpuTime is what a process has used, in user space alone where that is what is sampled,
// with its children that have ended.
func cpuTime(t testing.TB, p *process, userOnly bool) time.Duration {
	t.Helper()
	stat := must(must(procfs.NewProc(p.cmd.Process.Pid)).Stat())
	const tick = time.Second / 100 // USER_HZ
	ended := time.Duration(stat.CUTime) * tick
	if userOnly {
		return time.Duration(stat.UTime)*tick + ended
	}
	var own unix.Timespec
	must(0, unix.ClockGettime(int32(^p.cmd.Process.Pid<<3|2), &own)) // of Linux' include/linux/posix-timers.h
	return time.Duration(own.Nano()) + ended + time.Duration(stat.CSTime)*tick
}

// agree fails the test unless samples represent a CPU time: their number is off by its root
// (one in a million by five times that), and by what is rounded and what threads did in
// their first periods.
func agree(t *testing.T, what string, samples *Samples, used, rounded time.Duration) {
	t.Helper()
	n := float64(samples.Count())
	want := float64(used) / float64(samples.Period)
	if most := 5*math.Sqrt(want) + 0.1*want + float64(rounded/samples.Period); math.Abs(n-want) > most {
		t.Errorf("%s: %g samples of CPU time, of %v, want %.0f ± %.0f", what, n, used, want, most)
	}
}

// share returns what part of samples is in burn, of this program, wherever it was loaded.
func share(samples *Samples) float64 {
	var burning, all uint64
	for _, p := range samples.Processes {
		for _, s := range p.Stacks {
			all += s.Count
			if len(s.User) > 1 && name(p, s.User[0]) == "burn" && name(p, s.User[1]-1) == "spin" {
				burning += s.Count
			}
		}
	}
	return float64(burning) / float64(all)
}

// name returns the name of a function of this package; "" is any other one.
func name(p Process, address uint64) string {
	self := must(os.Executable())
	for _, m := range p.Maps {
		if address < m.Start || m.End <= address || m.Path != self || m.PID != p.PID {
			continue
		}
		for _, own := range Executable(os.Getpid()) {
			if own.Inode == m.Inode && own.Offset <= address-m.Start+m.Offset && address-m.Start+m.Offset < own.Offset+(own.End-own.Start) {
				function := runtime.FuncForPC(uintptr(address - m.Start + m.Offset - own.Offset + own.Start)).Name()
				return strings.TrimPrefix(function, "contend/internal/perf.")
			}
		}
	}
	return ""
}

// Samples are as many as CPU time was used, and show where: of a process that runs or
// is started later, whoever of it does the work.
func TestSamplesAgreeWithCPUTime(t *testing.T) {
	for _, job := range []struct {
		name    string
		k, n    int
		rounded time.Duration // 2 ticks at each end, and 2 periods of each thread
	}{
		{"spin", 1, 400, 50 * time.Millisecond},
		{"spin", 5, 100, 70 * time.Millisecond},
		{"spinners", 3, 150, 100 * time.Millisecond},
	} {
		p := prepared(t)
		all := map[string]*Sampler{"from the start": begottenSampler(t, p)}
		all["attached"] = sampler(t, p.threads)
		if job.k == 1 {
			all["often"] = sampler(t, p.threads)
			must(0, all["often"].Often())
		}
		samples := map[string]*Samples{}
		what := func() { p.do(job.name, job.k, job.n) }
		for how, s := range all {
			within := what
			what = func() { samples[how] = samplesOf(t, s, within) }
		}
		userOnly := all["attached"].missing != nil
		before := cpuTime(t, p, userOnly)
		what()
		used := cpuTime(t, p, userOnly) - before
		for how, samples := range samples {
			agree(t, fmt.Sprintf("%s, %s of %d", how, job.name, job.k), samples, used, job.rounded)
			if got := share(samples); !(got >= 0.7) { // NaN of none
				t.Errorf("%s, %s of %d: %.0f %% of samples in burn: %+v", how, job.name, job.k, 100*got, samples)
			}
			if got := len(samples.Processes); job.name == "spinners" && got < job.k {
				t.Errorf("%s: %d processes of %d", how, got, job.k)
			}
		}
	}
}

// Threads that began after a sampler was opened are sampled as often as the others.
func TestThreadsBegunBeforeOften(t *testing.T) {
	p := started(t)
	p.do("alone", 1, 1) // its threads have begun
	s := sampler(t, p.threads)
	p.do("crowd", 20, 1) // some on threads that had begun
	p.do("every", 0, 1)  // all of them are there
	must(0, s.Often())
	userOnly := s.missing != nil
	used := cpuTime(t, p, userOnly)
	samples := samplesOf(t, s, func() {
		if err := s.Often(); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("while samples are taken: %v", err)
		}
		p.do("every", 0, 6000)
	})
	used = cpuTime(t, p, userOnly) - used
	agree(t, "begun since", samples, used, 50*time.Millisecond)
	must(0, s.Close())
	if err := s.Often(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// Children that never ran a program of their own have the mappings of their parents, even
// when they can no longer be looked at.
func TestForkedChildren(t *testing.T) {
	const script = `read go; for n in 1 2 3 4 5; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done); done; echo done; read end`
	cmd := exec.Command("sh", "-c", script)
	p := &process{t: t, cmd: cmd, input: must(cmd.StdinPipe()), lines: bufio.NewScanner(must(cmd.StdoutPipe()))}
	p.start()
	samples := samplesOf(t, sampler(t, p.threads), func() { p.do("go", 0, 0) })
	if len(samples.Processes) < 2 {
		t.Errorf("no children: %+v", samples)
	}
	for _, p := range samples.Processes {
		if !slices.ContainsFunc(p.Maps, func(m Map) bool { return m.PID == p.PID && m.Inode != 0 && strings.HasPrefix(m.Path, "/") }) {
			t.Errorf("process %d lies nowhere: %+v", p.PID, p.Maps)
		}
	}
}

// begottenSampler opens a sampler and then starts a worker, on a thread that sleeps until the
// test ends.
func begottenSampler(t testing.TB, p *process) *Sampler {
	t.Helper()
	type opening struct {
		s   *Sampler
		err error
	}
	opened, end := make(chan opening), make(chan bool)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		s, err := Sample(func() ([]int, error) { return []int{0}, nil })
		if err == nil {
			p.start()
		}
		opened <- opening{s, err}
		<-end
	}()
	o := <-opened
	t.Cleanup(func() { close(end) })
	if o.err != nil {
		testenv.Missing(t, o.err)
	}
	t.Cleanup(func() { must(0, o.s.Close()) })
	return o.s
}

// A process that only makes system calls is seen in the kernel, and nowhere without the right to sample it.
func TestKernelIsSampled(t *testing.T) {
	p := started(t)
	s := sampler(t, p.threads)
	samples := samplesOf(t, s, func() { p.do("call", 1, 200) })
	inKernel, asked := uint64(0), false
	for _, p := range samples.Processes {
		for _, stack := range p.Stacks {
			if len(stack.Kernel) > 0 {
				inKernel += stack.Count
				asked = asked || slices.ContainsFunc(stack.User, func(a uint64) bool { return name(p, a-1) == "threadTime" })
			}
			for _, a := range stack.Kernel {
				if a < 1<<63 && math.MaxUint == math.MaxUint64 {
					t.Errorf("%x in the kernel", a)
				}
			}
		}
	}
	if allowed := samples.KernelMissing == nil; allowed != asked || allowed != (inKernel > 0) {
		t.Errorf("%d of %d samples in the kernel, called by what calls it: %v; missing: %v", inKernel, samples.Count(), asked, samples.KernelMissing)
	}
}

// Before Start and after Stop no samples are taken.
func TestOpenSamplerRests(t *testing.T) {
	p := started(t)
	s := sampler(t, p.threads)
	p.do("spin", 1, 100)
	for range 2 {
		work := samplesOf(t, s, func() { p.do("spin", 1, 100) }).Count()
		p.do("spin", 1, 100)
		if rest := samplesOf(t, s, func() {}).Count(); rest > work/2 {
			t.Errorf("%d samples at rest, %d at work", rest, work)
		}
	}
}

func TestSamplerStates(t *testing.T) {
	p := started(t)
	before := openFiles(t)
	s := sampler(t, p.threads)
	if _, err := s.Stop(); err == nil || !strings.Contains(err.Error(), "no samples are being taken") {
		t.Errorf("stopped before its start: %v", err)
	}
	must(0, s.Start())
	if err := s.Start(); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("started twice: %v", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	_, stopped := s.Stop()
	for _, err := range []error{s.Start(), stopped} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files before, %d after", before, after)
	}
	for _, m := range must(must(procfs.Self()).ProcMaps()) {
		if strings.Contains(m.Pathname, "perf_event") {
			t.Errorf("still mapped: %+v", m)
		}
	}
}

func TestNoSampler(t *testing.T) {
	none := func() ([]int, error) { return nil, nil }
	s := sampler(t, ownThreads)
	before := openFiles(t)
	if _, err := Sample(none); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("of nobody: %v", err)
	}
	if most := setting(maxRateFile, 1e9); most < 1e9 {
		var unavailable *UnavailableError
		_, err := openSampler(ownThreads, most+1)
		if want := fmt.Sprintf("cpu_time cannot be sampled: kernel.perf_event_max_sample_rate is %d; sysctl", most); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d Hz: %v, want %s", most+1, err, want)
		}
	}
	sample := func() error {
		_, err := Sample(func() ([]int, error) { return slices.Repeat([]int{os.Getpid()}, 10), nil })
		return err
	}
	for last, c := range map[string]struct {
		files int
		do    func() error
	}{
		"a ring":            {1, sample},
		"some threads":      {len(must(onlineCPUs())) + 3, sample},
		"some other events": {1, s.Often},
	} {
		err := withFiles(c.files, c.do)
		if !errors.Is(err, unix.EMFILE) || !strings.Contains(err.Error(), "samples need a file for each thread and CPU") || !strings.Contains(err.Error(), "ulimit -n") {
			t.Errorf("files for %s and no more: %v", last, err)
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files before, %d after", before, after)
	}
}

// withFiles does something while the process can open so many files, and returns its error.
func withFiles(n int, do func() error) error {
	var limit unix.Rlimit
	must(0, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	next := make([]int, n+1) // numbers of the files that are opened next: the limit is one of numbers
	for i := range next {
		next[i] = must(unix.Dup(0))
	}
	for _, fd := range next {
		must(0, unix.Close(fd))
	}
	low := limit
	low.Cur = uint64(next[n])
	must(0, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	defer func() { must(0, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) }()
	return do()
}

// What another process saw as it sampled itself.
type seen struct {
	Error, KernelMissing string
	Share                float64 // in burn
	InKernel             bool    // any sample
	Rings                []int   // sizes, as more and more samplers are open
	Full                 string  // why there are no more
}

// sampleOurselves writes what is seen.
func sampleOurselves(output io.Writer) {
	var found seen
	defer func() { must(0, json.NewEncoder(output).Encode(found)) }()
	s, err := Sample(ownThreads)
	if err != nil {
		found.Error = err.Error()
		return
	}
	must(0, s.Start())
	spin(200 * time.Millisecond)
	samples := must(s.Stop())
	found.Share = share(samples)
	if samples.KernelMissing != nil {
		found.KernelMissing = samples.KernelMissing.Error()
	}
	for _, p := range samples.Processes {
		found.InKernel = found.InKernel || slices.ContainsFunc(p.Stacks, func(s Stack) bool { return s.Kernel != nil })
	}
	must(0, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}))
	for range 20 {
		found.Rings = append(found.Rings, len(s.rings[0].memory)-os.Getpagesize())
		if s, err = Sample(ownThreads); err != nil {
			found.Full = err.Error()
			return
		}
	}
}

// seenBy runs this program in a role.
func seenBy(t *testing.T, cmd *exec.Cmd) (found seen) {
	t.Helper()
	output, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(output, &found)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return found
}

// A process without privileges samples what it does in user space, and has no more
// samplers than the kernel has memory for.
func TestSamplingWithoutPrivileges(t *testing.T) {
	sampler(t, ownThreads)
	found := seenBy(t, role("sampler"))
	level := paranoid()
	if level > 2 {
		if want := fmt.Sprintf("cpu_time cannot be sampled: kernel.perf_event_paranoid is %d; sysctl kernel.perf_event_paranoid=2", level); !strings.Contains(found.Error, want) {
			t.Errorf("error %q, want %q", found.Error, want)
		}
		return
	}
	if found.Error != "" || found.Share < 0.7 {
		t.Errorf("%+v", found)
	}
	if want := fmt.Sprintf("kernel_time cannot be sampled: kernel.perf_event_paranoid is %d; sysctl kernel.perf_event_paranoid=1", level); level == 2 &&
		(found.InKernel || !strings.Contains(found.KernelMissing, want)) {
		t.Errorf("%+v, want %q", found, want)
	}
	if setting("/proc/sys/kernel/perf_event_mlock_kb", 0) > 1024 || level < 0 || os.Geteuid() != 0 {
		t.Skip("the kernel gives more memory than 20 samplers take, or this user has other programs that sample")
	}
	if len(found.Rings) < 2 || !slices.IsSortedFunc(found.Rings, func(a, b int) int { return b - a }) || !strings.Contains(found.Full, "have all memory for samples") {
		t.Errorf("rings of %d bytes, then %q", found.Rings, found.Full)
	}
}

// A container that forbids perf_event_open gets the reason.
func TestSamplingRefused(t *testing.T) {
	if err := testenv.CanRefuse(); err != nil {
		testenv.Hardware(t, err)
	}
	const want = "cpu_time cannot be sampled: this container or its host forbids programs to count (seccomp, a security module); give it the right"
	if found := seenBy(t, role("refused")); !strings.Contains(found.Error, want) {
		t.Errorf("%+v", found)
	}
}

// What it takes to sample a process of some threads for a moment.
func BenchmarkSampler(b *testing.B) {
	for _, threads := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("%d-threads", threads), func(b *testing.B) {
			p := started(b)
			p.do("crowd", threads, 1)
			p.do("every", 0, 1)
			for b.Loop() {
				s := must(Sample(p.threads))
				must(0, s.Start())
				must(s.Stop())
				must(0, s.Close())
			}
		})
	}
}
