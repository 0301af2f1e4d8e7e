package table

import (
	testflag "flag"
	"os"
	"sync"
	"testing"

	"contend/systems/uplink/table/tabletest"
)

// shared is the PostgreSQL of all tests; one that stops it is not parallel.
var (
	shared   *tabletest.Server
	starting sync.Mutex
)

func TestMain(m *testing.M) {
	_ = testflag.Set("test.parallel", "8") // these tests wait for PostgreSQL more than they compute
	code := m.Run()
	if shared != nil && shared.Close() != nil {
		code = max(code, 1)
	}
	os.Exit(code)
}

// postgres returns the running server, or skips the test if PostgreSQL is not
// installed, which on CI is a failure.
func postgres(t testing.TB) *tabletest.Server {
	t.Helper()
	starting.Lock()
	defer starting.Unlock()
	if shared == nil {
		tabletest.Need(t)
		server, err := tabletest.New()
		if err != nil {
			t.Fatal(err)
		}
		shared = server
	}
	return shared
}

// backends are the kinds of database on which all tests run.
func backends() []backend {
	return []backend{sqliteBackend, {"postgres", func(t testing.TB) string { return postgres(t).Fresh(t) }}}
}
