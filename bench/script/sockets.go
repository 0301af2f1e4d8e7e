package main

import (
	"errors"
	"net"
	"net/http"

	"github.com/gobwas/ws"

	"contend/websocket"
)

// sockets has a WebSocket that echoes, and does what some texts ask for. It chooses the first of the
// subprotocols that are offered, and sets a cookie.
func sockets(mux *http.ServeMux) {
	mux.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("refuse") != "" {
			w.WriteHeader(number(r.FormValue("refuse"), http.StatusForbidden))
			return
		}
		upgrade := ws.HTTPUpgrader{Header: http.Header{"Set-Cookie": {"socket=open; Path=/"}}, Protocol: func(string) bool { return true }}
		conn, buffered, _, err := upgrade.Upgrade(r, w)
		if err != nil {
			return // it has been answered
		}
		defer conn.Close()
		already, _ := buffered.Peek(buffered.Reader.Buffered())
		reader := websocket.NewReader(conn, already, websocket.Config{Server: true, MaxMessage: 1 << 20, Buffer: 4 << 10})
		for {
			m, err := reader.Next()
			if err != nil {
				return
			}
			if m == nil {
				if _, err := reader.Fill(); err != nil {
					return
				}
				continue
			}
			if err := echo(conn, m); err != nil {
				return
			}
		}
	})
}

var errSaidGoodbye = errors.New("the connection has come to its end")

// echo answers a message; the error is the end of the connection.
func echo(conn net.Conn, m *websocket.Message) error {
	send := func(op ws.OpCode, data string) error {
		_, err := conn.Write(websocket.EndFrame(append(websocket.BeginFrame(nil), data...), 0, op))
		return err
	}
	switch text := string(m.Data); {
	case m.Op == ws.OpPing:
		return send(ws.OpPong, text)
	case m.Op == ws.OpPong:
		return send(ws.OpText, "ponged "+text)
	case m.Op == ws.OpClose:
		return errors.Join(send(ws.OpClose, text), errSaidGoodbye)
	case text == "ping me":
		return send(ws.OpPing, "p")
	case text == "say goodbye":
		return send(ws.OpClose, "\x0f\xa1enough")
	case text == "break off":
		return errSaidGoodbye
	default:
		return send(m.Op, text)
	}
}
