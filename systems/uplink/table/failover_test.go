package table

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"contend/internal/testenv"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/table/tabletest"
)

// replicated starts a primary and a standby and returns a URL that names both, the standby
// first, and one that names the primary alone, of a database with devices 1 to 100.
func replicated(t testing.TB) (primary, standby *tabletest.Server, both, alone string) {
	t.Helper()
	primary = tabletest.Start(t)
	alone = primary.Fresh(t)
	fill(t, alone, "a", 100)
	standby = primary.Standby(t)
	return primary, standby, strings.Replace(alone, primary.Host(), standby.Host()+","+primary.Host(), 1), alone
}

// endWrites has a server take no writes any more, and leaves its connections.
func endWrites(t testing.TB, server *tabletest.Server) {
	t.Helper()
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = ''",
		"ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"} {
		server.Exec(t, "postgres", statement)
	}
}

// A writer inserts devices, each once, and keeps count.
type writer struct {
	table               *Table
	next                lorawan.EUI
	confirmed, doubtful map[lorawan.EUI]bool
	yes, no             atomic.Int64
}

func newWriter(table *Table, first lorawan.EUI) *writer {
	return &writer{table: table, next: first, confirmed: map[lorawan.EUI]bool{}, doubtful: map[lorawan.EUI]bool{}}
}

// run inserts until ctx ends. It looks a device up each time.
func (w *writer) run(ctx context.Context, t *testing.T) {
	for ; ctx.Err() == nil; w.next++ {
		_, err := w.table.Insert(ctx, "a", NewDevice{DevEUI: w.next, JoinEUI: ptr(high)})
		switch {
		case err == nil:
			w.confirmed[w.next] = true
			w.yes.Add(1)
		case errors.Is(err, ErrUnavailable):
			w.doubtful[w.next] = true
			w.no.Add(1)
			time.Sleep(time.Millisecond)
		case ctx.Err() == nil:
			t.Errorf("a write failed with %v", err)
		}
		if row, ok := w.table.ByDevEUI(1); !ok || row.Active != 1 || len(w.table.ByAddr(nil, 100)) != 1 {
			t.Error("look-ups depend on the database")
			return
		}
	}
}

// The primary is lost while two instances write. Look-ups go on, a write succeeds once
// or fails clearly, the standby that is promoted is found without help, and both
// instances come to know what is in it.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary, standby, url, _ := replicated(t)
	one, other := open(t, Config{URL: url}), open(t, Config{URL: url})
	writers := []*writer{newWriter(one, 10_000), newWriter(one, 20_000), newWriter(other, 30_000), newWriter(other, 40_000)}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, w := range writers {
		running.Go(func() { w.run(ctx, t) })
	}
	more := func(what string, n func(*writer) *atomic.Int64) {
		for _, w := range writers {
			least := n(w).Load() + 10
			eventually(t, what, func() bool { return n(w).Load() >= least || t.Failed() })
		}
	}
	yes, no := func(w *writer) *atomic.Int64 { return &w.yes }, func(w *writer) *atomic.Int64 { return &w.no }
	more("all write", yes)
	primary.Crash(t)
	more("nothing is written while there is no primary", no)
	standby.Exec(t, "postgres", "SELECT pg_promote()")
	promoted := time.Now()
	more("all write again", yes)
	t.Logf("all wrote again %v after the promotion", time.Since(promoted))
	stop()
	running.Wait()
	fresh := open(t, Config{URL: url})
	eventually(t, "both know what there is", func() bool { return same(one, fresh, "a") && same(other, fresh, "a") })
	t.Logf("both knew all %v after the promotion", time.Since(promoted))
	known := 100
	for _, w := range writers {
		for eui := range w.confirmed {
			if _, ok := fresh.ByDevEUI(eui); !ok {
				t.Errorf("device %v is gone, which the standby had confirmed", eui)
			}
		}
		for eui := range w.doubtful {
			if _, ok := fresh.ByDevEUI(eui); ok {
				known++
			}
		}
		known += len(w.confirmed)
	}
	if fresh.Len() != known {
		t.Errorf("%d devices, %d were written", fresh.Len(), known)
	}
	insert(t, other, "a", 50_000, 1)
	eventually(t, "changes are heard", func() bool { _, ok := one.ByDevEUI(50_000); return ok })
}

// A planned switch leaves the old primary running, for reading only, with all
// connections to it. Whoever writes goes to the new one, after one error at most for all
// connections; who only listens notices.
func TestSwitchover(t *testing.T) {
	t.Parallel()
	primary, standby, url, alone := replicated(t)
	table, idle := open(t, Config{URL: url}), open(t, Config{URL: url})
	useAll(t, idle)
	heard := listener(t, url)
	conn, err := heard.subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	endWrites(t, primary)
	eventually(t, "it is not available for writes", func() bool { return errors.Is(table.Ping(t.Context()), ErrUnavailable) })
	if err := table.Suspend(t.Context(), 1, 1); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a write for which there is no server: %v", err)
	}
	for _, url := range []string{url, alone} {
		if _, err := Open(t.Context(), Config{URL: url}); !errors.Is(err, ErrUnavailable) {
			t.Errorf("opening without a server that takes writes: %v", err)
		}
	}
	standby.Exec(t, "postgres", "SELECT pg_promote()")
	if err := table.Suspend(t.Context(), 1, 1); err != nil {
		t.Errorf("a write after the switch: %v", err)
	}
	if err := idle.Suspend(t.Context(), 1, 1); err != nil && !errors.Is(err, ErrUnavailable) {
		t.Errorf("a write on a connection from before the switch: %v", err)
	}
	for range connections {
		if err := idle.Suspend(t.Context(), 1, 1); err != nil {
			t.Errorf("a write after another one learned of the switch: %v", err)
		}
	}
	heard.db.timeout = time.Second
	ctx := patient(t)
	if err := heard.receive(ctx, conn, time.Millisecond); ctx.Err() != nil {
		t.Fatalf("the old connection is believed in: %v", err)
	}
	heard.db.timeout = writeTimeout
	heard.hangUp(conn)
	if conn, err = heard.subscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer heard.hangUp(conn)
	insert(t, table, "a", 1000, 1)
	if _, err := conn.WaitForNotification(patient(t)); err != nil {
		t.Errorf("nothing is heard from the new primary: %v", err)
	}
}

// useAll has as many connections as there may be, which then wait for the next write.
func useAll(t testing.TB, table *Table) {
	t.Helper()
	var held []*sql.Conn
	for range connections {
		conn, err := table.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	for _, conn := range held {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// listener is a table without goroutines that has a database of its own.
func listener(t testing.TB, url string) *Table {
	t.Helper()
	db, err := openDatabase(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.close() })
	return &Table{config: Config{Log: slog.New(slog.DiscardHandler)}, db: db, changes: newChanges(), instance: "listener"}
}

// When the connection that listens breaks, those that read again what was missed may
// lead nowhere, too, and are not tried.
func TestListeningAnew(t *testing.T) {
	t.Parallel()
	pg := postgres(t)
	url := pg.Fresh(t)
	proxy := newProxy(t, pg.Socket())
	heard := listener(t, strings.Replace(url, pg.Host(), proxy.dir, 1))
	if err := heard.db.listenAt(url); err != nil {
		t.Fatal(err)
	}
	conn, err := heard.subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	useAll(t, heard)
	proxy.swallow()
	heard.db.timeout = time.Hour
	heard.hangUp(conn)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); heard.listen(ctx, conn) }()
	eventually(t, "it is listening again", func() bool { return heard.changes.take().everything })
	stop()
	<-ended
}

// If nothing is heard, that is reported as long as it lasts.
func TestDeafness(t *testing.T) {
	t.Parallel()
	pg := postgres(t)
	heard := listener(t, pg.Fresh(t))
	var log testenv.Log
	heard.config.Log = slog.New(slog.NewTextHandler(&log, nil))
	if err := heard.db.listenAt(pg.Fresh(t)); err != nil { // another one
		t.Fatal(err)
	}
	heard.db.timeout = time.Second / 2 // it is said each six of them
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan *pgx.Conn)
	go func() { ended <- heard.resubscribe(ctx) }()
	eventually(t, "it is said twice", func() bool { return strings.Count(log.String(), ErrDeaf.Error()) > 1 })
	stop()
	if conn := <-ended; conn != nil {
		t.Error("it counts as heard")
	}
}
