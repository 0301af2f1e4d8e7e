package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

const (
	// lookEvery is the time between two probes.
	lookEvery = 200 * time.Millisecond
	// pooled is how many connections a process may have. As many operations wait
	// for Redis only.
	pooled = 128
	// pipelined is how many commands may be on their way on one connection: the
	// ring of rueidis has room for 1024.
	pipelined = 1024
	// gathering is how long a pipeline waits after a write for further commands, if it
	// has more than one caller; its value is from the pull request that brought
	// rueidis the option (158). With 100 µs eight callers were a quarter slower here.
	gathering = 20 * time.Microsecond
	// smallBuffer is enough for the commands of one increment. rueidis takes 0.5 MiB
	// by default, and as much again for reading.
	smallBuffer = 4 << 10
	bigBuffer   = 64 << 10
	// smallRing has 2^4 places: connections of the pool carry one command at a time.
	smallRing = 4
	// sentinelEvery is how often sentinels are asked for the master; a lost message
	// about a new one would otherwise never be made up for.
	sentinelEvery = 5 * time.Second
	maxRedirects  = 16
)

// connections is how many operations may be under way.
func (p plan) connections() int {
	if p.pipelining {
		return pipelined
	}
	return pooled
}

// A connector is the way to Redis. It connects in the background, and looks every now
// and then whether Redis answers.
type connector struct {
	option   rueidis.ClientOption
	timeout  time.Duration
	key      string
	log      *slog.Logger
	oneByOne bool // no connection carries two commands at a time
	listens  bool // sentinels send messages that answer nothing
	begun    time.Time

	client     atomic.Pointer[rueidis.Client]
	state      atomic.Pointer[outage]
	closed     atomic.Bool
	roundTrips atomic.Uint64
	doubt      atomic.Int64 // connections older than this are not used again; after begun

	first, stop, ended chan struct{}
}

var errNoAnswerYet = errors.New("no answer yet")

// An outage is why Redis is away.
type outage struct{ err error }

func newLink(cfg Config, p plan, key string) *connector {
	opt := cfg.Server.Options()
	l := &connector{
		timeout: cfg.Timeout, key: key, log: cfg.Log,
		oneByOne: !p.pipelining, listens: opt.Sentinel.MasterSet != "", begun: time.Now(),
		first: make(chan struct{}), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	l.state.Store(&outage{errNoAnswerYet})
	opt.DisableRetry = true
	opt.ClusterOption.MaxMovedRedirections = maxRedirects
	opt.ForceSingleClient = cfg.Server.Embedded()
	opt.Dialer.Timeout = min(opt.Dialer.Timeout, cfg.Timeout)
	opt.ConnWriteTimeout = cfg.Timeout
	opt.Sentinel.Dialer = opt.Dialer
	opt.Sentinel.Dialer.KeepAlive = cfg.Timeout
	opt.Sentinel.TopologyRefreshInterval = sentinelEvery
	if p.pipelining {
		opt.PipelineMultiplex = -1 // one connection, for the longest pipelines
		opt.MaxFlushDelay = gathering
		opt.ReadBufferEachConn, opt.WriteBufferEachConn = bigBuffer, bigBuffer
		opt.Dialer.KeepAlive = cfg.Timeout // rueidis sends PINGs when nothing comes
	} else {
		pool(&opt)
	}
	if p.dedicating && !cfg.Server.Embedded() {
		opt.AlwaysRESP2 = false // with RESP2 rueidis opens a second connection for each
	}
	l.option = opt
	return l
}

// pool has each command take a connection for itself.
func pool(opt *rueidis.ClientOption) {
	opt.DisableAutoPipelining = true
	opt.BlockingPoolSize = pooled + 1 // a probe
	opt.ReadBufferEachConn, opt.WriteBufferEachConn = smallBuffer, smallBuffer
	opt.RingScaleEachConn = smallRing
	opt.Dialer.KeepAlive = -1 // none: every command has its deadline
}

// start waits for the first answer, but not for longer than the timeout.
func (l *connector) start() {
	go l.watch()
	patience := time.NewTimer(l.timeout)
	defer patience.Stop()
	select {
	case <-l.first:
	case <-patience.C:
	}
}

func (l *connector) close() {
	close(l.stop)
	<-l.ended
	l.closed.Store(true)
	if client := l.client.Load(); client != nil {
		(*client).Close()
	}
}

// connected returns the client, or why it is not connected yet.
func (l *connector) connected() (rueidis.Client, error) {
	if client := l.client.Load(); client != nil {
		return *client, nil
	}
	return nil, unavailable(l.state.Load().err)
}

func (l *connector) ready() error {
	if out := l.state.Load(); out != nil {
		return unavailable(out.err)
	}
	return nil
}

func (l *connector) watch() {
	defer close(l.ended)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	l.note(l.look())
	close(l.first)
	for {
		select {
		case <-ticker.C:
			l.note(l.look())
		case <-l.stop:
			return
		}
	}
}

// look connects if need be, and asks for the counter's key, so that in a cluster the
// node that has it answers.
func (l *connector) look() error {
	if l.client.Load() == nil {
		client, err := l.newClient()
		if err != nil {
			return plain(err)
		}
		l.client.Store(&client)
	}
	client := *l.client.Load()
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
	defer cancel()
	for {
		err := client.Do(ctx, client.B().Exists().Key(l.key).Build()).Error()
		if !isStale(err) {
			return plain(err)
		}
	}
}

// newClient connects. A client of rueidis that could not, or is closed, may still
// refresh its view of a cluster a little later; it must not connect any more.
func (l *connector) newClient() (rueidis.Client, error) {
	var failed atomic.Bool
	opt := l.option
	opt.DialCtxFn = func(ctx context.Context, addr string, dialer *net.Dialer, secure *tls.Config) (net.Conn, error) {
		if failed.Load() || l.closed.Load() {
			return nil, &unsent{cause: net.ErrClosed}
		}
		return l.dial(ctx, addr, dialer, secure)
	}
	client, err := rueidis.NewClient(opt)
	failed.Store(err != nil)
	return client, err
}

// plain is the cause of an error, if it is one of a connection.
func plain(err error) error {
	if u, ok := errors.AsType[*unsent](err); ok {
		return u.cause
	}
	return err
}

// note remembers how Redis answered, and logs what is new.
func (l *connector) note(err error) {
	before := l.state.Load()
	isNew := before == nil || before.err == errNoAnswerYet
	switch {
	case err != nil:
		l.state.Store(&outage{err})
		l.distrust()
		if isNew {
			l.log.Warn("redis is away", "error", err)
		}
	case before != nil:
		l.state.Store(nil)
		if !isNew {
			l.log.Info("redis answers again")
		}
	}
}

// distrust has all connections replaced: one did not answer, and those that were
// made before may be as dead.
func (l *connector) distrust() { l.doubt.Store(int64(time.Since(l.begun))) }
