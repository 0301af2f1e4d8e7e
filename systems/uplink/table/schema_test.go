package table

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"contend/systems/uplink/lorawan"
)

// known is how many steps this program knows.
func known(t testing.TB) int {
	t.Helper()
	files, err := fs.ReadDir(steps(), ".")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// later is what a later program knows: more steps.
func later(t testing.TB, more ...string) fs.FS {
	t.Helper()
	files, known := fstest.MapFS{}, known(t)
	for i := range known {
		name := strconv.Itoa(i+1) + ".sql"
		text, err := fs.ReadFile(steps(), name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	for i, text := range more {
		files[strconv.Itoa(known+i+1)+".sql"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

const (
	adds   = additive + "ALTER TABLE devices ADD COLUMN note TEXT; CREATE INDEX devices_by_note ON devices (note)"
	breaks = "ALTER TABLE devices RENAME COLUMN trust TO confidence"
)

// migrated brings a database to where a later program needs it.
func migrated(t testing.TB, url string, more ...string) {
	t.Helper()
	db, err := openDatabase(url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	if err := db.migrate(t.Context(), later(t, more...)); err != nil {
		t.Fatal(err)
	}
}

// A program that is older than the schema reads and writes if all steps that it does
// not know say that it may. Otherwise it says what is too new.
func TestSchemaAhead(t *testing.T) {
	t.Parallel()
	now := known(t)
	for _, test := range []struct {
		name string
		more []string
		says string // "": it works
	}{
		{"one that adds", []string{adds}, ""},
		{"two that add", []string{adds, additive + "CREATE TABLE notes (note TEXT)"}, ""},
		{"one that breaks", []string{breaks}, fmt.Sprintf("has version %d, which needs a later contend, that knows version %d; this one knows up to %d", now+1, now+1, now)},
		{"one that adds after one that breaks", []string{breaks, adds}, fmt.Sprintf("has version %d, which needs a later contend, that knows version %d; ", now+2, now+1)},
		{"one that breaks after one that adds", []string{adds, breaks}, fmt.Sprintf("has version %d, which needs a later contend, that knows version %d; ", now+2, now+2)},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, url string) {
				fill(t, url, "a", 10)
				migrated(t, url, test.more...)
				if test.says != "" {
					_, err := Open(t.Context(), Config{URL: url})
					if !errors.Is(err, errSchema) || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), test.says) {
						t.Errorf("%v, want %q", err, test.says)
					}
					return
				}
				table := open(t, Config{URL: url})
				insert(t, table, "a", 100, 1)
				_, err := table.Update(t.Context(), "a", 1, 1, Update{Active: ptr(lorawan.DevAddr(9))})
				if err := errors.Join(err, create(table, "a", 7, ""), table.AddToGroup(t.Context(), "a", 7, 1)); err != nil {
					t.Error(err)
				}
				if fresh := reopen(t, table); fresh.Len() != 11 || !same(table, fresh, "a") {
					t.Error("differs from a table opened now")
				}
			})
		})
	}
}

// A version without a word about who may use it is for programs that know it.
func TestSchemaOfTheFuture(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		if err := open(t, Config{URL: url}).Close(); err != nil {
			t.Fatal(err)
		}
		directly(t, url, "INSERT INTO schema_versions VALUES (99, 0)")
		if _, err := Open(t.Context(), Config{URL: url}); !errors.Is(err, errSchema) || !strings.Contains(err.Error(), "99") {
			t.Errorf("%v", err)
		}
	})
}

// A database from before versions said who may use them is as it was.
func TestSchemaWithoutCompatibility(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		fill(t, url, "a", 10)
		directly(t, url, "DROP TABLE schema_compatible")
		if table := open(t, Config{URL: url}); table.Len() != 10 {
			t.Errorf("%d devices", table.Len())
		}
	})
}

// Later programs start at once on an older schema, while an older one writes: one of
// them brings it up to date, and the older one goes on.
func TestSchemaBehind(t *testing.T) {
	t.Parallel()
	url := postgres(t).Fresh(t)
	fill(t, url, "a", 1000)
	table := open(t, Config{URL: url})
	var writing, starting sync.WaitGroup
	var written atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	for w := range 4 {
		writing.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, err := table.Insert(t.Context(), "a", NewDevice{DevEUI: lorawan.EUI(10_000*(w+1) + i), JoinEUI: ptr(high)})
				if err != nil {
					t.Error(err)
					return
				}
				written.Add(1)
			}
		})
	}
	eventually(t, "it writes", func() bool { return written.Load() > 20 })
	for range 5 {
		starting.Go(func() { migrated(t, url, adds) })
	}
	starting.Wait()
	before := written.Load()
	eventually(t, "it goes on", func() bool { return written.Load() > before+20 || t.Failed() })
	stop()
	writing.Wait()
	var steps, devices int
	row := table.db.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM schema_versions), (SELECT count(*) FROM devices WHERE note IS NULL)")
	if err := row.Scan(&steps, &devices); err != nil || steps != known(t)+1 || devices != 1000+int(written.Load()) {
		t.Errorf("%d steps, %d devices of %d written, %v", steps, devices, written.Load(), err)
	}
	if fresh := reopen(t, table); !same(table, fresh, "a") {
		t.Error("differs from a table opened now")
	}
}

// Where a later program makes the schema one that a running one does not understand,
// look-ups go on, and writes say why they fail.
func TestSchemaBreaks(t *testing.T) {
	t.Parallel()
	url := postgres(t).Fresh(t)
	fill(t, url, "a", 10)
	table := open(t, Config{URL: url})
	insert(t, table, "a", 100, 1)
	migrated(t, url, breaks)
	err := table.Suspend(t.Context(), 1, 1)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), fmt.Sprintf("the database has version %d", known(t)+1)) {
		t.Errorf("%v", err)
	}
	if err := create(table, "a", 7, ""); err != nil {
		t.Errorf("a write that the schema allows: %v", err)
	}
	table.heard("x nonsense")
	if row, ok := table.ByDevEUI(1); !ok || row.Active != 1 || table.Len() != 11 {
		t.Error("look-ups depend on the database")
	}
	directly(t, url, "DELETE FROM devices WHERE dev_eui = 2")                 // without notification
	directly(t, url, "ALTER TABLE devices RENAME COLUMN confidence TO trust") // the next attempt to read succeeds
	eventually(t, "what happened meanwhile is known", func() bool { return table.Len() == 10 })
}

// A step that fails leaves nothing behind.
func TestStepThatFails(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		fill(t, url, "a", 1)
		db, err := openDatabase(url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.close()
		if err := db.migrate(t.Context(), later(t, adds, "nonsense")); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("schema version %d", known(t)+2)) {
			t.Errorf("%v", err)
		}
		version, oldest, err := schemaOf(t.Context(), db)
		if version != known(t) || oldest != 1 || err != nil {
			t.Error(version, oldest, err)
		}
	})
}
