package counter

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
	"contend/systems/counter/counterpb"
	"contend/systems/counter/redis"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// openShared opens a counter in the Redis at url, with the default timeout.
func openShared(t *testing.T, url, design string) *redis.Counter {
	t.Helper()
	return openPatient(t, url, design, 0)
}

// openPatient opens a counter with a timeout for one operation.
func openPatient(t *testing.T, url, design string, patience time.Duration) *redis.Counter {
	t.Helper()
	server, err := redisserver.Open(t.Context(), redisserver.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	c, err := redis.Open(redis.Config{Server: server, Design: design, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = server.Close()
	})
	return c
}

// Two servers, both protocols, one counter.
func TestServersInStep(t *testing.T) {
	redistest.Need(t)
	const callers = 4
	for _, d := range redis.Designs() {
		t.Run(d.Name, func(t *testing.T) {
			each := 100
			if d.Name == "redis-naive" {
				each = 10 // they are in each other's way
			}
			url := redistest.Start(t).URL()
			var wg sync.WaitGroup
			got := make([][]change, 4*callers)
			for i := range 2 {
				s := start(t, Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", Guard: d.Name, Shared: openPatient(t, url, d.Name, time.Minute)})
				client := counterpb.NewIncrementCounterClient(connect(t, s))
				for j := range callers {
					wg.Go(func() { got[2*callers*i+2*j] = countMany(t, s.url("/status"), each) })
					wg.Go(func() {
						for range each {
							got[2*callers*i+2*j+1] = append(got[2*callers*i+2*j+1], change{value: incrementOnce(t, client)})
						}
					})
				}
			}
			wg.Wait()
			checkDense(t, slices.Concat(got...))
		})
	}
}

func countMany(t *testing.T, url string, n int) []change {
	var got []change
	for range n {
		_, body := fetch(t, "GET", url)
		a := parseAnswer(t, body)
		if a.Status != (a.Counter%2 == 1) {
			t.Errorf("flag and counter disagree: %s", body)
		}
		got = append(got, change{value: a.Counter})
	}
	return got
}

func TestRedisGoesAndComesBack(t *testing.T) {
	server := redistest.Start(t)
	for _, design := range []string{"redis-script", "redis-combining"} {
		t.Run(design, func(t *testing.T) {
			s := start(t, Config{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", Guard: design, Shared: openShared(t, server.URL(), design)})
			client := counterpb.NewIncrementCounterClient(connect(t, s))
			health := grpc_health_v1.NewHealthClient(connect(t, s))
			serving := func() bool {
				answer, err := health.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
				return err == nil && answer.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING
			}
			ready := func() bool {
				resp, _ := fetch(t, "GET", s.url("/ready"))
				return resp.StatusCode == http.StatusOK
			}
			up := func() bool {
				resp, _ := fetch(t, "GET", s.url("/status"))
				_, err := client.Increment(context.Background(), &counterpb.IncrementBy{Value: 1})
				return resp.StatusCode == http.StatusOK && err == nil
			}
			testenv.Eventually(t, "it serves", func() bool { return up() && ready() && serving() })
			server.Kill()
			testenv.Eventually(t, "it is not ready", func() bool { return !ready() && !serving() })
			testenv.Eventually(t, "it says that nothing has happened", func() bool {
				resp, _ := fetch(t, "GET", s.url("/status"))
				_, err := client.Increment(context.Background(), &counterpb.IncrementBy{Value: 1})
				return resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "1" &&
					status.Code(err) == codes.Unavailable
			})
			if resp, _ := fetch(t, "GET", s.url("/health")); resp.StatusCode != http.StatusOK {
				t.Errorf("the server lives, but %s", resp.Status)
			}
			server.Restart()
			testenv.Eventually(t, "it serves again", func() bool { return up() && ready() && serving() })
		})
	}
}
