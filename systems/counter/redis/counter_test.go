package redis

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"contend/guard"
	"contend/guard/guardtest"
	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
)

func TestLookup(t *testing.T) {
	var names []string
	for _, d := range Designs() {
		names = append(names, d.Name)
		if found, err := Lookup(strings.ToUpper(d.Name)); err != nil || found != d || d.Summary == "" || d.Control {
			t.Errorf("%+v: %+v, %v", d, found, err)
		}
	}
	if got, want := strings.Join(names, " "), "redis-naive redis-script redis-pipelined redis-combining"; got != want {
		t.Errorf("designs are %s, want %s", got, want)
	}
	if d, err := Lookup("Redis-GetSet"); err != nil || !d.Control {
		t.Errorf("the control: %+v, %v", d, err)
	}
	if _, err := Lookup("mutex"); err == nil || !strings.Contains(err.Error(), `"mutex"`) ||
		!strings.Contains(err.Error(), strings.Join(names[:3], ", ")+" or "+names[3]) || strings.Contains(err.Error(), "getset") {
		t.Errorf("unknown: %v", err)
	}
}

func TestOpenNamesEveryMistake(t *testing.T) {
	_, err := Open(Config{Design: "redis", Key: "a{b}", Timeout: -1})
	for _, want := range []string{"redis: ", "no server", `design is "redis"`, `key is "a{b}"`, "timeout is -1ns"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %s in it", err, want)
		}
	}
}

// raw asks a Redis something else.
func raw(t testing.TB, server *redisserver.Server, args ...string) rueidis.RedisResult {
	t.Helper()
	opt := server.Options()
	opt.ForceSingleClient = true
	client, err := rueidis.NewClient(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	return client.Do(context.Background(), client.B().Arbitrary(args...).Build())
}

func must(t testing.TB, server *redisserver.Server, args ...string) {
	t.Helper()
	if err := raw(t, server, args...).Error(); err != nil && !rueidis.IsRedisNil(err) {
		t.Fatalf("%v: %v", args, err)
	}
}

// TestFieldsAgree: the hash holds what the last increment returned.
func TestFieldsAgree(t *testing.T) {
	servers(t, func(t *testing.T, server *redisserver.Server) {
		for _, d := range Designs() {
			t.Run(d.Name, func(t *testing.T) {
				c := open(t, Config{Server: server, Design: d.Name, Key: d.Name})
				for _, step := range []struct{ n, want int64 }{
					{1, 1}, {1, 2}, {5, 7}, {-8, -1}, {-1, -2}, {0, -2}, {3, 1},
					{1 << 53, 1<<53 + 1}, {2, 1<<53 + 3}, {math.MaxInt64 - (1<<53 + 4), math.MaxInt64 - 1}, {1, math.MaxInt64},
				} {
					before := time.Now().Unix()
					change, err := c.Increment(t.Context(), step.n, "")
					if err != nil || change.Value != step.want || change.At < before || change.At > time.Now().Unix() {
						t.Fatalf("%+d: %+v, %v, want %d", step.n, change, err, step.want)
					}
					got, err := raw(t, server, "HGETALL", "{"+d.Name+"}").AsIntMap()
					if err != nil || got["counter"] != step.want || got["status"] != step.want&1 || got["lastChanged"] != change.At {
						t.Fatalf("%+d: %v, %v, want the fields of %+v", step.n, got, err, change)
					}
				}
				if server.Embedded() {
					return // it wraps around
				}
				_, err := c.Add(t.Context(), 1)
				if err == nil || !isRefusal(err) || !strings.Contains(err.Error(), "overflow") {
					t.Errorf("one more: %v, want that it would overflow", err)
				}
				if value, err := c.Load(t.Context()); err != nil || value != math.MaxInt64 {
					t.Errorf("Load = %d, %v, want %d", value, err, int64(math.MaxInt64))
				}
			})
		}
	})
}

// TestOnce: of all increments with one id one happens, and all return what it did.
func TestOnce(t *testing.T) {
	const callers = 8
	servers(t, func(t *testing.T, server *redisserver.Server) {
		for _, d := range Designs() {
			t.Run(d.Name, func(t *testing.T) {
				c := open(t, Config{Server: server, Design: d.Name, Key: d.Name})
				other := open(t, Config{Server: server, Design: d.Name, Key: d.Name})
				var wg sync.WaitGroup
				for i := range callers {
					wg.Go(func() {
						if change, err := []*Counter{c, other}[i%2].Increment(t.Context(), 3, "id 1"); err != nil || change.Value != 3 {
							t.Errorf("%+v, %v, want 3", change, err)
						}
					})
				}
				wg.Wait()
				if _, err := c.Increment(t.Context(), 1, strings.Repeat("x", maxID+1)); err == nil || !isRefusal(err) {
					t.Errorf("a long id: %v", err)
				}
				if change, err := c.Increment(t.Context(), 1, "id 2"); err != nil || change.Value != 4 {
					t.Errorf("another id: %+v, %v, want 4", change, err)
				}
				if got := c.Stats().Replayed + other.Stats().Replayed; got != callers-1 {
					t.Errorf("%d replayed, want %d", got, callers-1)
				}
				left, err := raw(t, server, "PTTL", "{"+d.Name+"}:id:id 1").AsInt64()
				if kept := time.Duration(left) * time.Millisecond; err != nil || kept <= 0 || kept > remembered {
					t.Errorf("kept for %v more, %v, want up to %v", kept, err, remembered)
				}
			})
		}
	})
}

// TestControlIsCaught: the checks that the designs pass catch the wrong way.
func TestControlIsCaught(t *testing.T) {
	servers(t, func(t *testing.T, server *redisserver.Server) {
		c := open(t, Config{Server: server, Design: "redis-getset"})
		testenv.Eventually(t, "two callers get the same value", func() bool {
			before, err := c.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			h := guardtest.Record(t.Context(), c, guardtest.Workload{Callers: 8, Calls: 20})
			after, err := c.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return guardtest.CheckDense(h, before) != nil && guardtest.CheckTotal(h, before, after) != nil
		})
	})
}

// TestRoundTrips: what one caller needs for an increment.
func TestRoundTrips(t *testing.T) {
	const calls = 20
	server := at(t, redisserver.Config{URL: redistest.Start(t).URL()})
	for name, each := range map[string]uint64{
		"redis-naive":  9, // WATCH, three GETs, MULTI, three SETs, EXEC
		"redis-script": 1, "redis-pipelined": 1, "redis-combining": 1, "redis-getset": 2,
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, Config{Server: server, Design: name, Key: name})
			if _, err := c.Add(t.Context(), 1); err != nil { // Redis learns the script
				t.Fatal(err)
			}
			before := c.Stats()
			for range calls {
				if _, err := c.Add(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
			after := c.Stats()
			trips, commands := after.RoundTrips-before.RoundTrips, after.Commands-before.Commands
			if after.Increments != calls+1 || trips != calls*each || commands != calls*each {
				t.Errorf("%+v, before %+v: want %d round trips and commands each", after, before, each)
			}
		})
	}
}

func TestContextThatHasEnded(t *testing.T) {
	server := at(t, redisserver.Config{})
	for _, d := range Designs() {
		c := open(t, Config{Server: server, Design: d.Name})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.Increment(ctx, 1, "")
		if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v, want that it did not happen", d.Name, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.Increment(t.Context(), 1, "id"); err != guard.ErrClosed {
			t.Errorf("%s: %v, want %v", d.Name, err, guard.ErrClosed)
		}
		if got := c.Stats(); got.Increments != 0 || got.Refused != 1 {
			t.Errorf("%s: %+v, want one refused", d.Name, got)
		}
	}
}
