package router

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"contend/systems/uplink/api"
)

const (
	// connsMost bounds the connections where files do not: an idle one takes some
	// 20 kB.
	connsMost = 10_000
	// spareConns is how many are accepted beyond all bounds, for operators.
	spareConns = 16
	// spareTime is how long the request and the answer of such a one may take.
	spareTime = 5 * time.Second
	// acceptAgain is how long after a failure connections are accepted again.
	acceptAgain = 100 * time.Millisecond
)

// Connections is how many connections of customers, streams included, may be open.
type Connections struct {
	// Max bounds them in all, PerAddress those of one IPv4 address or one IPv6 network of
	// 64 bits. Beyond them the one that has been idle for longest is closed; if none is
	// idle, only operators are answered. The zeros are in the words of the flags.
	Max         int           `flag:"max-conns" min:"0" words:"connections at a time; 0 means three quarters of the files that may be open, at most 10000"`
	PerAddress  int           `flag:"max-conns-per-address" min:"0" words:"connections of one IP address (IPv6: /64) at a time; 0 means half of all"`
	IdleTimeout time.Duration `flag:"idle-timeout" default:"2m" above:"0s" words:"how long a connection may wait for a request"`
}

// A listener is a net.Listener that knows which of its connections are idle, and
// closes those to make room. Where nothing is idle it lets some in for operators.
type listener struct {
	net.Listener
	log *slog.Logger

	mu         sync.Mutex
	all        pool
	spare      pool
	addresses  map[netip.Addr]*pool
	perAddress int
	counts     listenerCounts
}

type listenerCounts struct{ accepted, evicted, refused, failures int64 }

// A pool is a bounded number of connections.
type pool struct {
	open, most int
	idle       list.List // of *connection, those that wait for a request, the longest first
}

// A connection is one that a listener accepted.
type connection struct {
	*net.TCPConn
	listener *listener
	address  netip.Addr // of its pool
	places   []place    // none: it is closed
}

type place struct {
	pool *pool
	idle *list.Element // nil: it is busy
}

func newListener(from net.Listener, c Connections, log *slog.Logger) (*listener, error) {
	most := connsMost
	if files := maxFiles(); files > 0 {
		most = files * 3 / 4 // the others are for Redis, the database and the spare
		if c.Max > most {
			return nil, fmt.Errorf("max-conns is %d; expected 0 to %d, three quarters of the %d files that the process may open", c.Max, most, files)
		}
	}
	if c.Max == 0 {
		c.Max = min(most, connsMost)
	}
	if c.PerAddress == 0 {
		c.PerAddress = max(1, c.Max/2)
	}
	return &listener{Listener: from, log: log, all: pool{most: c.Max}, spare: pool{most: spareConns},
		addresses: map[netip.Addr]*pool{}, perAddress: c.PerAddress}, nil
}

// Accept returns the next connection that there is room for. Its error is that the
// listener is closed; others are survived.
func (l *listener) Accept() (net.Conn, error) {
	for failing := false; ; {
		conn, err := l.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err != nil:
			if !failing {
				l.log.Warn("connections cannot be accepted", "error", err)
			}
			failing = true
			l.failed(err)
		default:
			failing = false
			if c := l.admit(conn.(*net.TCPConn), conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()); c != nil {
				return c, nil
			}
		}
	}
}

// failed makes room where files ran out, or else waits.
func (l *listener) failed(err error) {
	l.mu.Lock()
	l.counts.failures++
	again := (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) && l.evict(&l.all)
	l.mu.Unlock()
	if !again {
		time.Sleep(acceptAgain)
	}
}

// admit takes a connection in, or closes it and returns nil.
func (l *listener) admit(tcp *net.TCPConn, from netip.Addr) *connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &connection{TCPConn: tcp, listener: l, address: network(from)}
	address := l.addresses[c.address]
	if address == nil {
		address = &pool{most: l.perAddress}
	}
	switch {
	case l.room(address) && l.room(&l.all):
		l.addresses[c.address] = address
		c.places = []place{{pool: &l.all}, {pool: address}}
	case l.room(&l.spare):
		c.places = []place{{pool: &l.spare}}
	default:
		l.counts.refused++
		_ = tcp.Close() // nothing was written
		return nil
	}
	for i := range c.places {
		c.places[i].pool.open++
	}
	c.setIdle(true)
	l.counts.accepted++
	return c
}

// network returns what connections are counted by: an IPv4 address, or an IPv6
// network of 64 bits, as one customer has all addresses in it.
func network(a netip.Addr) netip.Addr {
	if a = a.Unmap().WithZone(""); a.Is6() {
		prefix, _ := a.Prefix(64) // IPv6 addresses have one
		return prefix.Addr()
	}
	return a
}

// room makes room for one more in a pool, and reports whether there is.
func (l *listener) room(p *pool) bool { return p.open < p.most || l.evict(p) }

// evict closes the connection of a pool that has been idle for longest, if any is.
func (l *listener) evict(p *pool) bool {
	oldest := p.idle.Front()
	if oldest == nil {
		return false
	}
	c := oldest.Value.(*connection)
	c.leave()
	_ = c.TCPConn.Close() // nobody waits for an answer on it
	l.counts.evicted++
	return true
}

// changed is the ConnState of the HTTP server. A new connection is idle until its
// first request was read.
func (l *listener) changed(conn net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateIdle:
		conn.(*connection).setIdle(true)
	case http.StateActive, http.StateHijacked:
		conn.(*connection).setIdle(false)
	}
}

func (c *connection) setIdle(idle bool) {
	for i := range c.places {
		p := &c.places[i]
		switch {
		case idle && p.idle == nil:
			p.idle = p.pool.idle.PushBack(c)
		case !idle && p.idle != nil:
			p.pool.idle.Remove(p.idle)
			p.idle = nil
		}
	}
}

// leave gives up the places of a connection.
func (c *connection) leave() {
	c.setIdle(false)
	for _, p := range c.places {
		p.pool.open--
	}
	if address := c.listener.addresses[c.address]; address != nil && address.open == 0 {
		delete(c.listener.addresses, c.address)
	}
	c.places = nil
}

// Close closes the connection and makes room.
func (c *connection) Close() error {
	c.listener.mu.Lock()
	c.leave()
	c.listener.mu.Unlock()
	return c.TCPConn.Close()
}

// NetConn returns the TCP connection, as a tls.Conn does.
func (c *connection) NetConn() net.Conn { return c.TCPConn }

// spareKey is where the context of a request has whether its connection is a spare
// one.
type spareKey struct{}

// context is the ConnContext of the HTTP server.
func (l *listener) context(ctx context.Context, conn net.Conn) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	places := conn.(*connection).places
	return context.WithValue(ctx, spareKey{}, len(places) > 0 && places[0].pool == &l.spare)
}

// forOperators has spare connections serve one request of operators each.
func forOperators(all http.Handler, operators *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if spare, _ := r.Context().Value(spareKey{}).(bool); !spare {
			all.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close")
		limit := http.NewResponseController(w)
		_ = limit.SetReadDeadline(time.Now().Add(spareTime)) // a connection of net/http has both
		_ = limit.SetWriteDeadline(time.Now().Add(spareTime))
		api.LeaveBody(w, r)
		if handler, pattern := operators.Handler(r); pattern != "" {
			handler.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
	})
}

// forStrangers has nobody wait for the body of a request without a valid token: it is
// answered at its header, and its connection is closed.
func forStrangers(tokens *api.Tokens, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := tokens.Authenticate(r); !ok {
			api.LeaveBody(w, r)
		}
		next.ServeHTTP(w, r)
	})
}
