package bare

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	for _, size := range []int{0, 61, 130_000} {
		var asked atomic.Int64
		body := strings.Repeat("x", size)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header()["Date"] = nil // of one size always
			w.Write([]byte(body))
		}))
		got, err := Run(s.Listener.Addr().String(), 3, 50*time.Millisecond)
		s.Close()
		// One asked before, and up to three were in flight at the end.
		if n := asked.Load(); err != nil || got < 1 || got > n || got < n-4 {
			t.Errorf("size %d: counted %d answers of %d, %v", size, got, n, err)
		}
	}
}

func TestRunRefused(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	if _, err := Run(s.Listener.Addr().String(), 1, time.Millisecond); err == nil {
		t.Error("no error")
	}
}
