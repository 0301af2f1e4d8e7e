package cli

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHintsOfTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	const authority = "of an authority that is unknown here: --ca-file FILE trusts that, --insecure any"
	for _, tt := range []struct{ words, want string }{
		{"run -c 2 -n 20 http://" + address + "/a?b", "\n  the server speaks TLS there: try https://" + address + "/a?b\n"},
		{"run -c 2 -n 20 ws://" + address + "/", "\n  the server speaks TLS there: try wss://" + address + "/\n"},
		{"run -c 2 -n 20 grpc://" + address + "/a.B/C", "\n  the server speaks TLS there: try grpcs://" + address + "/a.B/C\n"},
		{"compare --rounds 1 --pairs 1 --block 50ms --warmup 0s http://" + address + "/ http://" + address + "/", "\n  the server speaks TLS there: try https://" + address + "/\n"},
		{"run -d 1h https://" + address + "/", authority},
		{"sweep -d 1h --http 2 https://" + address + "/", authority},
		{"run -d 1h wss://" + address + "/", authority},
		{"run -d 1h grpcs://" + address + "/a.B/C", authority},
	} {
		t.Run(tt.words, func(t *testing.T) {
			t.Parallel()
			var errs bytes.Buffer
			code := Main(t.Context(), strings.Fields(tt.words), Streams{io.Discard, &errs})
			if code != exitFailed || !strings.Contains(errs.String(), tt.want) {
				t.Errorf("exit code %d, want %d and %q: %s", code, exitFailed, tt.want, &errs)
			}
		})
	}
}
