package table

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"contend/systems/uplink/lorawan"
)

// same reports whether two instances know the same of a customer.
func same(one, other *Table, c Customer) bool {
	all := Filter{Limit: -1}
	return reflect.DeepEqual(one.Select(c, all), other.Select(c, all)) &&
		reflect.DeepEqual(one.Groups(c, nil), other.Groups(c, nil))
}

// A device that another instance dropped without the knowledge of this one comes
// back without its groups.
func TestForgottenDevice(t *testing.T) {
	url := sqliteBackend.fresh(t)
	one := open(t, Config{URL: url}) // nobody tells it
	insert(t, one, "a", 1, 1)
	if err := errors.Join(create(one, "a", 7, ""), one.AddToGroup(t.Context(), "a", 7, 1)); err != nil {
		t.Fatal(err)
	}
	directly(t, url, "DELETE FROM devices")
	insert(t, one, "a", 1, 1)
	if got := members(one, "a")[7]; len(got) != 0 {
		t.Errorf("the group still has %v", got)
	}
	directly(t, url, "DELETE FROM devices")
	directly(t, url, "INSERT INTO devices (dev_eui, customer, active, created) VALUES (1, 'b', 5, 1)")
	one.heard("x d " + lorawan.EUI(1).String())
	eventually(t, "it has a new owner", func() bool { row, _ := one.ByDevEUI(1); return row.Customer == "b" })
	if fresh := reopen(t, one); !same(one, fresh, "a") || !same(one, fresh, "b") {
		t.Error("differs from a table opened now")
	}
}

// fill writes devices 1 to n directly.
func fill(t testing.TB, url string, c Customer, n int) {
	t.Helper()
	if err := open(t, Config{URL: url}).Close(); err != nil { // it has the schema now
		t.Fatal(err)
	}
	directly(t, url, fmt.Sprintf(`INSERT INTO devices (dev_eui, customer, join_eui, active, created)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i, '%s', i, i, i FROM n`, n, c))
}

// directly runs a statement without notifying any instance.
func directly(t testing.TB, url, statement string, args ...any) {
	t.Helper()
	db, err := openDatabase(url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// elsewhere begins a transaction on a connection that is no table's, with a statement.
func elsewhere(t testing.TB, url, statement string) *sql.Tx {
	t.Helper()
	db, err := openDatabase(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.close() })
	tx, err := db.BeginTx(t.Context(), nil)
	if err == nil && statement != "" {
		_, err = tx.ExecContext(t.Context(), statement)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// After a gap everything is read again: what came, what went, what changed.
func TestReload(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		fill(t, url, "a", 1000)
		table := open(t, Config{URL: url})
		if err := create(table, "a", 7, "seven"); err != nil {
			t.Fatal(err)
		}
		directly(t, url, "DELETE FROM devices WHERE dev_eui > 900")
		directly(t, url, "UPDATE devices SET customer = 'b' WHERE dev_eui <= 100")
		directly(t, url, "UPDATE devices SET active = 77, suspended = 1, created = created + 5000 WHERE dev_eui = 500")
		directly(t, url, "INSERT INTO devices (dev_eui, customer, join_eui, created) VALUES (5000, 'c', 1, 1)")
		directly(t, url, "INSERT INTO multicast_devices VALUES ('a', 7, 500)")
		table.heard("somebody says nonsense")
		eventually(t, "read again", func() bool { return table.Len() == 901 && len(members(table, "a")[7]) == 1 })
		fresh := reopen(t, table)
		for _, c := range []Customer{"a", "b", "c"} {
			if !same(table, fresh, c) {
				t.Errorf("customer %s differs from a table opened now", c)
			}
		}
		if row, _ := table.ByDevEUI(500); !row.Suspended || row.Active != 77 {
			t.Errorf("%+v", row)
		}
		if table.ByAddr(nil, 500) != nil || len(table.ByAddr(nil, 77)) != 2 {
			t.Error("the index does not follow")
		}
	})
}

// Writes during a reload win over what it read.
func TestWritesDuringReloads(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		fill(t, url, "a", 2000)
		table := open(t, Config{URL: url})
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 12 {
					eui := lorawan.EUI(10_000 + 100*w + i)
					table.heard("x nonsense")
					insert(t, table, "a", eui, 1)
					if _, err := table.Update(t.Context(), "a", lorawan.EUI(500*w+i+1), lorawan.EUI(500*w+i+1),
						Update{Active: ptr(lorawan.DevAddr(77))}); err != nil {
						t.Error(err)
					}
					if i%2 == 0 {
						if n, err := table.Drop(t.Context(), "a", []lorawan.EUI{eui}); n != 1 || err != nil {
							t.Error(n, err)
						}
					}
				}
			})
		}
		wg.Wait()
		if table.Len() != 2000+4*6 || len(table.ByAddr(nil, 77)) != 4*12+1 { // and device 77
			t.Errorf("%d devices, %d at the address", table.Len(), len(table.ByAddr(nil, 77)))
		}
		if fresh := reopen(t, table); !same(table, fresh, "a") {
			t.Error("differs from a table opened now")
		}
	})
}

// Several begin an empty database at once. Of SQLite one has the file at a time.
func TestSeveralStartAtOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		var wg sync.WaitGroup
		var opened atomic.Int32
		for range 5 {
			wg.Go(func() {
				table, err := Open(t.Context(), Config{URL: url})
				if err != nil {
					if !strings.HasPrefix(url, "sqlite:") || !strings.Contains(err.Error(), "another router has the SQLite file") {
						t.Error(err)
					}
					return
				}
				opened.Add(1)
				if err := table.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if opened.Load() == 0 {
			t.Error("nobody could")
		}
	})
}

// An SQLite file is one table's, under whatever name, until that is closed. Others
// may only look at it.
func TestOneTablePerFile(t *testing.T) {
	t.Parallel()
	url := sqliteBackend.fresh(t)
	file := strings.TrimPrefix(url, "sqlite:")
	table := open(t, Config{URL: url})
	urls := []string{url}
	if link := filepath.Join(t.TempDir(), "link.db"); os.Symlink(file, link) == nil { // not everywhere allowed
		urls = append(urls, "sqlite:"+link)
	}
	for _, url := range urls {
		if _, err := Open(t.Context(), Config{URL: url}); err == nil || errors.Is(err, ErrUnavailable) ||
			!strings.Contains(err.Error(), filepath.Base(file)) || !strings.Contains(err.Error(), "PostgreSQL") {
			t.Errorf("%s beside it: %v", url, err)
		}
	}
	directly(t, url, "SELECT count(*) FROM devices")
	insert(t, table, "a", 1, 1)
	for _, url := range urls {
		if table = reopen(t, table); table.Len() != 1 {
			t.Errorf("%s after it: %d devices", url, table.Len())
		}
		table.config.URL = url
	}
}

// A statement that the database refuses is a defect and not an outage.
func TestRefusedStatement(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		table := open(t, Config{URL: url})
		err := table.db.transaction(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "SELECT nonsense FROM nothing")
			return err
		})
		if err == nil || strings.Contains(err.Error(), ErrUnavailable.Error()) {
			t.Errorf("%v", err)
		}
	})
}
