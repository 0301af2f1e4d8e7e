// Package wiretest is what tests of network targets share: servers that they script byte by byte, and a kit of hostile
// servers that every protocol has to survive: [Protocol].
package wiretest

import (
	"net"
	"sync"
	"testing"

	"contend/internal/testenv"
)

// Listen serves each connection with serve, closes it afterwards, and waits for
// all of them at the test's end. serve is unblocked by then. It returns the
// address.
func Listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	t.Cleanup(Serve(l, serve))
	return l.Addr().String()
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
