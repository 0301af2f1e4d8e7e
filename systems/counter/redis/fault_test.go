package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
)

// each runs a test for every design that users may choose.
func each(t *testing.T, run func(t *testing.T, design string)) {
	for _, d := range Designs() {
		t.Run(d.Name, func(t *testing.T) { run(t, d.Name) })
	}
}

// quick is a timeout that tests of lost answers wait for.
const quick = 300 * time.Millisecond

// TestRecovery: Redis dies and comes back, and nobody has to do anything.
func TestRecovery(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, design string) {
		r := redistest.Start(t)
		c := open(t, Config{Server: at(t, redisserver.Config{URL: r.TCP()}), Design: design})
		var wg sync.WaitGroup
		for range 8 { // so that there are connections that Redis will have forgotten
			wg.Go(func() {
				if _, err := c.Add(t.Context(), 1); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := c.Ready(); err != nil {
			t.Error(err)
		}
		r.Kill()
		testenv.Eventually(t, "it is not ready", func() bool { return c.Ready() != nil })
		if _, err := c.Add(t.Context(), 1); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrIndeterminate) {
			t.Errorf("without Redis: %v, want %v", err, ErrUnavailable)
		}
		if _, err := c.Load(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("Load without Redis: %v, want %v", err, ErrUnavailable)
		}
		r.Restart()
		testenv.Eventually(t, "it is ready again", func() bool { return c.Ready() == nil })
		for i := range 8 {
			if value, err := c.Add(t.Context(), 1); err != nil || value != int64(9+i) {
				t.Errorf("with Redis again: %d, %v, want %d", value, err, 9+i)
			}
		}
		if _, err := c.Increment(t.Context(), 1, "id"); err != nil {
			t.Error(err)
		}
	})
}

// TestOpenWithoutRedis: Redis may come later.
func TestOpenWithoutRedis(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, design string) {
		r := redistest.Start(t)
		r.Kill()
		var log testenv.Log
		c := open(t, Config{Server: at(t, redisserver.Config{URL: r.URL()}), Design: design,
			Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err := c.Ready(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("Ready: %v, want %v", err, ErrUnavailable)
		}
		if _, err := c.Increment(t.Context(), 1, "id"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("Increment: %v, want %v", err, ErrUnavailable)
		}
		r.Restart()
		testenv.Eventually(t, "it is ready", func() bool { return c.Ready() == nil })
		if value, err := c.Add(t.Context(), 1); err != nil || value != 1 {
			t.Errorf("%d, %v, want 1", value, err)
		}
		if got := log.String(); strings.Count(got, "redis is away") != 1 || strings.Count(got, "redis answers again") != 1 {
			t.Errorf("log:\n%s", got)
		}
	})
}

// TestHalfOpen: the way to Redis swallows everything without an error.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, design string) {
		t.Parallel()
		p := newProxy(t, redistest.Start(t))
		c := open(t, Config{Server: through(t, p), Design: design, Timeout: 2 * quick})
		works := func() bool {
			_, err := c.Add(t.Context(), 1)
			return err == nil
		}
		want := ErrIndeterminate
		if design == "redis-naive" {
			want = ErrUnavailable // it ends before EXEC
		}
		testenv.Eventually(t, "it is sent, and the context ends", func() bool {
			p.Become(redistest.Weather{})
			var wg sync.WaitGroup
			for range 4 { // connections
				wg.Go(func() { testenv.Eventually(t, "it works", works) })
			}
			wg.Wait()
			p.Become(redistest.Weather{DeafToRequests: true, DeafToAnswers: true})
			ctx, cancel := context.WithTimeout(t.Context(), quick)
			defer cancel()
			_, err := c.Add(ctx, 1)
			if !errors.Is(err, want) && !errors.Is(err, ErrUnavailable) { // which one too late to be sent is
				t.Fatalf("until the context ends: %v, want %v", err, want)
			}
			return errors.Is(err, want) && errors.Is(err, context.DeadlineExceeded)
		})
		if _, err := c.Add(t.Context(), 1); !errors.Is(err, want) && !errors.Is(err, ErrUnavailable) {
			t.Errorf("until the timeout: %v, want %v", err, want)
		}
		testenv.Eventually(t, "it is not ready", func() bool { return c.Ready() != nil })
		p.Become(redistest.Weather{})
		testenv.Eventually(t, "it works again", works)
		testenv.Eventually(t, "it is ready again", func() bool { return c.Ready() == nil })
	})
}

// TestLostAnswer: Redis did it, and the answer never came.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, design string) {
		r := redistest.Start(t)
		p := newProxy(t, r)
		c := open(t, Config{Server: through(t, p), Design: design})
		if _, err := c.Add(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		p.Become(redistest.Weather{DeafToAnswers: true})
		before, failed := p.Requests.Load(), make(chan error)
		go func() {
			_, err := c.Add(context.Background(), 1)
			failed <- err
		}()
		testenv.Eventually(t, "it is sent", func() bool { return p.Requests.Load() > before })
		testenv.Eventually(t, "it happened, if it ever does", func() bool {
			value, err := raw(t, at(t, redisserver.Config{URL: r.URL()}), "HGET", c.key, fieldCounter).AsInt64()
			return err == nil && (value == 2 || design == "redis-naive")
		})
		p.Sever(true)
		p.Become(redistest.Weather{})
		want := ErrIndeterminate
		if design == "redis-naive" {
			want = ErrUnavailable // it waits for the answer to WATCH
		}
		if err := <-failed; !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if got := c.Stats(); got.Increments != 1 || got.Indeterminate+got.Refused != 1 {
			t.Errorf("%+v, want one increment and one failure", got)
		}
	})
}

// TestWrongAnswers: a reply that Redis would not send ends the connection, and
// neither this process nor the order of answers.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	p := newProxy(t, redistest.Start(t))
	each(t, func(t *testing.T, design string) {
		c := open(t, Config{Server: through(t, p), Design: design, Key: design})
		for _, extra := range []string{
			":7\r\n", "*2\r\n:7\r\n:7\r\n", "$999999999\r\n", "*999999999\r\n", "?\r\n", "\r\n", strings.Repeat("*1\r\n", maxReply),
		} {
			p.Become(redistest.Weather{})
			testenv.Eventually(t, "it works", func() bool {
				_, err := c.Add(t.Context(), 1)
				return err == nil
			})
			p.Become(redistest.Weather{Extra: extra})
			_, err := c.Add(t.Context(), 1)
			if !errors.Is(err, ErrIndeterminate) && !errors.Is(err, ErrUnavailable) {
				t.Errorf("after %.20q: %v", extra, err)
			}
		}
		p.Become(redistest.Weather{})
		testenv.Eventually(t, "it is as it should be", func() bool {
			value, err := c.Load(t.Context())
			stats := c.Stats()
			if err == nil && (value < int64(stats.Increments) || value > int64(stats.Increments+stats.Indeterminate)) {
				t.Errorf("Load = %d after %+v", value, stats)
			}
			return err == nil
		})
	})
}

// TestRefusals: what Redis says no to has not happened, and some of it may work later.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		spoil   []string
		mend    []string
		forGood bool
	}{
		{name: "no memory", spoil: []string{"CONFIG", "SET", "maxmemory", "1"}, mend: []string{"CONFIG", "SET", "maxmemory", "0"}},
		{name: "a replica", spoil: []string{"REPLICAOF", "127.0.0.1", "1"}, mend: []string{"REPLICAOF", "NO", "ONE"}},
		{name: "no replicas", spoil: []string{"CONFIG", "SET", "min-replicas-to-write", "1"},
			mend: []string{"CONFIG", "SET", "min-replicas-to-write", "0"}},
		{name: "another type", spoil: []string{"SET", "{contend:counter}", "x"}, mend: []string{"DEL", "{contend:counter}"}, forGood: true},
		{name: "no number", spoil: []string{"HSET", "{contend:counter}", "counter", "x"},
			mend: []string{"DEL", "{contend:counter}"}, forGood: true},
		{name: "scripts forgotten", spoil: nil, mend: []string{"SCRIPT", "FLUSH"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := at(t, redisserver.Config{URL: redistest.Start(t).URL()})
			each(t, func(t *testing.T, design string) {
				c := open(t, Config{Server: server, Design: design})
				if test.spoil != nil {
					must(t, server, "DEL", "{contend:counter}")
					must(t, server, test.spoil...)
					_, err := c.Add(t.Context(), 1)
					if err == nil || errors.Is(err, ErrIndeterminate) || errors.Is(err, ErrUnavailable) == test.forGood {
						t.Errorf("%v, want that it has not happened, for good: %t", err, test.forGood)
					}
				}
				must(t, server, test.mend...)
				must(t, server, "DEL", "{contend:counter}")
				if value, err := c.Add(t.Context(), 1); err != nil || value != 1 {
					t.Errorf("mended: %d, %v, want 1", value, err)
				}
			})
		})
	}
}

// TestJudge: nothing is reported as not done that may have been done.
func TestJudge(t *testing.T) {
	c := open(t, Config{Server: at(t, redisserver.Config{}), Design: "redis-script"})
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for _, test := range []struct {
		name string
		ctx  context.Context
		err  error
		want []error
	}{
		{"nothing", t.Context(), nil, nil},
		{"a lost connection", t.Context(), net.ErrClosed, []error{ErrIndeterminate, net.ErrClosed}},
		{"not sent", t.Context(), &unsent{cause: net.ErrClosed}, []error{ErrUnavailable, net.ErrClosed}},
		{"not sent in time", late, &unsent{cause: net.ErrClosed}, []error{ErrUnavailable, net.ErrClosed, context.DeadlineExceeded}},
		{"no answer in time", late, net.ErrClosed, []error{ErrIndeterminate, net.ErrClosed, context.DeadlineExceeded}},
		{"wrapped", t.Context(), fmt.Errorf("in rueidis: %w", &unsent{cause: net.ErrClosed}), []error{ErrUnavailable}},
		{"nonsense", t.Context(), errAnswer, []error{ErrIndeterminate, errAnswer}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := c.judge(test.ctx, test.err, ErrIndeterminate)
			if (got == nil) != (test.want == nil) || errors.Is(got, ErrUnavailable) && errors.Is(got, ErrIndeterminate) {
				t.Errorf("%v", got)
			}
			for _, want := range test.want {
				if !errors.Is(got, want) {
					t.Errorf("%v is not %v", got, want)
				}
			}
		})
	}
}

func TestRepliesThatPass(t *testing.T) {
	for text, want := range map[string]bool{
		"LOADING Redis is loading the dataset in memory":                                           true,
		"ERR Error running script (call to f_1): @user_script:1: -NOPERM No permissions to access": true,
		"MOVED 1234 127.0.0.1:7000":                                                                true,
		"ERR increment or decrement would overflow":                                                false,
	} {
		if got := isPassing(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}
