package router

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"contend/internal/redisserver"
	"contend/internal/testenv"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/outbox"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/table"
)

// openRedis connects the test itself; "" is an embedded one of its own.
func openRedis(t testing.TB, url string) *queue.Redis {
	t.Helper()
	redis, err := queue.Open(t.Context(), redisserver.Config{URL: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { redis.Close() })
	return redis
}

// memory is the URL of a routing table that ends with its router.
const memory = "sqlite::memory:"

// sqlite is the URL of a routing table in a file of the test.
func sqlite(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "table.db") }

func openTable(t testing.TB, url string) *table.Table {
	t.Helper()
	rows, err := table.Open(t.Context(), table.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rows.Close() })
	return rows
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// ServeContract starts a router for the customer of the contract, who knows no more of it than this.
func ServeContract(t *testing.T, db string) (address string, redis rueidis.ClientOption) {
	t.Helper()
	embedded := openRedis(t, "")
	s := startWith(t, embedded, openTable(t, db), func(c *Config) {
		c.Trust, c.Dedup, c.DrainTimeout = outbox.TrustConfig{}, Dedup{}, time.Millisecond
	})
	t.Cleanup(s.stopRouter)
	return s.address, embedded.Options()
}

// A site is where a router is reached, one in this process or in its own.
type site struct {
	t       testing.TB
	address string
}

// until waits for something that has to happen.
func (s site) until(what string, happened func() bool) {
	s.t.Helper()
	testenv.Eventually(s.t, what, happened)
}

// ask makes a call and returns what is answered, with the body read.
func (s site) ask(method, token, path, body string) (*http.Response, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(answer)
}

// call makes a call of the HTTP API and returns its status and answer.
func (s site) call(token, path, body string) (int, string) {
	s.t.Helper()
	response, answer := s.ask(http.MethodPost, token, path, body)
	return response.StatusCode, answer
}

// give inserts a device for a customer, with that address.
func (s site) give(token string, eui, join lorawan.EUI, addr lorawan.DevAddr) {
	s.t.Helper()
	body := fmt.Sprintf(`{"DevEUI": "%v", "JoinEUI": "%v", "DevAddr": "%v"}`, eui, join, addr)
	if status, answer := s.call(token, "/api/v1/devices/insert", body); status != http.StatusCreated {
		s.t.Fatalf("insert: %d %s", status, answer)
	}
}

// insert gives a customer a demo device.
func (s site) insert(token string, i int) lorawan.Device {
	s.t.Helper()
	return s.insertOf(token, 1, i)
}

// insertOf does so with one of another seed.
func (s site) insertOf(token string, seed uint64, i int) lorawan.Device {
	s.t.Helper()
	d := lorawan.DemoDevice(seed, i)
	s.give(token, d.DevEUI, d.JoinEUI, d.DevAddr)
	return d
}

// devices returns how many devices of a customer the router knows.
func (s site) devices(token string) int {
	s.t.Helper()
	_, text := s.ask(http.MethodGet, token, "/api/v1/devices/select", "")
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		s.t.Fatal(err)
	}
	return len(list)
}

// scrape returns all metrics.
func (s site) scrape() string {
	s.t.Helper()
	response, text := s.ask(http.MethodGet, "", "/metrics", "")
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("status %d: %s", response.StatusCode, text)
	}
	return text
}

// readiness returns what /ready answers.
func (s site) readiness() (int, string) {
	s.t.Helper()
	response, text := s.ask(http.MethodGet, "", "/ready", "")
	if after := response.Header.Get("Retry-After"); (after == "1") != (response.StatusCode == http.StatusServiceUnavailable) {
		s.t.Errorf("status %d, Retry-After %q", response.StatusCode, after)
	}
	return response.StatusCode, text
}
