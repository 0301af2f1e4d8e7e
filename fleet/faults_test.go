package fleet

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"contend/finding"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol"
	"contend/stat"
)

// A fault is what happens to a run of two workers: a is in this process and b in one of its own.
type fault struct {
	engine func(t *testing.T) Address           // nil: one in this process
	way    func(t *testing.T, at Address) *link // of b to it; nil: the way of all
	happen func(t *testing.T, s *scenario)      // while they drive
	before bool                                 // it happens before they do
	under  []string                             // what starts the process of b
	lost   string                               // what b has; "": nothing, and the run is complete
}

// A scenario is a run to which something happens.
type scenario struct {
	at     Address
	way    *link
	kill   func() // b
	server *counter
	fleet  *Fleet
}

// lose kills b.
func (s *scenario) lose() {
	s.kill()
	age(s.fleet, "b")
}

// Each worker has half of the iterations of a run, which take a second at least.
const iterations = 200

// driven waits until so many requests have been made.
func (s *scenario) driven(t *testing.T, n int64) {
	t.Helper()
	for deadline := time.Now().Add(testenv.Patience); s.server.requests.Load() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%d requests were made, and %d awaited", s.server.requests.Load(), n)
			return
		}
	}
}

// Whatever happens to workers, to what carries their messages, and to these: nothing hangs, nothing is counted twice, and a run is
// either that of both or refused, with what the other one measured. Each ten times:
//
//	go test ./fleet -run Faults -count 10 -parallel 16 -timeout 1h
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{
		"nothing": {},
		"worker killed before the barrier": {before: true, lost: "gone",
			happen: func(_ *testing.T, s *scenario) { s.lose() }},
		"worker killed in a block": {lost: "gone",
			happen: func(t *testing.T, s *scenario) { s.driven(t, iterations/10); s.lose() }},
		"worker killed while it sends its result": {lost: "gone", way: cutResult, happen: func(t *testing.T, s *scenario) {
			select {
			case <-s.way.cut:
				age(s.fleet, "b")
			case <-t.Context().Done():
			}
		}},
		"engine killed and restarted in a block": killedEngine(iterations / 10),
		"engine killed and restarted at the end": killedEngine(iterations),
		"partition of 3 s":                       {way: straight, happen: partition(3 * time.Second)},
		"messages twice, and late":               {happen: repeat},
		"slow worker":                            {way: slow},
		"messages that are too long":             {happen: tooLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f.test(t)
		})
	}
}

func (f fault) test(t *testing.T) {
	s := &scenario{server: serve(t)}
	if f.engine == nil {
		f.engine = engine
	}
	s.at = f.engine(t)
	toB := s.at
	if f.way != nil {
		s.way = f.way(t, s.at)
		toB = s.way.at
	}
	work(t, s.at, Host{Name: "a"})
	argv := append(slices.Clone(f.under), os.Args[0])
	s.kill, _ = role{Play: "worker", Name: "b", At: toB}.run(t, exec.Command(argv[0], argv[1:]...))
	var workers []Worker
	s.fleet, workers = gather(t, s.at, 2)
	session := open(t, s.fleet, workers, protocol.At(s.server.URL), 2)
	ctx, cancel := context.WithTimeout(t.Context(), 2*testenv.Patience)
	defer cancel()
	happened := make(chan struct{})
	go func() {
		defer close(happened)
		if f.happen != nil {
			f.happen(t, s)
		}
	}()
	if f.before {
		<-happened
	}
	r, err := session.Run(ctx, load.Plan{VUs: 2, Iterations: iterations, Think: 10 * time.Millisecond, Grace: testenv.Patience})
	switch {
	case err != nil:
		t.Fatal(err)
	case ctx.Err() != nil:
		t.Error("it hangs")
	}
	f.judge(t, s, r)
	<-happened
}

// judge compares a result with what the server saw.
func (f fault) judge(t *testing.T, s *scenario, r *load.Result) {
	t.Helper()
	a, b := r.Generators[0], r.Generators[1]
	refused := r.Refusal(stat.HigherIsFaster)
	if f.lost == "" {
		if r.Planned != iterations || r.Completed != iterations || s.server.requests.Load() != iterations || a.Lost+b.Lost != "" {
			t.Errorf("planned %d, completed %d, the server saw %d, and %d were sent again; want %d of each, and nothing lost: %+v", r.Planned, r.Completed, s.server.requests.Load(), r.Resent, iterations, r.Generators)
		}
		if refused != nil && refused.Is(finding.WorkerLost) {
			t.Error(refused.Text)
		}
		return
	}
	if refused == nil || !refused.Is(finding.WorkerLost) || !strings.Contains(b.Lost, f.lost) || !strings.Contains(refused.Text, "b (") {
		t.Errorf("%+v, of %+v; want worker_lost with %q", refused, b, f.lost)
	}
	if r.Completed != iterations/2 || a.Completed != iterations/2 || a.Lost != "" {
		t.Errorf("completed %d, of a %d; want its half of %d", r.Completed, a.Completed, iterations)
	}
}

func straight(t *testing.T, at Address) *link { return newLink(t, at, nil) }

// slow is a way of 100 to 300 ms there, and of 50 to 150 back.
func slow(t *testing.T, at Address) *link {
	return newLink(t, at, around(200*time.Millisecond, 100*time.Millisecond))
}

// cutResult is a way that breaks for good in the middle of a result.
func cutResult(t *testing.T, at Address) *link {
	k := newLink(t, at, nil)
	k.cut = make(chan struct{})
	cut := sync.OnceFunc(func() { close(k.cut) })
	k.spy = func(text []byte) bool {
		if bytes.Contains(text, []byte(`"result":{"size"`)) {
			k.stall()
			cut()
			return false
		}
		return true
	}
	return k
}

func partition(d time.Duration) func(*testing.T, *scenario) {
	return func(t *testing.T, s *scenario) {
		s.driven(t, iterations/10)
		s.way.stall()
		select {
		case <-time.After(d):
		case <-t.Context().Done():
		}
		s.way.heal()
	}
}

// killedEngine is one that is killed after so many requests, and followed after a second by one whose process runs already.
func killedEngine(after int64) fault {
	var kill func()
	return fault{
		engine: func(t *testing.T) (at Address) {
			at, kill = startEngine(t, testenv.HeldAddress(t))
			next := exec.Command(os.Args[0])
			said, err := next.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			role{Play: "next engine", At: at}.run(t, next)
			if _, err := said.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			return at
		},
		happen: func(t *testing.T, s *scenario) {
			s.driven(t, after)
			kill()
		},
	}
}

// repeat sends every message a second time, up to 100 ms later.
func repeat(t *testing.T, s *scenario) {
	conn, err := s.at.connect(t.Context(), "echo", nil)
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(conn.Close)
	if _, err := conn.Subscribe(">", func(m *nats.Msg) {
		again := &nats.Msg{Subject: m.Subject, Reply: m.Reply, Data: m.Data}
		time.AfterFunc(time.Duration(rand.Int64N(int64(100*time.Millisecond))), func() { _ = conn.PublishMsg(again) })
	}); err != nil {
		t.Error(err)
	}
	s.driven(t, iterations)
}

// tooLong has a peer with the token send a longer message than allowed.
func tooLong(t *testing.T, s *scenario) {
	s.driven(t, iterations/10)
	for _, subject := range []string{helloSubject, orderPrefix + "x", pulseSubject} {
		conn, err := net.Dial("tcp", s.at.Host())
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(testenv.Patience))
		fmt.Fprintf(conn, "CONNECT {\"auth_token\":%q,\"verbose\":false}\r\nPUB %s %d\r\n", token, subject, maxMessage+1)
		_, _ = conn.Write(make([]byte, maxMessage+1)) // the server may have hung up
		var said bytes.Buffer
		_, _ = said.ReadFrom(conn)
		if !strings.Contains(said.String(), "Maximum Payload") {
			t.Errorf("the engine says %q to a message that is too long", said.String())
		}
	}
}

// The next coordinator frees what a killed one left, and is told.
func TestFaultsOfTheCoordinator(t *testing.T) {
	t.Parallel()
	at, server := engine(t), serve(t)
	said := make(chan string, 100)
	work(t, at, Host{Name: "a", Say: func(line string) { said <- line }})
	kill := role{Play: "coordinator", Server: server.URL, At: at}.start(t)
	s := &scenario{server: server}
	s.driven(t, 10)
	kill()
	f, err := Gather(t.Context(), at, "v1", func(line string) { said <- line })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	await(t, said, "its run is over, and 1 worker is free")
	await(t, said, "the coordinator is gone: its callers end")
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	if _, err := f.Wait(ctx, 1); err != nil {
		t.Error(err)
	}
}
