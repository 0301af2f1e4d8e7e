package table

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"contend/internal/testenv"
	"contend/systems/uplink/lorawan"
)

func TestBadURLs(t *testing.T) {
	for _, url := range []string{"sqlite:", "mysql://x", "contend.db", "postgres://u:secret@h:port/", "postgres://h/?sslmode=x"} {
		_, err := Open(t.Context(), Config{URL: url})
		if err == nil || errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "no", "such", "folder", "rows.db")
	for _, url := range []string{"postgres://u:secret@" + testenv.HeldAddress(t) + "/x", "sqlite:" + missing} {
		_, err := Open(t.Context(), Config{URL: url})
		if !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestDefaultIsAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	table := open(t, Config{})
	insert(t, table, "a", 1, 1)
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := open(t, Config{URL: "sqlite:" + defaultFile}).ByDevEUI(1); !ok {
		t.Error("the device is not in the default file")
	}
}

func TestMemory(t *testing.T) {
	table, other := open(t, Config{URL: "sqlite::memory:"}), open(t, Config{URL: "sqlite::memory:"})
	insert(t, table, "a", 1, 1)
	table.heard("x nonsense") // read all again
	if err := create(table, "a", 1, ""); err != nil {
		t.Fatal(err)
	}
	if table.Len() != 1 || other.Len() != 0 {
		t.Errorf("%d and %d devices", table.Len(), other.Len())
	}
}

func TestCloseEndsEverything(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		before := goleak.IgnoreCurrent()
		table, err := Open(t.Context(), Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Close(); err != nil {
			t.Error(err)
		}
		if err := table.Suspend(t.Context(), 1, 1); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a write after closing: %v", err)
		}
		goleak.VerifyNone(t, before)
	})
}

// Another process keeps an SQLite file for itself.
func TestBusyFile(t *testing.T) {
	t.Parallel()
	url := sqliteBackend.fresh(t)
	table := open(t, Config{URL: url})
	created := insert(t, table, "a", 1, 1).Created.UnixMicro()
	table.db.timeout = 200 * time.Millisecond
	tx := elsewhere(t, url, "")
	if err := table.Suspend(t.Context(), 1, created); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a write succeeds", func() bool { return table.Suspend(t.Context(), 1, created) == nil })
}

// A file that cannot grow is a full disk to SQLite. Writes say so, and so does Ping until
// one succeeds; what is in memory stays as it was.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	table := open(t, Config{URL: sqliteBackend.fresh(t)})
	table.db.SetMaxOpenConns(1) // the limit is one of a connection
	limit := func(pages string) {
		t.Helper()
		if _, err := table.db.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	details := strings.Repeat("x", 4<<10)
	add := func(eui lorawan.EUI) error {
		_, err := table.Insert(t.Context(), "a", NewDevice{DevEUI: eui, DevAddr: ptr(lorawan.DevAddr(1)), Details: &details})
		return err
	}
	limit("1") // as many as there are
	eui, err := lorawan.EUI(1), error(nil)
	for ; err == nil && eui < 1000; eui++ {
		err = add(eui)
	}
	if !errors.Is(err, ErrFull) || !errors.Is(err, ErrUnavailable) {
		t.Fatalf("device %d: %v", eui, err)
	}
	if err := table.Ping(t.Context()); !errors.Is(err, ErrFull) {
		t.Errorf("ping: %v", err)
	}
	if n := table.Len(); n != int(eui)-2 {
		t.Errorf("%d devices, want %d", n, eui-2)
	}
	limit("1000000")
	if err := add(5000); err != nil {
		t.Fatal(err)
	}
	if err := table.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
}

// Readers see each row whole: a device has the address n as its active and n + 1 as
// its target address, or neither.
func TestReadersSeeWholeRows(t *testing.T) {
	x := newIndex()
	rows := func(shift lorawan.DevAddr) []entry {
		entries := make([]entry, 100)
		for i := range entries {
			n := lorawan.DevAddr(i) + shift
			entries[i].Row = Row{Customer: "a", DevEUI: lorawan.EUI(i), Active: n, HasActive: true, Target: n + 1, HasTarget: true}
		}
		return entries
	}
	x.putAll(rows(0))
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					read(t, x)
				}
			}
		})
	}
	for round := range lorawan.DevAddr(100) {
		x.putAll(rows(round % 3))
		x.removeAll([]lorawan.EUI{lorawan.EUI(round)})
	}
	close(stop)
	readers.Wait()
}

func read(t *testing.T, x *index) {
	for eui := range lorawan.EUI(100) {
		if row, ok := x.byDevEUI(eui); ok && (row.DevEUI != eui || row.Target != row.Active+1) {
			t.Errorf("%v: %+v", eui, row)
		}
	}
	for addr := range lorawan.DevAddr(102) {
		for _, row := range x.appendByAddr(nil, addr) {
			if row.Active != addr && row.Target != addr {
				t.Errorf("%v: %+v", addr, row)
			}
		}
	}
	table := &Table{index: x}
	if n := len(table.Select("a", Filter{Limit: -1})); n < 50 || n > 100 {
		t.Errorf("%d devices", n)
	}
}

// A change comes from another process: any text is possible.
func FuzzChange(f *testing.F) {
	for _, text := range []string{"", "d 00000000000000ff,fedcba9876543210", "g 00000001 a b", "d ,", "g 1 a", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseChange(text)
		if err == nil && len(c.euis)+len(c.groups) == 0 || len(c.euis) > len(text)/16 {
			t.Errorf("%q: %+v", text, c)
		}
	})
}

// What one instance writes, another reads.
func TestChangeTexts(t *testing.T) {
	table := &Table{instance: "me"}
	rows := make([]entry, namesPerText+1)
	for i := range rows {
		rows[i].DevEUI = high + lorawan.EUI(i)
	}
	var got []lorawan.EUI
	texts := append(table.devicesChanged(rows), table.groupChanged(groupKey{Customer(strings.Repeat("c d", 85)), 0xff}))
	for _, text := range texts {
		writer, text, _ := strings.Cut(text, " ")
		c, err := parseChange(text)
		if err != nil || writer != "me" || len(text) >= 8000-len(table.instance) {
			t.Fatalf("%.50s of %d bytes: %v", text, len(text), err)
		}
		got = append(got, c.euis...)
		if len(c.groups) > 0 && c.groups[0] != (groupKey{Customer(strings.Repeat("c d", 85)), 0xff}) {
			t.Errorf("%+v", c.groups)
		}
	}
	if len(texts) != 3 || len(got) != len(rows) || got[namesPerText] != rows[namesPerText].DevEUI {
		t.Errorf("%d texts name %d devices", len(texts), len(got))
	}
}

// Too many changes are one of everything.
func TestChangesAreBounded(t *testing.T) {
	c := newChanges()
	for i := range lorawan.EUI(maxChanges + 1) {
		c.add(change{euis: []lorawan.EUI{i}})
	}
	if got := c.take(); !got.everything || got.euis != nil {
		t.Errorf("everything: %v, and %d devices", got.everything, len(got.euis))
	}
	if got := c.take(); got.everything || got.euis != nil || got.groups != nil {
		t.Errorf("left: %+v", got)
	}
}
