package redisserver

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// until waits for a condition; a busy machine is slow.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	const patience = 60 * time.Second
	for end := time.Now().Add(patience); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in %s never: %s", patience, what)
		}
	}
}
