// Command subject is a server of HTTP for tests that answers late, wrongly, or not for long.
package main

import (
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
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:"+os.Getenv("PORT"), "address")
	sleep := flag.Duration("sleep", 0, "before each answer")
	computes := flag.Duration("burn", 0, "of a core before each answer")
	status := flag.Int("status", http.StatusOK, "of each answer")
	dies := flag.Int64("dies-after", 0, "end at this request")
	stubborn := flag.Bool("stubborn", false, "ignore SIGTERM")
	traced := flag.Bool("pprof", false, "with the pages of net/http/pprof")
	mute := flag.Bool("mute", false, "end each connection")
	flag.String("mode", "", "for the examples of the documentation")
	flag.Parse()
	if *stubborn {
		signal.Ignore(syscall.SIGTERM)
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
		if *traced && strings.HasPrefix(r.URL.Path, "/debug/pprof/") {
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

func compute(limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); {
	}
}
