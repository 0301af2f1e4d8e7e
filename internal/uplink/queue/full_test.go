package queue

import (
	"testing"

	"contend/internal/redisserver/redistest"
)

// A Redis that has no memory left takes no uplinks, and routers empty it: also those that start then, of customers
// who are away, and beside entries that cannot be used.
func TestAFullRedisIsEmptied(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := openURL(t, server.URL())
	const n = 1000
	produce(t, r, frames(0, n))
	addRaw(t, r, keyUplinks+"0", [][]string{{"v", "2"}})
	server.Do("CONFIG", "SET", "maxmemory", "1")
	secret, err := r.Secret(t.Context())
	if again, _ := r.Secret(t.Context()); err != nil || again != secret {
		t.Errorf("the secret of routers: %v", err)
	}
	p, err := NewProducer(t.Context(), r, ProducerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- p.Add(t.Context(), frames(n, n+1)) }()

	c, _ := startIntake(t, r, IntakeConfig{Instance: "one"}, true)
	until(t, "all arrive", func() bool { return c.count() == n })
	until(t, "what is malformed is set aside", func() bool { return c.in.Stats().Malformed[fieldVersion] == 1 })
	until(t, "all are acknowledged", func() bool { return c.in.Stats().Acked == n+1 })
	if err := c.in.Forward(t.Context(), "acme", frames(0, n)); err != nil {
		t.Fatal(err)
	}
	acme, stop := receive(t, c, "acme")
	defer stop()
	until(t, "the customer's arrive", func() bool { return acme.count() == n })
	acme.once(t, n)
	if st := c.in.Stats(); st.Errors != 0 {
		t.Errorf("%+v", st)
	}
	if err := r.do(t.Context(), "XADD", keyBad, "*", "v", "1").Error(); !isFull(err) {
		t.Errorf("it is not full: %v", err)
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	if err := <-written; err != nil {
		t.Error(err)
	}
	until(t, "what had to wait arrives", func() bool { return c.count() == n+1 })
	c.once(t, n+1)
}
