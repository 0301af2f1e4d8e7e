package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // names what the servers wait for
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"contend/why/gotrace"
)

// A cause is what a planted server does beyond its baseline.
type cause struct {
	name string
	// kinds are the names of rows, kinds of work or functions, that say it.
	kinds []string
	// prepare returns what every one of so many requests does more.
	every   int64
	prepare func() (extra func(n int64), err error)
	// around does the request's own work in another way; nil: as the baseline does.
	around func(work func())
	// conn changes connections, whose answers come in two parts; nil: it does not, and
	// they come in one.
	conn func(net.Conn)
}

// servePlanted serves baseline requests: about 40 µs of arithmetic and a small JSON
// document, and what the cause adds to them.
func servePlanted(name, address string) error {
	var c cause
	if name != none {
		i := indexOf(name)
		if i < 0 {
			return fmt.Errorf("there is no cause %q", name)
		}
		c = causes[i]
	}
	extra := func(int64) {}
	if c.prepare != nil {
		prepared, err := c.prepare()
		if err != nil {
			return err
		}
		extra = prepared
	}
	var requests atomic.Int64
	http.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		n := requests.Add(1)
		var answer uint64
		work := func() { answer = iterate(baseWork) }
		if c.around != nil {
			c.around(work)
		} else {
			work()
		}
		if n%max(1, c.every) == 0 {
			extra(n)
		}
		w.Header().Set("Content-Type", "application/json")
		if c.conn != nil {
			_, _ = w.Write([]byte(" "))
			w.(http.Flusher).Flush()
		}
		fmt.Fprintf(w, `{"answer":%d}`, answer&0xff|0x100)
	})
	var server http.Server
	if c.conn != nil {
		server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context { c.conn(conn); return ctx }
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return server.Serve(listener)
}

// baseWork is about 40 µs of a present core.
const baseWork = 20_000

//go:noinline
func iterate(n int) uint64 {
	x := uint64(88172645463325252)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

type order struct {
	ID    int64             `json:"id"`
	Name  string            `json:"name"`
	Price float64           `json:"price"`
	Tags  map[string]string `json:"tags"`
}

var (
	contended sync.Mutex
	sink      atomic.Pointer[[]byte]
)

// waiting is the cause if the candidate waits, and neither its goroutines nor system calls show what for.
const waiting = "waiting"

// causes are the twelve, each worth 5 to 15 % of a request where it can be.
var causes = []cause{
	{name: "hashing", every: 1, kinds: []string{"hashing"}, prepare: func() (func(int64), error) {
		page := make([]byte, 8<<10)
		return func(int64) { _ = sha256.Sum256(page) }, nil
	}},
	{name: "allocation", every: 1, kinds: []string{"allocation", "garbage collection"}, prepare: func() (func(int64), error) {
		return func(int64) {
			for range 8 {
				page := make([]byte, 1<<10)
				sink.Store(&page)
			}
		}, nil
	}},
	{name: "lock", kinds: []string{string(gotrace.Lock)}, around: func(work func()) {
		contended.Lock()
		defer contended.Unlock()
		work()
		time.Sleep(20 * time.Microsecond) // as for an answer that is waited for with the lock held
	}},
	{name: "channel", every: 1, kinds: []string{"scheduler", "channels", string(gotrace.Send), string(gotrace.Receive)}, prepare: func() (func(int64), error) {
		type call struct{ done chan struct{} }
		calls := make(chan call)
		go func() {
			for c := range calls {
				c.done <- struct{}{}
			}
		}()
		return func(int64) {
			for range 4 {
				c := call{make(chan struct{})}
				calls <- c
				<-c.done
			}
		}, nil
	}},
	{name: "json", every: 1, kinds: []string{"JSON"}, prepare: func() (func(int64), error) {
		o := order{1, "some name of a thing", 12.5, map[string]string{"a": "b", "colour": "blue"}}
		return func(n int64) { o := o; o.ID = n; _, _ = json.Marshal(o) }, nil
	}},
	{name: "fsync", every: 50, kinds: []string{"fsync", "system call fsync", string(gotrace.SystemCall)}, prepare: func() (func(int64), error) {
		f, err := os.CreateTemp("", "planted")
		if err != nil {
			return nil, err
		}
		_ = os.Remove(f.Name())
		return func(n int64) { _, _ = f.WriteAt([]byte{byte(n)}, 0); _ = f.Sync() }, nil
	}},
	{name: "sleep", every: 4, kinds: []string{string(gotrace.Sleep)}, prepare: func() (func(int64), error) {
		return func(int64) { time.Sleep(200 * time.Microsecond) }, nil
	}},
	{name: "gc", every: 1, kinds: []string{"garbage collection"}, prepare: func() (func(int64), error) {
		kept := make([]map[int]*order, 200) // pointers to be followed in every cycle
		for i := range kept {
			kept[i] = map[int]*order{}
			for k := range 200 {
				kept[i][k] = &order{ID: int64(k)}
			}
		}
		debug.SetGCPercent(10)
		return func(n int64) { runtime.KeepAlive(kept) }, nil
	}},
	{name: "nagle", every: 1, kinds: []string{waiting}, conn: func(c net.Conn) {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetNoDelay(false)
		}
	}},
	{name: "log", every: 1, kinds: []string{"logging"}, prepare: func() (func(int64), error) {
		logger := log.New(io.Writer(os.Stderr), "", log.LstdFlags)
		return func(n int64) { logger.Printf("request %d was answered", n) }, nil
	}},
	{name: "pool", every: 1, kinds: []string{string(gotrace.Send)}, prepare: func() (func(int64), error) {
		pool := make(chan struct{}, 2)
		return func(int64) {
			pool <- struct{}{}
			time.Sleep(50 * time.Microsecond)
			<-pool
		}, nil
	}},
	{name: "gomaxprocs", every: 1, kinds: []string{string(gotrace.Processor)}, prepare: func() (func(int64), error) {
		runtime.GOMAXPROCS(1)
		return func(int64) {}, nil
	}},
}

func indexOf(name string) int {
	for i, c := range causes {
		if c.name == name {
			return i
		}
	}
	return -1
}
