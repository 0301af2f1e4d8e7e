// Package wiretest holds what tests of network targets share: servers that they script
// byte by byte, and the errors that they expect.
package wiretest

import (
	"io"
	"net"
	"sync"
	"testing"

	"golang.org/x/net/http2"
)

// Listen serves each connection with serve, closes it afterwards, and waits for
// all of them at the test's end. serve is unblocked by then. It returns the
// address.
func Listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(Serve(l, serve))
	return l.Addr().String()
}

// Streams serves a connection of HTTP/2: it does something about each request, and answers nothing else.
func Streams(about func(f *http2.Framer, conn net.Conn, stream uint32)) (serve func(net.Conn)) {
	return func(conn net.Conn) {
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := http2.NewFramer(conn, conn)
		_ = f.WriteSettings()
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if headers, ok := frame.(*http2.HeadersFrame); ok {
				about(f, conn, headers.StreamID)
			}
		}
	}
}

// Serve is Listen on a listener that is given; stop ends it.
func Serve(l net.Listener, serve func(net.Conn)) (stop func()) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		conns []net.Conn
	)
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			wg.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	return func() {
		l.Close()
		mu.Lock()
		for _, conn := range conns {
			conn.Close()
		}
		mu.Unlock()
		wg.Wait()
	}
}
