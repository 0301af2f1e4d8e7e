package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol"
)

// A role is what a process of the test's program does instead of running the tests.
type role struct {
	Play, Name, Server string
	At                 Address
	Silence            time.Duration // of a worker, as soon as it is told that; until then it is that of the other tests
}

const roleVariable = "CONTEND_FLEET_TEST_ROLE"

func TestMain(m *testing.M) {
	silence *= 3 // on a full machine a process may get no CPU for seconds
	if text := os.Getenv(roleVariable); text != "" {
		var r role
		if err := errors.Join(json.Unmarshal([]byte(text), &r), r.play()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	const parallel = 16 // the tests wait far more than they compute
	_ = flag.Set("test.parallel", strconv.Itoa(parallel))
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), parallel)) // a loop that waits keeps a processor of Go's from others for 10 ms
	os.Exit(m.Run())
}

// play ends with standard input, which is that of the test: what comes there says that the role's silence begins to count.
func (r role) play() error {
	var short atomic.Bool
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for told := make([]byte, 1); ; short.Store(true) {
			if _, err := os.Stdin.Read(told); err != nil {
				cancel()
				return
			}
		}
	}()
	switch r.Play {
	case "worker":
		err := workerHost(Host{Name: r.Name, silence: func() time.Duration {
			if short.Load() {
				return r.Silence
			}
			return silence
		}}).Work(ctx, r.At)
		return errors.Join(err, ctx.Err())
	case "next engine": // a second after the one before
		fmt.Println("it waits")
		for err := error(nil); err == nil; time.Sleep(beat / 50) {
			var conn net.Conn
			if conn, err = net.Dial("tcp", r.At.Host()); err == nil {
				conn.Close()
			}
		}
		time.Sleep(beat)
		fallthrough
	case "engine":
		e, _, err := Serve(r.At.Host(), token, false)
		if err == nil {
			<-ctx.Done()
			e.Close()
		}
		return err
	default: // a coordinator that drives for ever
		f, err := Gather(ctx, r.At, "v1", nil)
		if err != nil {
			return err
		}
		workers, err := f.Wait(ctx, 1)
		if err != nil {
			return err
		}
		target, err := f.Target(protocol.At(r.Server), 1, workers)
		if err != nil {
			return err
		}
		session, err := load.Open(ctx, r.Server, target, 1)
		if err != nil {
			return err
		}
		_, err = session.Run(ctx, load.Plan{VUs: 1, Duration: time.Hour, Think: time.Millisecond})
		return err
	}
}

// start starts a process that ends with the test, or when the returned function is called: at once, as of kill -9.
func (r role) start(t *testing.T) (kill func()) {
	t.Helper()
	kill, _ = r.run(t, exec.Command(os.Args[0]))
	return kill
}

// run is start by a command that ends as the test's program. Tell tells the process something.
func (r role) run(t *testing.T, cmd *exec.Cmd) (kill, tell func()) {
	t.Helper()
	cmd.Env = append(os.Environ(), roleVariable+"="+string(encode(r)))
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	return kill, func() { _, _ = to.Write([]byte("\n")) }
}

// startEngine starts a NATS server in a process, on a port that is the test's.
func startEngine(t *testing.T, address string) (at Address, kill func()) {
	t.Helper()
	at = Address{URL: "nats://" + address, Token: token}
	kill = role{Play: "engine", At: at}.start(t)
	for deadline := time.Now().Add(testenv.Patience); ; time.Sleep(beat / 50) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return at, kill
		}
		if time.Now().After(deadline) {
			t.Fatal("the engine does not start")
		}
	}
}

// A link connects a worker to its engine. It can be stalled, and be slow.
type link struct {
	at    Address // of the engine by this way
	delay func() (there, back time.Duration)
	spy   func(text []byte) (pass bool) // on what the worker says; nil: nobody does
	cut   chan struct{}                 // closed when spy has stalled it

	mu   sync.Mutex
	open chan struct{} // closed while messages pass
}

// newLink makes a link to an engine until the test ends; delay may be nil.
func newLink(t *testing.T, to Address, delay func() (there, back time.Duration)) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{at: to, delay: delay, open: make(chan struct{})}
	close(k.open)
	if delay == nil {
		k.delay = func() (there, back time.Duration) { return 0, 0 }
	}
	k.at.URL = "nats://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		l.Close()
		k.heal()
		all.Wait()
	})
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to.Host())
			if err != nil {
				near.Close()
				continue
			}
			stop := context.AfterFunc(ctx, func() { near.Close(); far.Close() })
			all.Go(func() { defer stop(); k.carry(near, far, true) })
			all.Go(func() { k.carry(far, near, false) })
		}
	})
	return k
}

// late is what is under way, and when it arrives.
type late struct {
	text []byte
	due  time.Time
}

// carry carries what one side says to the other, in its order, until one of them ends.
func (k *link) carry(from, to net.Conn, there bool) {
	defer from.Close()
	defer to.Close()
	way := make(chan late, 10_000) // what a slow way holds
	var all sync.WaitGroup
	defer all.Wait()
	defer close(way)
	all.Go(func() {
		for l := range way {
			time.Sleep(time.Until(l.due))
			k.mu.Lock()
			open := k.open
			k.mu.Unlock()
			<-open
			if _, err := to.Write(l.text); err != nil {
				from.Close()
			}
		}
	})
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		text := append([]byte{}, buffer[:n]...)
		if there && k.spy != nil && !k.spy(text) {
			return
		}
		first, second := k.delay()
		if !there {
			first = second
		}
		way <- late{text, time.Now().Add(first)}
	}
}

// stall lets nothing pass any more, and heal all again.
func (k *link) stall() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open = make(chan struct{})
}

func (k *link) heal() {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.open:
	default:
		close(k.open)
	}
}

// around is a delay of a time and up to a half of it more or less, each way for itself.
func around(there, back time.Duration) func() (time.Duration, time.Duration) {
	vary := func(d time.Duration) time.Duration { return d/2 + time.Duration(rand.Int64N(int64(d)+1)) }
	return func() (time.Duration, time.Duration) { return vary(there), vary(back) }
}
