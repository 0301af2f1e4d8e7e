package stream

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gobwas/ws"
	"golang.org/x/net/http/httpguts"
)

// handshakeTimeout bounds the write of the answer to a handshake.
const handshakeTimeout = 10 * time.Second

// handler serves connections of a kind. A refused client gets an HTTP status,
// before the upgrade: a client may not survive a connection that is closed as
// soon as it is open.
func (s *Server) handler(kind Kind) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		customer, valid, ok := s.config.Authenticate(r)
		if !ok {
			s.stats.unauthorized.Add(1)
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "Unauthorized", "the token is missing, wrong or expired")
			return
		}
		if !wantsWebSocket(r) {
			s.stats.badHandshake.Add(1)
			w.Header().Set("Upgrade", "websocket")
			w.Header().Set("Sec-WebSocket-Version", "13")
			refuse(w, http.StatusUpgradeRequired, "Unknown", "this address speaks WebSocket, version 13")
			return
		}
		if status := s.enter(customer); status != 0 {
			s.stats.refused.Add(1)
			refuse(w, status, "Unknown", "no further connection now")
			return
		}
		defer s.leave(customer)
		s.serve(w, r, newConn(s, customer, kind, valid))
	})
}

// serve upgrades the connection and returns when it has ended.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, c *conn) {
	if c.kind != Downstream {
		box := s.config.Outbox(c.customer)
		if box == nil {
			s.stats.refused.Add(1)
			refuse(w, http.StatusServiceUnavailable, "Unknown", "no connection here now")
			return
		}
		c.connect = func() source { return box.Connect() }
	}
	netConn, rw, _, err := ws.HTTPUpgrader{Timeout: handshakeTimeout}.Upgrade(r, w)
	if err != nil {
		s.stats.badHandshake.Add(1)
		if netConn != nil {
			_ = netConn.Close() // the handshake failed, which is the error that counts
		}
		return
	}
	already, _ := rw.Reader.Peek(rw.Reader.Buffered()) // without an error: they have arrived
	c.run(netConn, already)
}

// wantsWebSocket finds requests of other clients, before the connection is taken
// from the HTTP server; the upgrade checks the rest. That looks at one field of a
// name alone, so lists that hold the token get its plain form.
func wantsWebSocket(r *http.Request) bool {
	for name, token := range map[string]string{"Upgrade": "websocket", "Connection": "Upgrade"} {
		if httpguts.HeaderValuesContainsToken(r.Header[name], token) {
			r.Header.Set(name, token)
		}
	}
	return r.ProtoMajor == 1 && r.Header.Get("Upgrade") == "websocket"
}

// refuse answers in the form of the HTTP API's errors.
func refuse(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"detail": {"error_code": %q, "error_description": %q, "error_detail": null}}`+"\n",
		code, text) // a client that is gone does not read it
}
