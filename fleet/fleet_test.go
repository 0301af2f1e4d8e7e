package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"contend/finding"
	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
	"contend/protocol"
	"contend/protocol/wire"
	"contend/stat"
)

const token = "of the test, which is long"

// engine opens an engine that ends with the test.
func engine(t *testing.T) Address {
	t.Helper()
	e, at, err := Serve("127.0.0.1:0", token, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return at
}

// work has a worker join until the test ends, or the returned function is called.
func work(t *testing.T, at Address, h Host) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h = workerHost(h)
	var done sync.WaitGroup
	done.Go(func() {
		if err := h.Work(ctx, at); err != nil && ctx.Err() == nil {
			t.Errorf("worker %s: %v", h.Name, err)
		}
	})
	leave = func() {
		cancel()
		done.Wait()
	}
	t.Cleanup(leave)
	return leave
}

// workerHost is of version v1, unless it says another one.
func workerHost(h Host) Host {
	if h.Opener == nil {
		h.Opener = func() (protocol.Opener, error) {
			return protocol.Opener{Surroundings: wire.Surroundings{Env: os.LookupEnv}}, nil
		}
	}
	h.Version = cmp.Or(h.Version, "v1")
	return h
}

// gather is a coordinator of version v1 with n workers.
func gather(t *testing.T, at Address, n int) (*Fleet, []Worker) {
	t.Helper()
	f, err := Gather(t.Context(), at, "v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, gatherNow(t, f, n)
}

// gatherNow waits for n workers.
func gatherNow(t *testing.T, f *Fleet, n int) []Worker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	workers, err := f.Wait(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	return workers
}

// age has a coordinator have heard of a worker, which says nothing any more, so long ago that silence is nearly over.
func age(f *Fleet, name string) {
	time.Sleep(beat / 4) // for what it said last to come
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.workers {
		if m.Name == name {
			m.heard = m.heard.Add(2*beat - silence)
		}
	}
}

// until is a worker's silence, which is over when that is set.
func until(over *atomic.Bool) func() time.Duration {
	return func() time.Duration {
		if over.Load() {
			return 0
		}
		return silence
	}
}

// A counter answers, and knows which rows of data came.
type counter struct {
	*httptest.Server
	requests atomic.Int64
	mu       sync.Mutex
	rows     map[string]int
}

func serve(t *testing.T) *counter {
	c := &counter{rows: map[string]int{}}
	own := "/" + rand.Text()
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, own) { // of who takes its port for that of another server
			t.Logf("a stranger sent %s %s%s with %v", r.Method, r.Host, r.URL, r.Header)
			http.NotFound(w, r)
			return
		}
		c.answer(w, r)
	}))
	c.URL += own
	t.Cleanup(c.Close)
	return c
}

func (c *counter) answer(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(1)
	if row := r.URL.Query().Get("row"); row != "" {
		c.mu.Lock()
		c.rows[row]++
		c.mu.Unlock()
	}
	fmt.Fprint(w, "hello")
}

// open has workers make callers of a target.
func open(t *testing.T, f *Fleet, workers []Worker, target protocol.Target, vus int) *load.Session {
	t.Helper()
	driven, err := f.Target(target, 1, workers)
	if err != nil {
		t.Fatal(err)
	}
	session, err := load.Open(t.Context(), target.URL(), driven, vus)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// Two workers drive a limited number of iterations: the server sees each once, and the result has all, also a
// second time with the same callers.
func TestWorkersDriveTogether(t *testing.T) {
	t.Parallel()
	at, server := engine(t), serve(t)
	work(t, at, Host{Name: "a"})
	work(t, at, Host{Name: "b"})
	f, workers := gather(t, at, 2)
	session := open(t, f, workers, protocol.At(server.URL), 5)
	for run := range 2 {
		plan := load.Plan{VUs: 5, Iterations: 101, Grace: testenv.Patience}
		r, err := session.Run(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if r.Planned != 101 || r.Completed != 101 || r.Stopped != load.StoppedByIterations || r.Course == nil {
			t.Errorf("planned %d, completed %d, stopped by %s; want 101", r.Planned, r.Completed, r.Stopped)
		}
		if got := server.requests.Load(); got != int64(101*(run+1)) {
			t.Errorf("the server saw %d requests after run %d of 101", got, run+1)
		}
		if len(r.Generators) != 2 || r.Generators[0].Name != "a" || r.Generators[1].Name != "b" ||
			r.Generators[0].Completed+r.Generators[1].Completed != 101 || r.Generators[0].VUs != 3 || r.Generators[1].VUs != 2 {
			t.Errorf("%+v", r.Generators)
		}
		for _, g := range r.Generators {
			if g.BeganLate < 0 || g.ClockBound <= 0 || g.Machine != machine() {
				t.Errorf("%+v: a moment before it began, or no bound, or elsewhere", g)
			}
		}
		for _, w := range r.Warnings {
			if w.Is(finding.Miscounted) {
				t.Error(w.Text)
			}
		}
	}
}

// Arrivals of an open model are those of one generator, each with a row of data that no other has.
func TestWorkersShareArrivalsAndRows(t *testing.T) {
	t.Parallel()
	at, server := engine(t), serve(t)
	for _, name := range []string{"a", "b", "c"} {
		work(t, at, Host{Name: name})
	}
	f, workers := gather(t, at, 3)
	const arrivals = 200
	rows := filepath.Join(t.TempDir(), "rows.csv")
	content := "id\n"
	for i := range arrivals {
		content += fmt.Sprintf("r%d\n", i)
	}
	testenv.Write(t, rows, content)
	session := open(t, f, workers, protocol.At(server.URL+"/?row={{id}}").With("rows", rows), 60)
	told := 0
	plan := load.Plan{VUs: 60, Iterations: arrivals, Pacer: pace.Constant(400), Grace: testenv.Patience,
		Progress: func(load.Progress) { told++ }}
	var edges []load.Edge
	plan.AtEdge = func(e load.Edge) { edges = append(edges, e) }
	r, err := session.Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if r.Planned != arrivals || r.Accounted() != arrivals || r.Model != load.OpenModel {
		t.Errorf("planned %d, accounted for %d; want %d", r.Planned, r.Accounted(), arrivals)
	}
	if r.Dropped+r.Unfinished == 0 && len(server.rows) != arrivals {
		t.Errorf("%d rows came, want each of %d once", len(server.rows), arrivals)
	}
	if len(edges) != 2 || edges[0] != load.WindowOpens || edges[1] != load.WindowCloses {
		t.Errorf("edges %v, want both, once", edges)
	}
}

// A mistake in the target is reported with the name of the worker that sees it, and leaves all free.
func TestWorkersCannotOpen(t *testing.T) {
	t.Parallel()
	at := engine(t)
	work(t, at, Host{Name: "a"})
	f, workers := gather(t, at, 1)
	target := protocol.At("http://127.0.0.1:1/").With("bearer", "env:CONTEND_TEST_HAS_NO_SUCH_VARIABLE")
	driven, err := f.Target(target, 1, workers)
	if err != nil {
		t.Fatal(err)
	}
	_, err = load.Open(t.Context(), "x", driven, 1)
	if err == nil || !strings.Contains(err.Error(), "worker a: ") || !strings.Contains(err.Error(), "CONTEND_TEST_HAS_NO_SUCH_VARIABLE") {
		t.Errorf("%v, want that the worker has no such variable", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	if _, err := f.Wait(ctx, 1); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// If a worker goes while it drives, the result is that of the others, and unreliable.
func TestWorkerIsLost(t *testing.T) {
	t.Parallel()
	at, server := engine(t), serve(t)
	work(t, at, Host{Name: "a"})
	leave := work(t, at, Host{Name: "b"})
	f, workers := gather(t, at, 2)
	session := open(t, f, workers, protocol.At(server.URL), 2)
	plan := load.Plan{VUs: 2, Duration: testenv.Patience, Think: time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for server.requests.Load() < 10 {
			time.Sleep(time.Millisecond)
		}
		leave()
		age(f, "b")
		for requests := server.requests.Load(); server.requests.Load() < requests+10; {
			time.Sleep(time.Millisecond)
		}
		cancel() // the other one ends with what it has
	}()
	r, err := session.Run(ctx, plan)
	if err != nil {
		t.Fatal(err)
	}
	if w := r.Refusal(stat.HigherIsFaster); w == nil || !w.Is(finding.WorkerLost) || !strings.Contains(w.Text, "b (") {
		t.Errorf("%+v, want worker_lost with the name", w)
	}
	if r.Generators[0].Completed == 0 || r.Completed != r.Generators[0].Completed || r.Stopped != load.Interrupted {
		t.Errorf("completed %d, of the other %d, stopped by %s", r.Completed, r.Generators[0].Completed, r.Stopped)
	}
}

// A worker whose coordinator is gone ends its callers and can be used again: at once if a new coordinator tells
// it so, otherwise by itself.
func TestCoordinatorIsGone(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"and a new one comes": "the coordinator is gone", "and there is none": "the coordinator is silent"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, server := engine(t), serve(t)
			said := make(chan string, 100)
			var over atomic.Bool
			work(t, at, Host{Name: "a", Say: func(line string) { said <- line }, silence: until(&over)})
			gone, workers := gather(t, at, 1)
			driven, err := gone.Target(protocol.At(server.URL), 1, workers)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := driven.OpenRemote(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			gone.Close()
			if strings.Contains(want, "silent") {
				over.Store(true)
				await(t, said, want)
				over.Store(false)
			}
			f, err := Gather(t.Context(), at, "v1", func(line string) { said <- line })
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if strings.Contains(want, "gone") {
				await(t, said, "its run is over, and 1 worker is free")
				await(t, said, want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
			defer cancel()
			if workers, err = f.Wait(ctx, 1); err != nil {
				t.Fatal(err)
			}
			session := open(t, f, workers, protocol.At(server.URL), 1)
			if r, err := session.Run(t.Context(), load.Plan{VUs: 1, Iterations: 3, Grace: testenv.Patience}); err != nil || r.Completed != 3 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// await waits for a line.
func await(t *testing.T, said <-chan string, want string) {
	t.Helper()
	deadline := time.After(testenv.Patience)
	for {
		select {
		case line := <-said:
			if strings.Contains(line, want) {
				return
			}
		case <-deadline:
			t.Fatalf("nobody says %q", want)
		}
	}
}

// A peer that does not belong to the fleet is told why, or not heard.
func TestStrangers(t *testing.T) {
	t.Parallel()
	at := engine(t)
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	other := at
	other.Token = "guessed"
	if err := (Host{Version: "v1"}).Work(ctx, other); err == nil || !strings.Contains(err.Error(), "the token is not the fleet's") {
		t.Errorf("a worker with another token: %v", err)
	}
	if _, err := Gather(ctx, other, "v1", nil); err == nil || !strings.Contains(err.Error(), "the token is not the fleet's") {
		t.Errorf("a coordinator with another token: %v", err)
	}
	work(t, at, Host{Name: "old", Version: "v0"})
	f, err := Gather(ctx, at, "v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, hello := range []string{"{", `{"id":"a.b"}`, `{"id":""}`, `[]`} {
		if err := f.conn.PublishMsg(&nats.Msg{Subject: helloSubject, Data: []byte(hello)}); err != nil {
			t.Fatal(err)
		}
	}
	for len(f.Workers()) == 0 {
		time.Sleep(beat / 10)
	}
	short, cancel := context.WithTimeout(ctx, beat/10)
	defer cancel()
	if _, err := f.Wait(short, 2); err == nil || !strings.Contains(err.Error(), "old is version v0, and this is v1") || len(f.Workers()) != 1 {
		t.Errorf("%v, of %+v", err, f.Workers())
	}
}

// fake joins a worker that opens callers and replies to the order to drive as drive does; if that returns
// nothing it falls silent.
func fake(t *testing.T, at Address, drive func() []byte) {
	t.Helper()
	fakeAt(t, at, func(m *nats.Msg, silent func()) {
		r := encode(reply{Got: 1, Sent: 2})
		if strings.Contains(string(m.Data), `"drive"`) {
			if r = drive(); r == nil {
				silent()
				return
			}
		}
		_ = m.Respond(r)
	})
}

// fakeAt joins a worker that handles orders by obey, until the test ends or it is silent.
func fakeAt(t *testing.T, at Address, obey func(m *nats.Msg, silent func())) {
	t.Helper()
	conn, err := at.connect(t.Context(), "fake", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	ctx, silent := context.WithCancel(t.Context())
	if _, err := conn.Subscribe(orderPrefix+"fake", func(m *nats.Msg) { obey(m, silent) }); err != nil {
		t.Fatal(err)
	}
	go func() {
		for ctx.Err() == nil {
			_ = conn.Publish(helloSubject, encode(Worker{ID: "fake", Name: "fake", Version: "v1", Form: load.SentForm}))
			time.Sleep(beat / 2)
		}
	}()
}

// sent is a reply with a result.
func sent(result []byte) []byte { return withPiece(reply{Result: parcelOf(result)}, result) }

// A worker that falls silent, or says what cannot be, is lost, and nothing of it is counted.
func TestWorkerThatCannotBeTrusted(t *testing.T) {
	t.Parallel()
	for name, drive := range map[string]func() []byte{
		"silent":               func() []byte { return nil },
		"no reply":             func() []byte { return []byte("{") },
		"no result":            func() []byte { return encode(reply{}) },
		"a wrong count":        func() []byte { return sent([]byte("\x15{\"planned\": 1000000000}")) },
		"other bytes":          func() []byte { return withPiece(reply{Result: parcelOf([]byte("of this"))}, []byte("of that")) },
		"too long":             func() []byte { return encode(reply{Result: parcel{Size: mostContent + 1}}) },
		"too long a beginning": func() []byte { return withPiece(reply{Result: parcelOf(nil)}, make([]byte, firstPiece)) },
		"no more":              func() []byte { return withPiece(reply{Result: parcel{Size: 1000}}, []byte("of this")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, server := engine(t), serve(t)
			work(t, at, Host{Name: "a"})
			silent := make(chan struct{})
			once := sync.OnceFunc(func() { close(silent) })
			fake(t, at, func() []byte {
				said := drive()
				if said == nil {
					once()
				}
				return said
			})
			f, workers := gather(t, at, 2)
			go func() {
				select {
				case <-silent:
					age(f, "fake")
				case <-t.Context().Done():
				}
			}()
			session := open(t, f, workers, protocol.At(server.URL), 2)
			r, err := session.Run(t.Context(), load.Plan{VUs: 2, Iterations: 10, Grace: testenv.Patience})
			if err != nil {
				t.Fatal(err)
			}
			if w := r.Refusal(stat.HigherIsFaster); r.Planned != 5 || r.Generators[1].Lost == "" || w == nil || !w.Is(finding.WorkerLost) {
				t.Errorf("planned %d, %+v, %v; want the 5 of the other, and why", r.Planned, r.Generators, w)
			}
		})
	}
}

// A worker that starts the servers is not one of the workers that are waited for.
func TestWaitExcepts(t *testing.T) {
	t.Parallel()
	at := engine(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		work(t, at, Host{Name: name})
	}
	f, all := gather(t, at, 4)
	for _, n := range []int{2, 3} {
		got, err := f.Wait(t.Context(), n, all[0])
		var names []string
		for _, w := range got {
			names = append(names, w.Name)
		}
		if want := []string{"b", "c", "d"}[:n]; err != nil || !slices.Equal(names, want) {
			t.Errorf("%d besides a: %v, %v; want %v", n, names, err, want)
		}
	}
}
