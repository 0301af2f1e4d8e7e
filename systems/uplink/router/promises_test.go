package router

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/pace"
	"contend/systems/uplink/gen"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/sink"
	"contend/systems/uplink/table/tabletest"
)

var seed = flag.Uint64("seed", 1, "of the first of TestPromises' faults")

// Whatever happens to two routers, their Redis and the connections of two customers, each customer gets every uplink
// of its devices, those of each device in their order, and no uplink of the other's. What happens follows from a
// seed, within ten seconds of load.
func TestPromises(t *testing.T) {
	t.Parallel()
	pg := tabletest.Shared(t)
	for s := *seed; s < *seed+3; s++ {
		t.Run(fmt.Sprint("seed=", s), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, redistest.Start(t), pg.Fresh(t), s)
			for end := time.Now().Add(loadFor); time.Now().Before(end); {
				w.nap(1000)
				t.Log(w.fault())
			}
			for _, c := range w.customers {
				r := <-c.arrived
				if c.moved && r != nil { // what the router it left had sent may come after what the next one sent
					r.Reordered = 0
				}
				if r == nil || r.Distinct != c.sent || r.Lost+r.Reordered+r.Foreign+r.Unsolved != 0 {
					t.Errorf("%s: %s, %d of others", c.name, account(r), r.Foreign)
				}
			}
		})
	}
}

const loadFor = 10 * time.Second

// A world is two routers and two customers.
type world struct {
	t         *testing.T
	random    *rand.Rand
	redis     *redistest.Server
	routers   []*process
	customers []*sometimes
}

// A sometimes is a customer whose connections end now and then.
type sometimes struct {
	name    string
	at      atomic.Int32 // the router that it connects to, unless that is down
	conn    atomic.Pointer[conn]
	moved   bool
	sent    int64
	arrived <-chan *sink.Result
}

func newWorld(t *testing.T, redis *redistest.Server, db string, seed uint64) *world {
	t.Helper()
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 0)), redis: redis,
		routers: []*process{launch(t, redis.URL(), db, "one"), launch(t, redis.URL(), db, "two")}}
	producer, err := queue.NewProducer(t.Context(), openRedis(t, redis.URL()), queue.ProducerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	const each, perSec = 20, 100
	for i, token := range []string{acme, other} {
		c := &sometimes{name: token, sent: perSec * int64(loadFor/time.Second)}
		c.at.Store(int32(w.random.IntN(2)))
		w.customers = append(w.customers, c)
		own := uint64(i + 1) // the seed of its devices
		for device := range each {
			w.routers[0].insertOf(token, own, device)
		}
		w.routers[1].until("it knows them, too", func() bool { return w.routers[1].devices(token) == each })
		c.arrived = receive(t, w.routers[0].address, token, func(config *sink.Config) {
			config.Expect, config.Devices, config.Seed, config.Dial = c.sent, each, own, w.dial(c)
		})
		w.routers[0].until("it is connected", func() bool { return c.conn.Load() != nil })
		go func() {
			if _, err := gen.Run(t.Context(), gen.Config{Mode: gen.Rate, N: c.sent, Pacer: pace.Constant(perSec), Seed: own, Devices: each, Add: producer.Add}); err != nil {
				t.Error(err)
			}
		}()
	}
	return w
}

// dial connects a customer to where it was, or else to the other router.
func (w *world) dial(c *sometimes) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		made, err := dialTo(ctx, w.routers[c.at.Load()].address, &c.conn)
		if err != nil {
			c.at.Store(1 - c.at.Load())
		}
		return made, err
	}
}

func (w *world) nap(most int) { time.Sleep(time.Duration(w.random.IntN(most)) * time.Millisecond) }

// fault lets something happen, and says what.
func (w *world) fault() string {
	i := w.random.IntN(2)
	router, customer := w.routers[i], w.customers[i]
	switch w.random.IntN(5) {
	case 0:
		customer.conn.Load().Close()
		return "lost a connection of " + customer.name
	case 4:
		customer.moved = true
		customer.at.Store(1 - customer.at.Load())
		customer.conn.Load().Close()
		return "moved " + customer.name + " to the other router"
	case 1:
		w.redis.Kill()
		w.nap(1000)
		w.redis.Restart()
		return "restarted Redis"
	case 2:
		router.stop()
		w.nap(1000)
		router.start()
		return fmt.Sprint("stopped router ", i)
	default:
		at := w.customers[0].at.Load()
		if w.customers[1].at.Load() != at {
			return "nothing" // what a router that is killed has sent may be lost, and is sent again
		}
		router = w.routers[1-at]
		router.kill()
		w.nap(4000) // so long that the other one may take over
		router.start()
		return "killed the router without customers"
	}
}
