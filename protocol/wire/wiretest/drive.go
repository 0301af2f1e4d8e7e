package wiretest

import (
	"bufio"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
)

// Calls hides from the engine that event loops can drive a target.
type Calls struct{ load.Target }

// Run runs a plan.
func Run(t testing.TB, target load.Target, plan load.Plan) *load.Result {
	t.Helper()
	start := time.Now()
	r, err := load.Run(t.Context(), "test", target, plan)
	testenv.Must(t, err)
	if took := time.Since(start); took > plan.Duration+plan.Grace+testenv.Patience && plan.Duration > 0 {
		t.Errorf("a run of %v took %v", plan.Duration, took)
	}
	return r
}

// Over runs a plan over an engine.
func Over(t testing.TB, engine load.Engine, target load.Target, plan load.Plan) *load.Result {
	t.Helper()
	if engine == load.Goroutines {
		target = Calls{target}
	}
	return By(t, engine, target, plan)
}

// By runs a plan that an engine should drive.
func By(t testing.TB, engine load.Engine, target load.Target, plan load.Plan) *load.Result {
	t.Helper()
	r := Run(t, target, plan)
	if r.Engine != engine {
		t.Errorf("engine %s (%s), want %s", r.Engine, r.EngineReason, engine)
	}
	return r
}

// An Account is what a run counted.
type Account struct {
	Completed, Failed         int64
	Errored                   map[errkind.Kind]int64
	Statuses                  map[int]int64
	BytesIn, BytesOut, BodyIn int64
	FirstBytes                int64 // of completed iterations
}

// AccountOf is that of a result.
func AccountOf(r *load.Result) Account {
	a := Account{
		Completed: r.Completed, Failed: r.Failed, Errored: maps.Clone(r.Errored), Statuses: maps.Clone(r.Statuses),
		BytesIn: r.BytesIn, BytesOut: r.BytesOut, BodyIn: r.BodyIn,
	}
	maps.DeleteFunc(a.Errored, func(_ errkind.Kind, n int64) bool { return n == 0 })
	if r.FirstByte != nil {
		a.FirstBytes = r.FirstByte.Count()
	}
	return a
}

// Needs skips a test where something is not supported, as by loop.Supported.
func Needs(t testing.TB, supported func() (ok bool, why string)) {
	t.Helper()
	if ok, why := supported(); !ok {
		t.Skip(why)
	}
}

// Engines calls a test for each engine. loops is loop.Supported, whose tests need this package.
func Engines(t *testing.T, loops func() (ok bool, why string), test func(t *testing.T, engine load.Engine)) {
	for _, engine := range []load.Engine{load.Goroutines, load.EventLoop} {
		t.Run(string(engine), func(t *testing.T) {
			if engine == load.EventLoop {
				Needs(t, loops)
			}
			test(t, engine)
		})
	}
}

// VU makes a caller, which ends with the test.
func VU[V load.VU](t testing.TB, target load.Target, id int) V {
	t.Helper()
	made, err := target.NewVU(t.Context(), id)
	testenv.Must(t, err)
	if c, ok := made.(io.Closer); ok {
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return made.(V)
}

// BothVersions is a server of HTTP/1.1 and HTTP/2, by what the client speaks, which is to be started.
func BothVersions(handler http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(handler)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// Started starts a server, until the test's end, and returns its URL.
func Started(t testing.TB, s *httptest.Server) string {
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// OK is an answer.
const OK = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"

// Requests serves a connection of HTTP/1.1 with answer, which gets requests without their bodies, by their number, and
// reports whether it takes another one.
func Requests(answer func(conn net.Conn, n int, r *http.Request) (more bool)) func(net.Conn) {
	return func(conn net.Conn) {
		from := bufio.NewReader(conn)
		for n, more := 1, true; more; n++ {
			r, err := http.ReadRequest(from)
			if err == nil {
				_, err = io.Copy(io.Discard, r.Body)
			}
			more = err == nil && answer(conn, n, r)
		}
	}
}

// Answering answers whatever can be read at once with the same text. It allocates nothing for that.
func Answering(text string) func(net.Conn) {
	answer := []byte(text)
	return func(conn net.Conn) {
		request := make([]byte, 4096)
		for {
			if _, err := conn.Read(request); err != nil {
				return
			}
			if _, err := conn.Write(answer); err != nil {
				return
			}
		}
	}
}

// OneByOne serves one connection until it ends, and then the next one that asks, as single-threaded servers with
// keep-alive do.
func OneByOne(pause time.Duration) func(net.Conn) {
	var turn sync.Mutex
	return func(conn net.Conn) {
		served := false
		Requests(func(conn net.Conn, _ int, _ *http.Request) bool {
			if !served {
				turn.Lock()
				served = true
			}
			time.Sleep(pause)
			_, err := io.WriteString(conn, OK)
			return err == nil
		})(conn)
		if served {
			turn.Unlock()
		}
	}
}

// Forgetful answers so many requests on each connection, and ends it when another one comes.
func Forgetful(answers int, end func(net.Conn)) func(net.Conn) {
	return Requests(func(conn net.Conn, n int, _ *http.Request) bool {
		if n > answers {
			end(conn)
			return false
		}
		_, err := io.WriteString(conn, OK)
		return err == nil
	})
}

// Limited is Forgetful that says so in the last answer, and ends the connection after it.
func Limited(answers int) func(net.Conn) {
	return Requests(func(conn net.Conn, n int, _ *http.Request) bool {
		text := OK
		if n == answers {
			text = strings.Replace(OK, "keep-alive", "close", 1)
		}
		_, err := io.WriteString(conn, text)
		return err == nil && n < answers
	})
}
