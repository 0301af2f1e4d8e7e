package counter

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What does not fit is one of the provocations.
func TestHTTPLimits(t *testing.T) {
	s := start(t, httpOnly())
	tests := []struct {
		name, raw string
		want      int
	}{
		{"header that fits", rest + "X: " + strings.Repeat("x", maxHeaderBytes/2) + "\r\n\r\n", 200},
		{"body that fits", rest + fmt.Sprintf("Content-Length: %d\r\n\r\n", maxBodyBytes) +
			strings.Repeat("x", maxBodyBytes), 200},
		{"not HTTP", "\r\n\r\n", 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := (provocation{raw: tt.raw}).ask(t, s, answer{method: "GET", path: pathAtomic}); got.code != tt.want || !ok {
				t.Errorf("status %d, want %d", got.code, tt.want)
			}
		})
	}
}

func withReadTimeout(d time.Duration) func(*Server) {
	return func(s *Server) {
		server := s.sides[0].(*httpSide).server
		server.ReadTimeout, server.IdleTimeout = d, d
	}
}

func TestSilentConnectionIsClosedWithoutAWord(t *testing.T) {
	s := start(t, httpOnly(), withReadTimeout(50*time.Millisecond))
	c := dial(t, s.httpAddr())
	if n, err := c.Read(make([]byte, 1)); n != 0 || !isEnd(err) {
		t.Errorf("read %d bytes, %v; want a closed connection", n, err)
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	s := start(t, httpOnly(), func(s *Server) { s.sides[0].(*httpSide).server.IdleTimeout = 50 * time.Millisecond })
	c := dial(t, s.httpAddr())
	if _, err := c.Write([]byte("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if b, err := br.Peek(1); !isEnd(err) {
		t.Errorf("read %q, %v from an idle connection; want its end", b, err)
	}
}

func TestServerLimitsAreSet(t *testing.T) {
	s := start(t, httpOnly())
	server := s.sides[0].(*httpSide).server
	for name, d := range map[string]time.Duration{
		"read": server.ReadTimeout, "write": server.WriteTimeout, "idle": server.IdleTimeout,
	} {
		if d <= 0 {
			t.Errorf("no %s timeout", name)
		}
	}
}
