package router

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
	"contend/pace"
	"contend/systems/uplink/gen"
	"contend/systems/uplink/message"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/sink"
	"contend/systems/uplink/table/tabletest"
)

// Every uplink must arrive at least once, whatever fails on its way.
const (
	many   = 1_000
	perSec = 2000
)

// generate sends the uplinks of a demo device, at a rate, and the end marker. Faults
// interrupt the load, one after the other: a part of it is on its way before each,
// another is sent during it, and the rest waits until the fault has passed.
func generate(t *testing.T, redis *queue.Redis, c gen.Config, faults ...func()) *gen.Result {
	t.Helper()
	producer, err := queue.NewProducer(t.Context(), redis, queue.ProducerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Mode == 0 {
		c.Mode, c.N, c.Pacer = gen.Rate, many, pace.Constant(perSec)
	}
	turn := make(chan struct{}) // a fault is due, or must have passed
	sent, turns, parts := int64(0), int64(0), 2*int64(len(faults))+1
	c.Seed, c.Add = 1, func(ctx context.Context, uplinks []*message.Uplink) error {
		for ; turns < parts-1 && sent >= (turns+1)*c.N/parts; turns++ {
			select {
			case turn <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		sent += int64(len(uplinks))
		return producer.Add(ctx, uplinks)
	}
	done := make(chan *gen.Result, 1)
	go func() {
		result, err := gen.Run(t.Context(), c)
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	await := func() {
		select {
		case <-turn:
		case <-done:
			t.Fatal("all was sent before the faults were over")
		}
	}
	for _, fault := range faults {
		await()
		fault()
		await()
	}
	return <-done
}

// receive runs a sink until all has arrived, or nothing has come for long.
func receive(t testing.TB, address, token string, alter func(*sink.Config)) <-chan *sink.Result {
	c := sink.Config{URL: "ws://" + address + "/api/v1/stream/upstream/", Token: token, Seed: 1, Expect: many,
		FirstRetry: 100 * time.Millisecond, Idle: 2 * time.Minute} // more than all pauses between connections, 65 s
	if alter != nil {
		alter(&c)
	}
	done := make(chan *sink.Result, 1)
	go func() {
		result, err := sink.Run(t.Context(), c)
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	return done
}

// wantAll fails if an uplink is missing, or came for the first time after a later one of its device, and then says what the routers counted.
func wantAll(t *testing.T, r *sink.Result, routers ...*process) {
	t.Helper()
	if r != nil && r.Distinct == many && r.Lost == 0 && r.Unsolved == 0 && r.Reordered == 0 {
		return
	}
	t.Error(account(r))
	for _, p := range routers {
		t.Log(p.metrics())
	}
}

func account(r *sink.Result) string {
	if r == nil {
		return "nothing arrived"
	}
	return fmt.Sprintf("%d of %d arrived, %d out of order, %d duplicated, %d unsolved, %d lost; %d connections, %s", r.Distinct, r.Load.Planned, r.Reordered, r.Duplicated,
		r.Unsolved, r.Lost, r.Connections, r.LastError)
}

// Every uplink arrives, also while the router is killed and Redis restarted.
func TestFaults(t *testing.T) {
	t.Parallel()
	kill := func(p *process) {
		p.until("it forwards", func() bool { return strings.Contains(p.metrics(), "contend_router_messages_sent_total") })
		p.kill()
		p.start()
	}
	restart := func(servers ...*redistest.Server) func(*process) {
		return func(*process) {
			for _, s := range servers {
				s.Kill()
			}
			time.Sleep(500 * time.Millisecond)
			for _, s := range servers {
				s.Restart()
			}
		}
	}
	for name, tt := range map[string]struct {
		away bool // nobody is connected, so that uplinks are on their way from one of Redis' streams to another
		with func(t *testing.T) (url string, faults []func(*process))
	}{
		"the router is killed": {false, func(t *testing.T) (string, []func(*process)) {
			return redistest.Start(t).URL(), []func(*process){kill, kill}
		}},
		"Redis is restarted": {false, func(t *testing.T) (string, []func(*process)) {
			redis := redistest.Start(t)
			return redis.URL(), []func(*process){restart(redis)}
		}},
		"Redis is restarted while uplinks wait": {true, func(t *testing.T) (string, []func(*process)) {
			redis := redistest.Start(t)
			return redis.URL(), []func(*process){restart(redis), restart(redis)}
		}},
		"a replica is promoted, the router killed, and all of a cluster restarted": {false, func(t *testing.T) (string, []func(*process)) {
			c := redistest.StartCluster(t, 3, true)
			return c.URL(), []func(*process){func(*process) { c.Replicas[1].Promote() }, kill, restart(slices.Concat(c.Masters, c.Replicas)...)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, faults := tt.with(t)
			p := launch(t, url, sqlite(t), "one")
			p.insert(acme, 0)
			var done <-chan *sink.Result
			if !tt.away {
				done = receive(t, p.address, acme, nil)
			}
			var happen []func()
			for _, fault := range faults {
				happen = append(happen, func() { fault(p) })
			}
			generate(t, openRedis(t, url), gen.Config{}, happen...)
			if tt.away {
				done = receive(t, p.address, acme, nil)
			}
			wantAll(t, <-done, p)
		})
	}
}

func TestSinkIsCutOff(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	p := launch(t, redis.URL(), sqlite(t), "one")
	p.insert(acme, 0)
	const cuts = 2 // the sink waits 5 s after the second
	var now atomic.Pointer[conn]
	done := receive(t, p.address, acme, func(c *sink.Config) {
		c.Dial = func(ctx context.Context, _, address string) (net.Conn, error) { return dialTo(ctx, address, &now) }
	})
	cut := func() {
		var busy *conn
		p.until("uplinks arrive over a connection", func() bool {
			busy = now.Load()
			return busy != nil && busy.received.Load() > 2<<10 // more than the handshake
		})
		now.Store(nil)
		busy.Close()
	}
	generate(t, openRedis(t, redis.URL()), gen.Config{}, slices.Repeat([]func(){cut}, cuts)...)
	result := <-done
	wantAll(t, result, p)
	if result != nil && result.Connections < 1+cuts {
		t.Errorf("%d connections, want one more after each of %d cuts", result.Connections, cuts)
	}
}

// dialTo connects a sink, and notes its connection.
func dialTo(ctx context.Context, address string, now *atomic.Pointer[conn]) (net.Conn, error) {
	made, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	cut := &conn{Conn: made}
	now.Store(cut)
	return cut, nil
}

// A conn counts what it receives.
type conn struct {
	net.Conn
	received atomic.Int64
}

func (c *conn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.received.Add(int64(n))
	return n, err
}

// One of two routers leaves or is killed, that with the customer's socket or the other one. The remaining one takes
// over.
func TestOneOfTwoRoutersEnds(t *testing.T) {
	t.Parallel()
	pg := tabletest.Shared(t)
	for _, test := range []struct {
		name   string
		victim int
		end    func(*process)
	}{
		{"killed, without the socket", 0, (*process).kill},
		{"killed, with the socket", 1, (*process).kill},
		{"leaves, without the socket", 0, (*process).stop},
		{"leaves, with the socket", 1, (*process).stop},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			db := pg.Fresh(t)
			routers := []*process{launch(t, redis.URL(), db, "one"), launch(t, redis.URL(), db, "two")}
			routers[0].insert(acme, 0)
			routers[1].until("it knows the device, too", func() bool { return routers[1].devices(acme) == 1 })
			// The sink connects to the second one, and to the first when that is gone.
			done := receive(t, routers[1].address, acme, func(c *sink.Config) {
				c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					if err != nil {
						return new(net.Dialer).DialContext(ctx, network, routers[0].address)
					}
					return conn, nil
				}
			})
			time.Sleep(cmp.Or(*lease, 15*time.Second)) // routers that have just seen each other wait this long
			generate(t, openRedis(t, redis.URL()), gen.Config{}, func() { test.end(routers[test.victim]) })
			result := <-done
			wantAll(t, result, routers[1-test.victim])
			if result != nil {
				t.Logf("%s: an uplink was %v late at most", t.Name(), result.Load.Response.Max().Round(time.Millisecond))
			}
		})
	}
}

// While the database is away, routing goes on from memory; writes fail clearly,
// and work again when it is back.
func TestDatabaseIsAway(t *testing.T) {
	t.Parallel()
	pg := tabletest.Start(t)
	redis := redistest.Start(t)
	p := launch(t, redis.URL(), pg.Fresh(t), "one")
	p.insert(acme, 0)
	pg.Stop(t)
	p.until("it is ready and says what is away", func() bool {
		status, text := p.readiness()
		return status == http.StatusOK && strings.Contains(text, "database") && strings.Contains(text, "not heard")
	})
	done := receive(t, p.address, acme, nil)
	generate(t, openRedis(t, redis.URL()), gen.Config{})
	wantAll(t, <-done, p)
	another := func() (status int) {
		status, _ = p.call(acme, "/api/v1/devices/insert", `{"DevEUI": "9c1f4a00d2e80b37", "JoinEUI": "4be6027755ad9013"}`)
		return status
	}
	if status := another(); status < 500 {
		t.Errorf("a write without the database: status %d", status)
	}
	pg.Restart(t)
	p.until("writes work again", func() bool { return another() == http.StatusCreated })
	p.until("nothing is away", func() bool { _, text := p.readiness(); return text == "ready\n" })
}

// A customer who is away for 6000 uplinks gets the 5000 that may wait; the counters
// say how many more there were, exactly.
func TestBacklog(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	const n, most = 6000, 5000
	s := start(t, redisserver.Managed, func(c *Config) { c.Trust.Start, c.Dedup.Window, c.Backlog = 2, 0, most })
	s.insert(acme, 0)
	generate(t, s.redis, gen.Config{Mode: gen.Flat, N: n})
	s.until("all are read", func() bool { return s.fates[routed].Load() == n+1 })
	s.until("all are forwarded or dropped", func() bool { st := s.intake.Stats(); return st.Forwarded+st.Dropped == n+1 })
	dropped := int64(s.intake.Stats().Dropped)
	if dropped < n-most || dropped > n-most+1 {
		t.Errorf("%d dropped, want %d, and perhaps the end marker", dropped, n-most)
	}
	done := receive(t, s.address, acme, func(c *sink.Config) { c.Expect = n - dropped })
	if r := <-done; r.Distinct+dropped < n || r.Distinct+dropped > n+1 {
		t.Errorf("%d arrived, %d dropped of %d", r.Distinct, dropped, n)
	}
}
