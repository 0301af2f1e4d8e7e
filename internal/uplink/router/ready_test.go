package router

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/internal/uplink/table"
)

// ready returns what /ready answers.
func ready(t *testing.T, address string) (int, string) {
	t.Helper()
	response, err := http.Get("http://" + address + "/ready")
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if after := response.Header.Get("Retry-After"); (after == "1") != (response.StatusCode == http.StatusServiceUnavailable) {
		t.Errorf("status %d, Retry-After %q", response.StatusCode, after)
	}
	return response.StatusCode, string(text)
}

// A router is ready while it can have uplinks, and again without a restart.
func TestReady(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := start(t, redis.URL(), nil)
	address := s.config.Listener.Addr().String()
	s.until("it is ready", func() bool {
		status, text := ready(t, address)
		return status == http.StatusOK && text == "ready\n"
	})
	for range 2 {
		redis.Kill()
		s.until("it is not ready without Redis", func() bool {
			status, text := ready(t, address)
			return status == http.StatusServiceUnavailable && text == "not ready: Redis does not answer\n"
		})
		redis.Restart()
		s.until("it is ready again", func() bool { status, _ := ready(t, address); return status == http.StatusOK })
	}
	if err := s.table.Close(); err != nil {
		t.Fatal(err)
	}
	s.until("it is ready without the database, and says so", func() bool {
		status, text := ready(t, address)
		return status == http.StatusOK && text != "ready\n"
	})
}

// With a full disk routing goes on, and the text says what is wrong.
func TestReadyWithAFullDisk(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	for full, want := range map[error]string{nil: "ready\n", table.ErrFull: "The disk of the database is full", table.ErrUnavailable: "The database does not answer"} {
		s.reach.mu.Lock()
		s.reach.looked, s.reach.redis, s.reach.database = time.Now().Add(time.Hour), true, full
		s.reach.mu.Unlock()
		status, text := ready(t, s.config.Listener.Addr().String())
		if status != http.StatusOK || !strings.Contains(text, want) || (text == "ready\n") != (full == nil) {
			t.Errorf("%v: %d %q, want %q", full, status, text, want)
		}
	}
}

// However many ask, Redis and the database are asked once.
func TestReadyAsksOnce(t *testing.T) {
	s := start(t, "", nil)
	s.reachable()
	looked := s.reach.looked
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { s.reachable() })
	}
	group.Wait()
	if now := s.reach.looked; now != looked && now.Sub(looked) < reachFor {
		t.Errorf("asked again after %v", now.Sub(looked))
	}
}
