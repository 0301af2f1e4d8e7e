package wiretest

import (
	"crypto/tls"
	"io"
	"net"
	"time"
)

// Hang reads and sends nothing until the client is gone.
func Hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// HalfClose ends the server's side of a connection, and reads on: a close with something unread would be a reset.
func HalfClose(conn net.Conn) {
	_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	Hang(conn)
}

// Reset resets a connection.
func Reset(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// Say sends parts, each followed by a pause, and hangs.
func Say(pause time.Duration, parts ...string) func(net.Conn) {
	return func(conn net.Conn) {
		for _, part := range parts {
			if _, err := io.WriteString(conn, part); err != nil {
				return
			}
			time.Sleep(pause)
		}
		Hang(conn)
	}
}

// Then sends text, and goes on when it is likely to have been read.
func Then(text string, next func(net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = io.WriteString(conn, text)
		time.Sleep(10 * time.Millisecond)
		next(conn)
	}
}

// burst is what Endless sends at full speed: a client that keeps it in a buffer that doubles allocates twice as much, and more
// than boundedMemory in two iterations.
const burst = 2 << 20

// Endless sends start, and more until the client is gone.
func Endless(start, more string) func(net.Conn) {
	rest := []byte(more)
	return func(conn net.Conn) {
		_, err := io.WriteString(conn, start)
		for sent := 0; err == nil; sent += len(rest) {
			if sent > burst {
				time.Sleep(5 * time.Millisecond)
			}
			_, err = conn.Write(rest)
		}
	}
}

// AfterRead serves connections from which something could be read.
func AfterRead(serve func(net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := conn.Read(make([]byte, 4096)); err == nil {
			serve(conn)
		}
	}
}

// Secured serves TLS with serve, and says when it returns that nothing more will come.
func Secured(serve func(net.Conn), protocols ...string) func(net.Conn) {
	config := TLS(protocols...)
	return func(conn net.Conn) {
		secure := tls.Server(conn, config)
		if secure.Handshake() == nil {
			serve(secure)
			_ = secure.CloseWrite()
		}
	}
}
