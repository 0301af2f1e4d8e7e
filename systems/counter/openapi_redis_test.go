package counter

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
	"contend/systems/counter/redis"
)

// openShared opens a counter in the Redis at url.
func openShared(t *testing.T, url, design string) *redis.Counter {
	t.Helper()
	server, err := redisserver.Open(t.Context(), redisserver.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	c, err := redis.Open(redis.Config{Server: server, Design: design})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = server.Close()
	})
	return c
}

// A described asks a server, and compares each answer with the description.
type described struct {
	*running
	description
	t *testing.T
}

func (d described) get(path, key string) answer {
	d.t.Helper()
	raw := rest
	if key != "" {
		raw += idHeader + ": " + key + "\r\n"
	}
	a, ok := provocation{raw: raw + "\r\n"}.ask(d.t, d.running, answer{method: "GET", path: path})
	if !ok {
		d.t.Fatal("no answer")
	}
	if err := d.conforms(a); err != nil {
		d.t.Error(err)
	}
	return a
}

// counter returns the counter of the answer that comes at last.
func (d described) counter(path, key string) (n int64) {
	d.t.Helper()
	testenv.Eventually(d.t, "it counts", func() bool {
		a := d.get(path, key)
		if a.code == 200 {
			n = parseAnswer(d.t, a.body).Counter
		}
		return a.code == 200
	})
	return n
}

// tell gives a Redis a command.
func tell(t *testing.T, addr, command string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, command+"\r\n"); err != nil {
		t.Fatal(err)
	}
	if reply, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.HasPrefix(reply, "+OK") {
		t.Fatalf("%s: %q, %v", command, reply, err)
	}
}

// The promises of the description about keys and about answers without a change,
// with a real Redis that takes its time and dies.
func TestDescribedAnswersOfARealRedis(t *testing.T) {
	redis := redistest.Start(t)
	const design = "redis-combining"
	d := described{
		start(t, Config{HTTPAddr: "127.0.0.1:0", Guard: design, Shared: openShared(t, redis.URL(), design)}), readDescription(t), t}
	before := d.counter(pathDesigns+design, "first")
	tell(t, redis.Addr(), "CLIENT PAUSE 600000 WRITE")
	if a := d.get(pathShared, "once"); a.code != 504 {
		t.Errorf("%d %s without an answer of Redis, want 504", a.code, a.body)
	}
	tell(t, redis.Addr(), "CLIENT UNPAUSE")
	for range 2 {
		if n := d.counter(pathShared, "once"); n != before+1 {
			t.Errorf("an increment that was tried again made %d of %d", n, before)
		}
	}
	if n := d.counter(pathShared, "twice"); n != before+2 {
		t.Errorf("the next one made %d of %d", n, before+1)
	}
	redis.Kill()
	for _, path := range []string{pathShared, pathDesigns + design, pathReady} {
		testenv.Eventually(t, path+" is unavailable", func() bool { return d.get(path, "").code == 503 })
	}
	if a := d.get(pathHealth, ""); a.code != 200 {
		t.Errorf("health without Redis: %d", a.code)
	}
	redis.Restart()
	testenv.Eventually(t, "it is ready again", func() bool { return d.get(pathReady, "").code == 200 })
	if n := d.counter(pathShared, "twice"); n != before+2 {
		t.Errorf("Redis came back with %d", n)
	}
}
