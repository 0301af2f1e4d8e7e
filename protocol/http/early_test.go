package http

import (
	"bufio"
	"bytes"
	"io"
	"net"
	nethttp "net/http"
	"testing"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire/wiretest"
)

// A server may answer before it has read the request, and read no more of it.
func TestBothEnginesReadAnEarlyAnswer(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(net.Conn){
		"closes": func(net.Conn) {},
		"drains": wiretest.HalfClose,
	} {
		t.Run(name, func(t *testing.T) {
			overBothEngines(t, func(t *testing.T, run runner) {
				url := "http://" + wiretest.Listen(t, func(conn net.Conn) {
					if _, err := nethttp.ReadRequest(bufio.NewReader(conn)); err == nil {
						_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
						after(conn)
					}
				})
				r := run(t, Config{URL: url, Method: "POST", Body: bytes.Repeat([]byte("x"), 16<<20)}, load.Plan{VUs: 1, Iterations: 3, Timeout: testenv.Patience})
				if r.Failed != 3 || r.Statuses[413] != 3 {
					t.Errorf("%d answers, errored %v %v", r.Failed, r.Errored, r.Examples)
				}
			})
		})
	}
}
