package perf

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"contend/internal/testenv"
)

// roleKey in its environment makes this binary a worker, or something else.
const roleKey = "PERF_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleKey) {
	case "":
		os.Exit(m.Run())
	case "worker":
		work(os.Stdin, os.Stdout)
	case "sampler":
		if os.Geteuid() == 0 {
			const nobodyElse = 1<<30 + 12345 // whose memory for samples no other program takes
			must(0, syscall.Setresuid(nobodyElse, nobodyElse, nobodyElse))
		}
		sampleOurselves(os.Stdout)
	case "refused":
		must(0, os.Setenv(roleKey, "sampler"))
		must(0, testenv.Refused(unix.SYS_PERF_EVENT_OPEN, os.Args))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// jobs are what a worker is asked for by lines such as "threads 20 1000" and answers
// with "done": k workers have n units of work each.
var jobs = map[string]func(k, n int){
	"alone": func(k, n int) { touch(k * n) },
	"threads": func(k, n int) {
		var all sync.WaitGroup
		for range k {
			all.Go(func() {
				runtime.LockOSThread() // and the thread ends with the goroutine
				touch(n)
			})
		}
		all.Wait()
	},
	"processes": func(k, n int) {
		for range k {
			child := role("worker")
			child.Stdin = strings.NewReader(fmt.Sprintf("alone 1 %d\n", n))
			must(0, child.Run())
		}
	},
	"spin": func(k, n int) {
		var all sync.WaitGroup
		for range k {
			all.Go(func() { spin(time.Duration(n) * time.Millisecond) })
		}
		all.Wait()
	},
	"spinners": func(k, n int) {
		for range k {
			child := role("worker")
			child.Stdin = strings.NewReader(fmt.Sprintf("spin 1 %d\n", n))
			must(0, child.Run())
		}
	},
	"call": func(_, n int) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for end := threadTime() + time.Duration(n)*time.Millisecond; threadTime() < end; {
		}
	},
	"crowd": func(k, n int) {
		crowd.came.Add(k)
		go crowd.grow(k, n)
	},
	"every": func(_, n int) { crowd.touch(n) },
	"crash": func(int, int) { must(0, unix.Kill(os.Getpid(), unix.SIGKILL)) },
}

// work does jobs until the input ends.
func work(input io.Reader, output io.Writer) {
	for lines := bufio.NewScanner(input); lines.Scan(); {
		var name string
		var k, n int
		must(fmt.Sscan(lines.Text(), &name, &k, &n))
		jobs[name](k, n)
		fmt.Fprintln(output, "done")
	}
}

// touch does n units of work: a page fault and thousands of instructions each.
func touch(n int) {
	const most = 1000 // at a time
	for ; n > most; n -= most {
		touch(most)
	}
	memory := must(unix.Mmap(-1, 0, n*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE))
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

// A party is threads that wait for work.
type party struct {
	guests sync.Map // channels of n
	came   sync.WaitGroup
	done   sync.WaitGroup
}

var crowd party

// grow starts k threads, one each n microseconds.
func (p *party) grow(k, n int) {
	for range k {
		time.Sleep(time.Duration(n) * time.Microsecond)
		go func() {
			runtime.LockOSThread()
			asked := make(chan int)
			p.guests.Store(asked, true)
			p.came.Done()
			for n := range asked {
				touch(n)
				p.done.Done()
			}
		}()
	}
}

// touch waits until all threads have come, and has each do n units.
func (p *party) touch(n int) {
	p.came.Wait()
	p.guests.Range(func(asked, _ any) bool {
		p.done.Add(1)
		asked.(chan int) <- n
		return true
	})
	p.done.Wait()
}

// spin takes CPU time in a thread of its own, in burn.
func spin(long time.Duration) {
	runtime.LockOSThread()
	for end := threadTime() + long; threadTime() < end; {
		burned.Store(burn(100_000))
	}
}

var burned atomic.Uint64 // so that burn has a purpose

// burn has a frame of its own, as it has variables that fit no register: without one its
// caller would not be seen.
//
//go:noinline
func burn(n uint64) uint64 {
	var state [64]uint64
	for i := range n {
		state[i%64] = state[(i+1)%64]*6364136223846793005 + 1442695040888963407
	}
	return state[n%64]
}

// threadTime asks the kernel for the CPU time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	must(0, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t))
	return time.Duration(t.Nano())
}

func role(name string) *exec.Cmd {
	cmd := exec.Command(must(os.Executable()))
	cmd.Env = append(os.Environ(), roleKey+"="+name, "GOGC=off", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// A process is a worker that the test has started.
type process struct {
	t     testing.TB
	cmd   *exec.Cmd
	input io.WriteCloser
	lines *bufio.Scanner
}

// started starts a worker, which ends with the test.
func started(t testing.TB) *process {
	p := prepared(t)
	p.start()
	return p
}

func prepared(t testing.TB) *process {
	cmd := role("worker")
	input, output := must(cmd.StdinPipe()), must(cmd.StdoutPipe())
	return &process{t: t, cmd: cmd, input: input, lines: bufio.NewScanner(output)}
}

func (p *process) start() {
	must(0, p.cmd.Start())
	p.t.Cleanup(func() {
		p.input.Close()
		_ = p.cmd.Wait() // killed in some tests
	})
}

// do has the worker do a job, and waits until it is done or the worker is dead.
func (p *process) do(job string, k, n int) {
	fmt.Fprintln(p.input, job, k, n)
	p.lines.Scan()
}

// threads lists the worker's threads.
func (p *process) threads() ([]int, error) { return threadsOf(p.cmd.Process.Pid) }
