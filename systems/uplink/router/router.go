// Package router passes the uplinks of gateways on to the customers whose
// devices sent them, and downlinks the other way.
//
// An uplink comes from the intake, is dropped if it is a copy, is looked up in
// the routing table and put into the outbox of each customer that may own its
// device. If another instance has the customer's connections, or there are none, it
// waits in the customer's own stream. Its entry in the intake is acknowledged when all
// customers are done with it.
package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"contend/systems/uplink/api"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/stream"
	"contend/systems/uplink/table"
)

// A Config says what a router works with. Every field whose comment does not say what
// zero means must be set, except Dedup and Trust.
type Config struct {
	Redis  *queue.Redis
	Table  *table.Table
	Tokens *api.Tokens
	// Listener is where customers connect to, over TCP.
	Listener    net.Listener
	Connections Connections
	// Instance is the name of this router among those on one Redis.
	Instance string `flag:"instance" words:"*name* among several routers, kept over a restart; none: host and port"`
	// Partitions of the intake, if it has none yet; 0: the queue's default.
	Partitions int `flag:"partitions" min:"0" max:"1024" words:"*number* of streams of the intake, where Redis has none yet (default 8)"`
	// Linger is the least time between two reads of the intake under load.
	Linger time.Duration `flag:"linger" default:"300us" min:"0s" max:"1s" words:"least *time* between two reads under load: less is sooner, and costs CPU"`
	// Lease is how soon others take over from this instance when it is dead; 0: the queue's default.
	Lease time.Duration
	// Held is how many messages of one customer are held in memory, of all customers
	// four times as many, and Backlog how many may wait in Redis; 0: 50 000, and the
	// queue's default.
	Held, Backlog int
	// Hold is how long what a customer did not answer stays here after its last connection, to be sent again by the same
	// transaction; 0: 60 s. Clients wait for up to 30 s before they connect again.
	Hold  time.Duration
	Dedup Dedup
	// Trust is how challenges change; its Initial is ignored.
	Trust outbox.TrustConfig
	// DrainTimeout is how long customers may take, at the end, to answer what they
	// were sent, and a database that is away to come back.
	DrainTimeout time.Duration `flag:"drain-timeout" default:"10s" above:"0s" words:"how long, when stopping, customers may take to answer, and a database that is away to come back"`
	Log          *slog.Logger
}

// A Router serves from New until Serve returns.
type Router struct {
	config    Config
	intake    *queue.Intake
	dedup     *deduper
	clocks    *clocks
	passing   sync.Mutex // frames whose copies were awaited
	downlinks *downlinks
	// lastResult is the newest result of a downlink, by its place in Redis, from before this router began to read them.
	lastResult string
	streams    *stream.Server
	listener   *listener
	http       *http.Server
	fates      [fateCount]atomic.Int64 // uplinks, by what became of them
	ready      atomic.Bool
	backends   reachability // of Redis and the database
	metrics    *metrics
	// working ends when nothing may be handed on any more, after the drain.
	working  context.Context
	stop     context.CancelFunc
	chores   *chores
	outboxes outbox.Room // what those of all customers hold together
	secret   outbox.Secret
	// receivers read the streams of customers.
	receivers sync.WaitGroup

	mu        sync.Mutex
	customers map[string]*customer
}

// New prepares a router. It reads nothing before Serve.
func New(ctx context.Context, c Config) (*Router, error) {
	c.Held, c.Hold = cmp.Or(c.Held, defaultHeld), cmp.Or(c.Hold, time.Minute)
	r := &Router{config: c, dedup: newDeduper(c.Dedup), clocks: newClocks(c.Log), downlinks: newDownlinks(), customers: map[string]*customer{}}
	r.chores = newChores(c.Table, r.trust, c.Log)
	r.working, r.stop = context.WithCancel(context.Background())
	var err error
	if r.listener, err = newListener(c.Listener, c.Connections, c.Log); err != nil {
		return nil, fmt.Errorf("router: %w", err)
	}
	r.intake, err = queue.NewIntake(ctx, c.Redis, queue.IntakeConfig{Instance: c.Instance, Partitions: c.Partitions,
		Linger: c.Linger, Lease: c.Lease, InFlight: mostInFlight * c.Held, Backlog: c.Backlog, AckRead: c.Redis.Embedded(),
		Alone: !c.Table.Shared(), NearlyFull: r.relieve, HandOver: r.handOver, Forwarded: r.settled})
	if errors.Is(err, queue.ErrAlone) {
		err = fmt.Errorf("%w; SQLite is for one router, several need PostgreSQL", err)
	}
	if err == nil { // before anything can be sent
		r.lastResult, err = c.Redis.LastResult(ctx)
	}
	if err == nil {
		r.secret, err = c.Redis.Secret(ctx)
	}
	if err != nil {
		if r.intake != nil {
			err = errors.Join(err, r.intake.Close(ctx))
		}
		return nil, fmt.Errorf("router: %w", err)
	}
	r.streams = stream.New(stream.Config{
		Authenticate: c.Tokens.Admit,
		Outbox:       func(name string) *outbox.Outbox { return r.customer(name).box },
		Downlink: func(ctx context.Context, customer string, d *message.Downstream, reply stream.Replier) {
			r.downlink(ctx, customer, d, reply)
		},
		Opened: r.opened,
		Closed: r.closed,
		// Shorter than the deadline of an answer: what is stuck at a stalled socket is
		// delivered on another one instead of counting as unanswered.
		WriteTimeout: 50 * time.Second,
		Log:          c.Log,
	})
	r.metrics = newMetrics(r)
	r.http = &http.Server{Handler: r.handler(), ConnState: r.listener.changed, ConnContext: r.listener.context,
		// The API replaces the limits of a body and an answer by its own, and streams have none.
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute,
		IdleTimeout: c.Connections.IdleTimeout, MaxHeaderBytes: api.MaxHeaderBytes,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn)}
	return r, nil
}

// Serve works until ctx is done; then it reads no more, lets customers answer
// what they were sent, closes their connections, and writes what the database does not
// know yet.
func (r *Router) Serve(ctx context.Context) error {
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	errs := make(chan error, 5) // one of each
	var group sync.WaitGroup
	run := func(what string, f func() error) {
		group.Go(func() {
			if err := f(); err != nil && r.working.Err() == nil {
				errs <- fmt.Errorf("router: %s: %w", what, err)
				stopReading()
			}
		})
	}
	run("http", func() error { return ignoreClosed(r.http.Serve(r.listener)) })
	read := make(chan struct{})
	run("intake", func() error {
		defer close(read)
		return r.intake.Run(reading, r.handle)
	})
	run("downlinks", func() error { r.config.Redis.Results(r.working, r.lastResult, r.heardBack); return nil })
	run("chores", func() error { r.chores.run(r.working); return nil })
	if r.config.Dedup.Collect > 0 {
		run("copies", func() error { return r.collect(r.working) })
	}
	r.ready.Store(true)
	r.logReady()
	<-reading.Done()
	r.ready.Store(false)
	deadline := time.Now().Add(r.config.DrainTimeout)
	r.close(read, deadline)
	group.Wait()
	r.chores.finish(deadline)
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

func (r *Router) logReady() {
	attributes := []any{"http", r.config.Listener.Addr().String(), "instance", r.config.Instance}
	if r.config.Redis.Embedded() {
		attributes = append(attributes, "redis", r.config.Redis.URL()) // another may have a password in it
	}
	r.config.Log.Info("router is ready", attributes...)
}

// close drains the outboxes, as soon as nothing more is read, then ends everything.
func (r *Router) close(read <-chan struct{}, deadline time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	select {
	case <-read:
	case <-ctx.Done():
	}
	var group sync.WaitGroup
	var left atomic.Int64
	for _, c := range r.all() {
		group.Go(func() { left.Add(int64(c.box.Drain(ctx))) })
	}
	group.Wait()
	if n := left.Load(); n > 0 {
		r.config.Log.Warn("stopped with messages that nobody answered; they stay in Redis", "messages", n)
	}
	r.hangUp()
	r.stop()
	closing, cancel := context.WithTimeout(context.Background(), closingTime)
	defer cancel()
	received := make(chan struct{})
	go func() {
		defer close(received)
		r.receivers.Wait()
	}()
	for _, ended := range []<-chan struct{}{read, received} {
		select {
		case <-ended:
		case <-closing.Done(): // without Redis both wait for the intake to be closed
		}
	}
	if err := r.intake.Close(closing); err != nil {
		r.config.Log.Warn("the intake was left in disorder; others take over what is in flight", "error", err)
	}
	<-received
	for _, c := range r.all() {
		c.box.Close()
	}
}

// closingTime bounds closing the connections, and separately returning unfinished entries to Redis.
const closingTime = 5 * time.Second

// hangUp closes all connections, when other instances can know that it does. A client that does not answer takes all of its
// time, and so does a Redis that is away.
func (r *Router) hangUp() {
	closing, cancel := context.WithTimeout(context.Background(), closingTime)
	defer cancel()
	r.intake.ReleaseAll(closing)
	r.streams.Shutdown(closing)
	r.http.Shutdown(closing)
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// handler mounts what customers and operators call.
func (r *Router) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/", api.New(api.Config{Table: r.config.Table, Tokens: r.config.Tokens, Log: r.config.Log, Called: r.metrics.called}))
	for _, base := range []string{"/api/v1", "/api/v1.0"} {
		for _, slash := range []string{"", "/{$}"} {
			mux.Handle("GET "+base+"/stream/upstream"+slash, r.streams.Upstream())
			mux.Handle("GET "+base+"/stream/downstream"+slash, r.streams.Downstream())
		}
	}
	operators := http.NewServeMux()
	operators.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	operators.HandleFunc("GET /ready", r.answerReady)
	operators.Handle("GET /metrics", r.metrics)
	mux.Handle("/", operators)
	return forOperators(forStrangers(r.config.Tokens, mux), operators)
}
