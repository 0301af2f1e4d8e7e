package router

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
	"contend/pace"
	"contend/systems/uplink/gen"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/sink"
	"contend/systems/uplink/table/tabletest"
)

// Every uplink must arrive at least once, whatever fails on its way.
const (
	many   = 4_000
	perSec = 4000
)

// openRedis connects the test itself.
func openRedis(t testing.TB, url string) *queue.Redis {
	t.Helper()
	redis, err := queue.Open(t.Context(), redisserver.Config{URL: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { redis.Close() })
	return redis
}

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
		FirstRetry: 100 * time.Millisecond, Idle: 40 * time.Second}
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

// insertAt gives a customer of a router process the demo device.
func insertAt(t testing.TB, address, token string, i int) {
	t.Helper()
	insertOf(t, address, token, 1, i)
}

// insertOf does so with one of another seed.
func insertOf(t testing.TB, address, token string, seed uint64, i int) {
	t.Helper()
	d := lorawan.DemoDevice(seed, i)
	body := `{"DevEUI": "` + d.DevEUI.String() + `", "JoinEUI": "` + d.JoinEUI.String() + `", "DevAddr": "` + d.DevAddr.String() + `"}`
	if status := post(t, address, token, body); status != http.StatusCreated {
		t.Fatal("insert: status ", status)
	}
}

func post(t testing.TB, address, token, body string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/api/v1/devices/insert", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	return response.StatusCode
}

// devices returns how many devices of a customer a router process knows.
func devices(t testing.TB, address, token string) int {
	t.Helper()
	response, err := http.Get("http://" + address + "/api/v1/devices/select?access_token=" + token)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var list []json.RawMessage
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// sqlite is the URL of a routing table in a file of the test.
func sqlite(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "table.db") }

func TestRouterIsKilled(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	p := launch(t, redis.URL(), sqlite(t), "one")
	insertAt(t, p.address, acme, 0)
	done := receive(t, p.address, acme, nil)
	kill := func() {
		waitFor(t, "it forwards", func() bool { return strings.Contains(p.metrics(), "contend_router_messages_sent_total") })
		p.kill()
		p.start()
	}
	generate(t, openRedis(t, redis.URL()), gen.Config{}, kill, kill)
	wantAll(t, <-done, p)
}

func TestRedisIsRestarted(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	p := launch(t, redis.URL(), sqlite(t), "one")
	insertAt(t, p.address, acme, 0)
	done := receive(t, p.address, acme, nil)
	generate(t, openRedis(t, redis.URL()), gen.Config{}, func() {
		redis.Kill()
		time.Sleep(500 * time.Millisecond)
		redis.Restart()
	})
	wantAll(t, <-done, p)
}

// Redis is restarted while nobody is connected, so that uplinks are on their way from
// one of its streams to another.
func TestRedisIsRestartedWhileUplinksWait(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	p := launch(t, redis.URL(), sqlite(t), "one")
	insertAt(t, p.address, acme, 0)
	restart := func() {
		redis.Kill()
		time.Sleep(300 * time.Millisecond)
		redis.Restart()
	}
	generate(t, openRedis(t, redis.URL()), gen.Config{}, restart, restart)
	wantAll(t, <-receive(t, p.address, acme, nil), p)
}

// In a cluster a replica is promoted, the router is killed, and all nodes are restarted.
func TestRouterOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, true)
	p := launch(t, cluster.URL(), sqlite(t), "one")
	insertAt(t, p.address, acme, 0)
	done := receive(t, p.address, acme, nil)
	generate(t, openRedis(t, cluster.URL()), gen.Config{}, cluster.Replicas[1].Promote, func() {
		p.kill()
		p.start()
	}, func() {
		all := slices.Concat(cluster.Masters, cluster.Replicas)
		for _, s := range all {
			s.Kill()
		}
		for _, s := range all {
			s.Restart()
		}
	})
	wantAll(t, <-done, p)
}

func TestSinkIsCutOff(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	p := launch(t, redis.URL(), sqlite(t), "one")
	insertAt(t, p.address, acme, 0)
	const cuts = 2 // the sink waits 5 s after the second
	var now atomic.Pointer[conn]
	done := receive(t, p.address, acme, func(c *sink.Config) {
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			cut := &conn{Conn: c}
			now.Store(cut)
			return cut, nil
		}
	})
	cut := func() {
		var busy *conn
		waitFor(t, "uplinks arrive over a connection", func() bool {
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
	pg := tabletest.Start(t)
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
			insertAt(t, routers[0].address, acme, 0)
			waitFor(t, "the other knows the device, too", func() bool { return devices(t, routers[1].address, acme) == 1 })
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
	insertAt(t, p.address, acme, 0)
	if err := pg.Stop(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it is ready and says what is away", func() bool {
		status, text := ready(t, p.address)
		return status == http.StatusOK && strings.Contains(text, "database") && strings.Contains(text, "not heard")
	})
	done := receive(t, p.address, acme, nil)
	generate(t, openRedis(t, redis.URL()), gen.Config{})
	wantAll(t, <-done, p)
	const another = `{"DevEUI": "9c1f4a00d2e80b37", "JoinEUI": "4be6027755ad9013"}`
	if status := post(t, p.address, acme, another); status < 500 {
		t.Errorf("a write without the database: status %d", status)
	}
	if err := pg.Restart(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "writes work again", func() bool { return post(t, p.address, acme, another) == http.StatusCreated })
	waitFor(t, "nothing is away", func() bool { _, text := ready(t, p.address); return text == "ready\n" })
}

// A customer who reads and answers nothing gets every uplink, and more than an outbox
// holds in memory: the oldest unanswered ones make room.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	bothRedis(t, func(t *testing.T, url string) {
		t.Parallel()
		const most = 5000
		s := start(t, url, func(c *Config) { c.Trust.Start, c.Trust.Reduce, c.Held = 2, false, most })
		s.insert(acme, 0)
		const n = most + 1000
		done := receive(t, s.config.Listener.Addr().String(), acme, func(c *sink.Config) { c.Expect, c.NoAck = n, true })
		generate(t, s.redis, gen.Config{Mode: gen.Flat, N: n})
		if r := <-done; r.Distinct != n || r.Lost != 0 {
			t.Error(account(r))
		}
		s.until("no more are held than the outbox may", func() bool { return s.intake.Stats().InFlight <= most })
	})
}

// A customer who does not read keeps nothing from another one.
func TestSlowSink(t *testing.T) {
	t.Parallel()
	bothRedis(t, func(t *testing.T, url string) {
		t.Parallel()
		s := start(t, url, func(c *Config) { c.Trust.Start, c.Held = 2, 5000 })
		slow := s.insert(other, 1)
		s.insert(acme, 0)
		stuck := s.connect(other, "upstream/")
		defer stuck.Close()
		var frames [][]byte
		for i := range 6000 {
			frames = append(frames, frame(slow, uint32(i)))
		}
		s.send(frames...)
		const n = 2000
		done := receive(t, s.config.Listener.Addr().String(), acme, func(c *sink.Config) { c.Expect = n })
		generate(t, s.redis, gen.Config{Mode: gen.Flat, N: n})
		if r := <-done; r.Distinct != n || r.Lost != 0 {
			t.Error(account(r))
		}
	})
}

// Ten kinds of frames that are none, and entries that are not even entries, are set
// aside and counted while good uplinks flow.
func TestMalformed(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	s := start(t, redisserver.Managed, func(c *Config) { c.Trust.Start = 2; c.Dedup.Window = 0 })
	s.insert(acme, 0)
	const n = 2000
	done := receive(t, s.config.Listener.Addr().String(), acme, func(c *sink.Config) { c.Expect = n })
	sent := generate(t, s.redis, gen.Config{Mode: gen.Flat, N: n, Malformed: 1})
	if r := <-done; sent.Malformed != n || r.Distinct != n || r.Lost != 0 {
		t.Errorf("%d malformed sent; %s", sent.Malformed, account(r))
	}
	s.until("all malformed ones are set aside", func() bool {
		sum := uint64(0)
		for _, count := range s.intake.Stats().Malformed {
			sum += count
		}
		return sum == n
	})
	if kinds := s.intake.Stats().Malformed; len(kinds) < 4 {
		t.Errorf("they are told apart as %v", kinds)
	}
}

// With deduplication off the sink's account is exact, with it on the router's.
func TestDuplicatesAndReordering(t *testing.T) {
	t.Parallel()
	bothRedis(t, func(t *testing.T, url string) {
		for _, window := range []time.Duration{0, time.Hour} {
			s := start(t, url, func(c *Config) { c.Trust.Start = 2; c.Dedup.Window = window })
			s.insert(acme, 0)
			const n = 5000
			done := receive(t, s.config.Listener.Addr().String(), acme, func(c *sink.Config) { c.Expect = n })
			sent := generate(t, s.redis, gen.Config{Mode: gen.Flat, N: n, Duplicates: 0.01, Reorder: 0.01})
			r := <-done
			wanted, suppressed := sent.Duplicates, int64(0)
			if window > 0 {
				wanted, suppressed = 0, sent.Duplicates
			}
			if r.Distinct != n || r.Duplicated != wanted || r.Reordered != sent.Reordered || s.fates[duplicate].Load() != suppressed {
				t.Errorf("window %v: sent %+v; the sink has %d, %d duplicated, %d reordered; the router suppressed %d", window, sent.Counts,
					r.Distinct, r.Duplicated, r.Reordered, s.fates[duplicate].Load())
			}
			s.stopRouter()
		}
	})
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
	done := receive(t, s.config.Listener.Addr().String(), acme, func(c *sink.Config) { c.Expect = n - dropped })
	if r := <-done; r.Distinct+dropped < n || r.Distinct+dropped > n+1 {
		t.Errorf("%d arrived, %d dropped of %d", r.Distinct, dropped, n)
	}
}
