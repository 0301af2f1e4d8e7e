package counter

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"contend/systems/web"
)

// Limits of the HTTP side. The contract has no bodies and short headers.
const (
	maxHeaderBytes = 8 << 10
	maxBodyBytes   = 4 << 10
	readTimeout    = 10 * time.Second
	writeTimeout   = 10 * time.Second
	idleTimeout    = 2 * time.Minute
)

// A httpSide is the HTTP side of the service.
type httpSide struct {
	server  *web.Server
	handler *handler
}

func newHTTPSide(ln net.Listener, p *phase, s *sharing, log *slog.Logger) (*httpSide, error) {
	h, err := newHandler(p, s, log)
	if err != nil {
		return nil, err
	}
	return &httpSide{handler: h, server: web.New(ln, &fasthttp.Server{
		Handler:                      h.serve,
		ErrorHandler:                 h.unreadable,
		ReadBufferSize:               maxHeaderBytes,
		MaxRequestBodySize:           maxBodyBytes,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		Logger:                       printfLogger{log},
	}, p.draining)}, nil
}

func (w *httpSide) serve() error { return w.server.Serve() }

// drain answers the requests in flight and refuses later ones: with 503 as
// long as there are requests in flight, then with a closed port.
func (w *httpSide) drain(ctx context.Context) error { return w.server.Drain(ctx) }

// close ends the guards. Callers that are inside get their answers.
func (w *httpSide) close() { w.handler.end() }

// A printfLogger passes fasthttp's complaints about single connections on.
type printfLogger struct{ log *slog.Logger }

func (l printfLogger) Printf(format string, args ...any) {
	l.log.Debug(fmt.Sprintf(format, args...))
}
