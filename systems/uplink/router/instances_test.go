package router

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"contend/systems/uplink/api"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/table/tabletest"
)

// Routers on one Redis need a table through which they hear of each other's
// changes: a router with another table is refused next to one with SQLite, and
// one with SQLite next to any other.
func TestRoutersAndSQLite(t *testing.T) {
	t.Parallel()
	all, shared := t, ""
	postgres := func(t *testing.T) string {
		tabletest.Need(t)
		if shared == "" {
			shared = tabletest.Shared(all).Fresh(all)
		}
		return shared
	}
	for _, tt := range []struct {
		name          string
		first, second func(*testing.T) string
		as            string // the second's name
		stopped       bool   // the first
		refused       bool
	}{
		{"two on SQLite", sqlite, sqlite, "two", false, true},
		{"one after the other", sqlite, sqlite, "two", true, false},
		{"a restart under the same name", sqlite, sqlite, "one", false, false},
		{"SQLite beside PostgreSQL", postgres, sqlite, "two", false, true},
		{"PostgreSQL beside SQLite", sqlite, postgres, "two", false, true},
		{"two on PostgreSQL", postgres, postgres, "two", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			redis := openRedis(t, "")
			first, err := join(t, redis, tt.first(t), "one")
			if err != nil {
				t.Fatal(err)
			}
			if tt.stopped {
				if err := first.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				defer first.Close()
			}
			second, err := join(t, redis, tt.second(t), tt.as)
			if err == nil {
				defer second.Close()
			}
			if tt.refused != errors.Is(err, queue.ErrAlone) {
				t.Fatalf("%v; refused: want %v", err, tt.refused)
			}
			if tt.refused && !(strings.Contains(err.Error(), `"one"`) && strings.Contains(err.Error(), "PostgreSQL")) {
				t.Errorf("%v: it names neither the other router nor what to do", err)
			}
			if !tt.refused {
				return
			}
			// A refused router leaves no trace: it may start when the other has gone.
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			third, err := join(t, redis, tt.second(t), tt.as)
			if err != nil {
				t.Fatal(err)
			}
			third.Close()
		})
	}
}

// join has a router join the others and returns what has it leave.
func join(t *testing.T, redis *queue.Redis, db, name string) (io.Closer, error) {
	t.Helper()
	r, err := New(t.Context(), Config{Redis: redis, Table: openTable(t, db), Tokens: api.DemoTokens(), Listener: listen(t), Instance: name, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return closer(func() error { return r.intake.Close(t.Context()) }), nil
}

type closer func() error

func (c closer) Close() error { return c() }
