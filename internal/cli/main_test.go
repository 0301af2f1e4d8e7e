package cli

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/why/pprof"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary plays contend, which starts itself again as a server, and
// subjects that misbehave.
func TestMain(m *testing.M) {
	probeLimit = 10 * time.Second // on a starved machine a look takes longer than one
	limitTakes = window
	os.Setenv("GORACE", goRace)
	os.Unsetenv("COLUMNS")                                                   // pages of tests are as wide as any
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} { // names that nobody knows stay unknown
		os.Unsetenv(name)
		os.Unsetenv(strings.ToLower(name))
	}
	flag.Set("test.parallel", "8") // these tests wait for processes more than they compute
	testscript.Main(m, map[string]func(){"contend": contend, "subject": subject, "burn": burn, "published": published, "refused": refused})
}

// goRace spares each process of a race build its second of sleep at the end.
const goRace = "atexit_sleep_ms=10"

// contend is cmd/contend.
func contend() {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore)
	os.Exit(Main(ctx, os.Args[1:], Streams{Out: os.Stdout, Err: os.Stderr}))
}

// burn keeps a core busy, at most for the given time.
func burn() {
	limit, err := time.ParseDuration(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	compute(limit)
}

func compute(limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); {
	}
}

// refused becomes a program to which seccomp(2) is refused.
func refused() {
	fmt.Fprintln(os.Stderr, testenv.Refused(seccompCall, os.Args[1:]))
	os.Exit(1)
}

// subject is a server of HTTP that answers late, wrongly, or not for long.
func subject() {
	f := flag.NewFlagSet("subject", flag.ExitOnError)
	listen := f.String("listen", "", "address")
	sleep := f.Duration("sleep", 0, "before each answer")
	computes := f.Duration("burn", 0, "of a core before each answer")
	status := f.Int("status", http.StatusOK, "of each answer")
	dies := f.Int64("dies-after", 0, "end at this request")
	stubborn := f.Bool("stubborn", false, "ignore SIGTERM")
	traced := f.Bool("pprof", false, "with the pages of net/http/pprof")
	mute := f.Bool("mute", false, "end each connection")
	f.String("mode", "", "for the examples of the documentation")
	f.Parse(os.Args[1:])
	if *stubborn {
		signal.Ignore(syscall.SIGTERM)
	}
	if *listen == "" {
		*listen = "127.0.0.1:" + os.Getenv("PORT")
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("http://" + l.Addr().String())
	for *mute {
		if c, err := l.Accept(); err == nil {
			c.Close()
		}
	}
	var requests atomic.Int64
	err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if *traced && strings.HasPrefix(r.URL.Path, pprof.DefaultPath) {
			http.DefaultServeMux.ServeHTTP(w, r)
			return
		}
		if n := requests.Add(1); n == *dies {
			fmt.Fprintln(os.Stderr, "out of luck")
			os.Exit(7)
		}
		time.Sleep(*sleep)
		compute(*computes)
		w.WriteHeader(*status)
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
