package router

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/pace"
	"contend/systems/uplink/gen"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/sink"
	"contend/systems/uplink/table"
)

// Uplinks of a device arrive in their order, also those that wait: for the router, for the customer, and for a customer
// who is too slow, or away now and then.
func TestOrder(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	// Half of the uplinks make a customer's part of the memory full, and all of them have room there.
	const n, devices, held = 2000, 100, 2500
	for _, test := range []struct {
		name  string
		alter func(*Config)
		run   func(o *orderly)
	}{
		{"the router was down", nil, func(o *orderly) { o.stop(); o.send(); o.start(); o.connect() }},
		{"the customer was away", nil, func(o *orderly) { o.send(); o.connect() }},
		{"the customer comes meanwhile", nil, func(o *orderly) {
			sent := o.sendSlowly()
			time.Sleep(200 * time.Millisecond)
			o.connect()
			<-sent
		}},
		{"the customer is slow", func(c *Config) { c.Held = held }, func(o *orderly) { o.connect(); o.send() }},
		{"connections are lost", func(c *Config) { c.Held = held }, func(o *orderly) {
			o.connect()
			sent := o.sendSlowly()
			for range 5 {
				time.Sleep(100 * time.Millisecond)
				o.conn.Load().Close()
			}
			<-sent
		}},
		{"copies are awaited", func(c *Config) { c.Dedup.Collect = 50 * time.Millisecond }, func(o *orderly) { o.connect(); o.send() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := newOrderly(t, n, devices, func(c *Config) {
				c.Trust.Start = 2
				if test.alter != nil {
					test.alter(c)
				}
			})
			test.run(o)
			r := <-o.arrived
			if r == nil || r.Distinct != n || r.Reordered != 0 || r.Lost != 0 || r.Unsolved != 0 {
				t.Error(account(r))
			}
		})
	}
}

// An orderly is a router, a generator and a sink.
type orderly struct {
	*service
	t          *testing.T
	n, devices int
	rows       *table.Table
	redis      *queue.Redis
	alter      func(*Config)
	conn       atomic.Pointer[conn]
	arrived    <-chan *sink.Result
}

func newOrderly(t *testing.T, n, devices int, alter func(*Config)) *orderly {
	t.Helper()
	o := &orderly{t: t, n: n, devices: devices, alter: alter, redis: openRedis(t, redistest.Start(t).URL()), rows: openTable(t, memory)}
	o.start()
	t.Cleanup(o.stop)
	for i := range devices {
		o.insert(acme, i)
	}
	return o
}

func (o *orderly) start() { o.service = startWith(o.t, o.redis, o.rows, o.alter) }

func (o *orderly) stop() { o.stopRouter() }

// send sends all as fast as it goes, sendSlowly within a second.
func (o *orderly) send() { o.generate(gen.Config{Mode: gen.Flat, N: int64(o.n)}) }

func (o *orderly) sendSlowly() <-chan struct{} {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		o.generate(gen.Config{Mode: gen.Rate, N: int64(o.n), Pacer: pace.Constant(float64(o.n))})
	}()
	return sent
}

func (o *orderly) generate(c gen.Config) {
	c.Seed, c.Devices, c.Add = 1, o.devices, o.producer.Add
	if _, err := gen.Run(o.t.Context(), c); err != nil {
		o.t.Error(err)
	}
}

func (o *orderly) connect() {
	o.arrived = receive(o.t, o.address, acme, func(c *sink.Config) {
		c.Expect, c.Devices = int64(o.n), o.devices
		c.Dial = func(ctx context.Context, _, address string) (net.Conn, error) { return dialTo(ctx, address, &o.conn) }
	})
	o.until("the sink is connected", func() bool { return o.customer("acme").here() })
}
