package queue

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "16") // these tests wait for Redis more than they compute
	// Its client of clusters closes the connections to nodes that are gone five seconds later, and asks for the slots up to
	// a second later.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"), goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

var until = testenv.Eventually

func openURL(t testing.TB, url string) *Redis {
	t.Helper()
	r, err := Open(t.Context(), redisserver.Config{URL: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// eachRedis runs a test with an embedded Redis, with a real one, and with a cluster of three.
func eachRedis(t *testing.T, test func(t *testing.T, r *Redis)) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, openURL(t, ""))
	})
	eachRealRedis(t, test)
}

// eachRealRedis leaves the embedded one out, which answers twice about a key of another
// type.
func eachRealRedis(t *testing.T, test func(t *testing.T, r *Redis)) {
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		test(t, openURL(t, redistest.Start(t).URL()))
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		test(t, openURL(t, redistest.StartCluster(t, 3, false).URL()))
	})
}

// frame makes an uplink that differs from all others.
func frame(i int) *message.Uplink {
	return &message.Uplink{
		PHY:     []byte{0x40, byte(i), byte(i >> 8), byte(i >> 16), byte(i >> 24), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		Gateway: lorawan.EUI(0x0102030405060708), Received: time.Unix(1700000000, int64(i)),
		Radio: message.Radio{Frequency: 868100000, Spreading: 7, Bandwidth: 125000, RSSI: -57.5, SNR: 9.25},
	}
}

func frames(from, to int) (list []*message.Uplink) {
	for i := from; i < to; i++ {
		list = append(list, frame(i))
	}
	return list
}

func number4(u *message.Uplink) int {
	return int(u.PHY[1]) | int(u.PHY[2])<<8 | int(u.PHY[3])<<16 | int(u.PHY[4])<<24
}

func newProducer(t testing.TB, r *Redis, c ProducerConfig) *Producer {
	t.Helper()
	p, err := NewProducer(t.Context(), r, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// must has Redis do something.
func must(t *testing.T, r *Redis, cmd ...string) {
	t.Helper()
	if err := r.do(t.Context(), cmd...).Error(); err != nil {
		t.Fatal(err)
	}
}

// length is how many entries a stream has.
func length(t *testing.T, r *Redis, key string) int {
	t.Helper()
	n, err := r.do(t.Context(), "XLEN", key).AsInt64()
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// entriesOf are those of a stream; more is a COUNT.
func entriesOf(t *testing.T, r *Redis, key string, more ...string) []rueidis.XRangeEntry {
	t.Helper()
	entries, err := r.do(t.Context(), append([]string{"XRANGE", key, "-", "+"}, more...)...).AsXRange()
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// newest is the last entry of a stream, which has some.
func newest(t *testing.T, r *Redis, key string) (e rueidis.XRangeEntry, id entryID) {
	t.Helper()
	last, err := r.do(t.Context(), "XREVRANGE", key, "+", "-", "COUNT", "1").AsXRange()
	if err != nil || len(last) != 1 {
		t.Fatal(last, err)
	}
	id, _ = parseID(last[0].ID)
	return last[0], id
}

func produce(t *testing.T, r *Redis, uplinks []*message.Uplink) {
	t.Helper()
	if err := newProducer(t, r, ProducerConfig{}).Add(t.Context(), uplinks); err != nil {
		t.Fatal(err)
	}
}

// forward leaves uplinks for a customer's stream, and waits until they are written.
func forward(t *testing.T, in *Intake, customer string, uplinks []*message.Uplink) {
	t.Helper()
	in.Forward(customer, uplinks)
	until(t, "they are written", func() bool { return in.customer(customer).relay.flush(t.Context()) })
}

// A journal is the log of a Redis' clients.
type journal struct{ testenv.Log }

func journalOf(r *Redis) *journal {
	j := &journal{}
	r.log = slog.New(slog.NewTextHandler(j, nil))
	return j
}

// failed are the lines with an error other than a reply that was late, as replies are on a busy machine.
func (j *journal) failed() []string {
	late := regexp.MustCompile(`(\\n)?[^"\\]*` + context.DeadlineExceeded.Error()) // of errors that were joined
	return regexp.MustCompile(`.* error="?[^"\n].*`).FindAllString(late.ReplaceAllString(j.String(), ""), -1)
}

// A collector is a handler that counts what it is given.
type collector struct {
	mu      sync.Mutex
	in      *Intake
	ack     bool
	to      string // the customer for whom all is left; "": nobody
	seen    map[int]int
	origins []message.Origin // not acknowledged
	most    int              // deliveries of one entry
	newest  map[int]entryID  // by partition
	late    int              // entries that came first after newer ones of their partition
	last    time.Time        // when something new came
	pause   time.Duration    // the longest without
}

func (c *collector) handle(uplinks []*message.Uplink) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.seen)
	origins := make([]message.Origin, 0, len(uplinks))
	for _, u := range uplinks {
		c.order(u)
		c.seen[number4(u)]++
		c.most = max(c.most, u.Origin.Deliveries)
		origins = append(origins, u.Origin)
	}
	if now := time.Now(); len(c.seen) > before {
		if before > 0 {
			c.pause = max(c.pause, now.Sub(c.last))
		}
		c.last = now
	}
	switch {
	case c.to != "":
		c.in.Forward(c.to, slices.Clone(uplinks))
	case c.ack:
		c.in.Ack(origins)
	default:
		c.origins = append(c.origins, origins...)
	}
}

func (c *collector) order(u *message.Uplink) {
	if c.newest == nil {
		c.newest = map[int]entryID{}
	}
	id := entryID{u.Origin.Millis, u.Origin.Seq}
	switch newest := c.newest[u.Origin.Partition]; {
	case newest.less(id):
		c.newest[u.Origin.Partition] = id
	case c.seen[number4(u)] == 0:
		c.late++
	}
}

func (c *collector) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// settle acknowledges n entries at most that were not yet.
func (c *collector) settle(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = min(n, len(c.origins))
	c.in.Ack(c.origins[:n])
	c.origins = c.origins[n:]
}

// once checks that 0 to n-1 were seen, each once.
func (c *collector) once(t *testing.T, n int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range n {
		if c.seen[i] != 1 {
			t.Fatalf("uplink %d was seen %d times", i, c.seen[i])
		}
	}
}

// startIntake joins and runs; stop ends the running, and close also leaves.
func startIntake(t *testing.T, r *Redis, cfg IntakeConfig, ack bool) (c *collector, stop func()) {
	t.Helper()
	in, err := NewIntake(t.Context(), r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	c = &collector{in: in, ack: ack, seen: map[int]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- in.Run(ctx, c.handle) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if err := in.Close(context.Background()); err != nil && !errors.Is(err, context.DeadlineExceeded) { // as on a busy machine
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return c, stop
}

// All clients of one Redis have the same secret, which nobody else has.
func TestSecret(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		one, err := r.Secret(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := r.Secret(t.Context()); again != one || err != nil {
			t.Errorf("another one the second time, or %v", err)
		}
		elsewhere, err := openURL(t, "").Secret(t.Context())
		if err != nil || elsewhere == one || elsewhere == [32]byte{} {
			t.Errorf("another Redis has the same, or %v", err)
		}
		must(t, r, "SET", keySecret, "short")
		if _, err := r.Secret(t.Context()); err == nil || !strings.Contains(err.Error(), "ran:secret in Redis has 5 bytes; expected 32") {
			t.Errorf("of 5 bytes: %v", err)
		}
	})
}
