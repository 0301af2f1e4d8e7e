package grpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"

	"contend/errkind"
	"contend/protocol/wire"
)

const (
	// connectTimeout bounds one attempt to connect, handshakes included, for a
	// server that accepts and stays silent. The plan's timeout may be shorter.
	connectTimeout = 10 * time.Second
	// reconnectPause is the time between attempts to connect: short, so that a
	// restarted server is found at once, and constant, so that the number of errors
	// while it is away does not depend on how long it has been away.
	reconnectPause = 100 * time.Millisecond
	// The flow-control windows are fixed, which spares grpc-go's bandwidth
	// estimator: it pings the server again as soon as the last ping was answered,
	// with one VU per connection in every call. A stream's window also bounds
	// what a server can make us keep that sends more than was asked for.
	streamWindow     = 1 << 20
	connectionWindow = 16 << 20
	// maxHeaders bounds an answer's headers and trailers, in bytes.
	maxHeaders = 1 << 20
)

// A dialer opens channels to one server.
type dialer struct {
	hostPort string
	at       string // what is dialled in its place; "": nothing else
	security credentials.TransportCredentials
	tcp      net.Dialer
	traffic  *wire.Traffic                               // nil: it is not counted
	through  func(ctx context.Context) (net.Conn, error) // dials instead of tcp; nil: nothing does
	// maxMessage is the largest message of the server that is taken, in bytes.
	maxMessage int
}

func newDialer(a address, cfg Config) (dialer, error) {
	security, err := secured(a, cfg.TLS)
	if err != nil {
		return dialer{}, err
	}
	d := dialer{hostPort: a.hostPort, security: security, through: cfg.Dial, maxMessage: cmp.Or(cfg.MaxMessage, defaultMaxMessage)}
	if cfg.Connections.Sharing == wire.PerIteration {
		d.tcp.KeepAlive = -1 // four system calls for a connection that lives for one call
	}
	return d, nil
}

// dial opens a plain connection.
func (d *dialer) dial(ctx context.Context) (net.Conn, error) {
	open := d.through
	if open == nil {
		open = func(ctx context.Context) (net.Conn, error) {
			return d.tcp.DialContext(ctx, "tcp", cmp.Or(d.at, d.hostPort))
		}
	}
	conn, err := open(ctx)
	if err != nil {
		return nil, err
	}
	return d.traffic.Over(conn), nil
}

// open returns a connected link.
func (d dialer) open(ctx context.Context) (*channel, error) {
	l, err := d.new()
	if err != nil {
		return nil, err
	}
	if err := l.connect(ctx); err != nil {
		l.close()
		return nil, fmt.Errorf("connect to %s: %w", d.hostPort, err)
	}
	return l, nil
}

// new returns a channel that is not connected yet.
func (d dialer) new() (*channel, error) {
	l := &channel{}
	conn, err := grpc.NewClient("passthrough:///"+d.hostPort,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := d.dial(ctx)
			if err != nil {
				l.failed(err)
			}
			return conn, err
		}),
		grpc.WithTransportCredentials(&watched{TransportCredentials: d.security, link: l}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnectPause, Multiplier: 1, MaxDelay: reconnectPause},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithNoProxy(), // dial knows of it
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithDisableHealthCheck(),
		grpc.WithIdleTimeout(0),
		grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithStaticStreamWindowSize(streamWindow),
		grpc.WithStaticConnWindowSize(connectionWindow),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(d.maxMessage)),
	)
	l.conn = conn
	return l, err
}

// A channel is one connection to the server and what became of it. grpc-go
// reconnects it and tells callers only a text; the channel keeps the error itself.
type channel struct {
	conn *grpc.ClientConn
	// down is true from a failed attempt to connect to the next that succeeds.
	down atomic.Bool
	// refusal is why the last failed attempt to connect failed; nil for never.
	refusal atomic.Pointer[error]

	mu      sync.Mutex
	waiting *attempt
}

// An attempt is ended, with its cause, by the next failure to connect.
type attempt struct {
	ctx context.Context
	end context.CancelCauseFunc
}

func (l *channel) close() { l.conn.Close() }

// connect returns when the connection is ready or the first attempt failed.
func (l *channel) connect(ctx context.Context) error {
	l.conn.Connect()
	for {
		state := l.conn.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			return l.refused(errors.New("no connection"))
		}
		if !l.conn.WaitForStateChange(ctx, state) {
			return ended(ctx, ctx.Err())
		}
	}
}

// refused returns why the last attempt to connect failed, as a *errkind.Error.
func (l *channel) refused(fallback error) error {
	if err := l.refusal.Load(); err != nil {
		return &errkind.Error{Kind: errkind.Of(*err), Err: *err}
	}
	return &errkind.Error{Kind: errkind.Dial, Err: fallback}
}

// nextFailure returns the attempt that the next failure to connect will end.
func (l *channel) nextFailure() *attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		ctx, end := context.WithCancelCause(context.Background())
		l.waiting = &attempt{ctx: ctx, end: end}
	}
	return l.waiting
}

// failed notes that an attempt to connect failed.
func (l *channel) failed(err error) {
	l.refusal.Store(&err)
	l.down.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting != nil {
		l.waiting.end(err)
		l.waiting = nil
	}
}

// established notes that the server speaks HTTP/2.
func (l *channel) established() { l.down.Store(false) }
