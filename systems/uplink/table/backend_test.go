package table

import (
	"context"
	"path/filepath"
	"testing"

	"contend/internal/testenv"
)

// A backend is a kind of database on which the same tests run.
type backend struct {
	name string
	// fresh returns the URL of an empty database that outlives an open table.
	fresh func(t testing.TB) string
}

var sqliteBackend = backend{"sqlite", func(t testing.TB) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "rows%20 #.db") // a file name that needs escaping
}}

// onEach runs a test on every kind of database.
func onEach(t *testing.T, test func(t *testing.T, url string)) {
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) { test(t, b.fresh(t)) })
	}
}

func open(t testing.TB, c Config) *Table {
	t.Helper()
	table, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	return table
}

// reopen closes a table, which goes on knowing what it knew, and opens another one on
// its database.
func reopen(t testing.TB, table *Table) *Table {
	t.Helper()
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, table.config)
}

// eventually waits for what other goroutines bring about.
var eventually = testenv.Eventually

// patient is a context for what happens at once unless it hangs.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	t.Cleanup(cancel)
	return ctx
}

func ptr[T any](v T) *T { return &v }
