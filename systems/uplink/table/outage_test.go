package table

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"contend/systems/uplink/lorawan"
)

// While the database is away, look-ups go on and writes fail clearly; when it is back
// everything works again without help, and what happened in between is known.
func TestOutage(t *testing.T) {
	pg := postgres(t)
	url := pg.Fresh(t)
	fill(t, url, "a", 100)
	table := open(t, Config{URL: url})
	ctx := t.Context()
	if err := create(table, "a", 7, "seven"); err != nil {
		t.Fatal(err)
	}
	pg.Stop(t)
	for name, write := range map[string]func() error{
		"insert": func() error { _, err := table.Insert(ctx, "a", NewDevice{DevEUI: 500, JoinEUI: ptr(high)}); return err },
		"update": func() error {
			_, err := table.Update(ctx, "a", 1, 1, Update{Active: ptr(lorawan.DevAddr(9))})
			return err
		},
		"drop":     func() error { _, err := table.Drop(ctx, "a", []lorawan.EUI{1}); return err },
		"drop all": func() error { _, err := table.DropAll(ctx, "a"); return err },
		"target":   func() error { return table.SetTarget(ctx, "a", 1, 9) },
		"promote":  func() error { return table.Promote(ctx, 1, 9) },
		"suspend":  func() error { return table.Suspend(ctx, 1, 1) },
		"trust":    func() error { return table.SaveTrust(ctx, []Trust{{DevEUI: 1, Created: 1, Size: 2}}) },
		"create":   func() error { return create(table, "a", 8, "") },
		"move":     func() error { return move(table, "a", 7, 8) },
		"add":      func() error { return table.AddToGroup(ctx, "a", 7, 1) },
		"remove":   func() error { _, err := table.RemoveFromGroup(ctx, "a", 7, 1); return err },
		"delete":   func() error { _, err := table.DeleteGroups(ctx, "a", []lorawan.DevAddr{7}); return err },
	} {
		if err := write(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s without the database: %v", name, err)
		}
	}
	if _, err := Open(ctx, Config{URL: url}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("opening without the database: %v", err)
	}
	if err := table.Ping(ctx); !errors.Is(err, ErrUnavailable) {
		t.Errorf("ping: %v", err)
	}
	if row, ok := table.ByDevEUI(1); !ok || row.Active != 1 || len(table.ByAddr(nil, 100)) != 1 ||
		len(table.Select("a", Filter{Limit: -1})) != 100 || len(members(table, "a")) != 1 {
		t.Error("look-ups depend on the database")
	}
	pg.Restart(t)
	dropMeanwhile(t, url, "a", 100)
	eventually(t, "a write succeeds", func() bool {
		_, err := table.Insert(ctx, "a", NewDevice{DevEUI: 500, JoinEUI: ptr(high)})
		return err == nil
	})
	if err := table.Ping(ctx); err != nil {
		t.Error(err)
	}
	eventually(t, "what happened meanwhile is known", func() bool { return table.ByAddr(nil, 100) == nil })
	if table.Len() != 100 {
		t.Errorf("%d devices", table.Len())
	}
}

// dropMeanwhile has another instance drop devices. It tells those that listen; the others
// read everything when they listen again.
func dropMeanwhile(t testing.TB, url string, c Customer, euis ...lorawan.EUI) {
	t.Helper()
	another := open(t, Config{URL: url})
	if n, err := another.Drop(t.Context(), c, euis); n != len(euis) || err != nil {
		t.Fatal(n, err)
	}
}

// A broken connection is noticed, and what other instances changed since is read.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	pg := postgres(t)
	url := pg.Fresh(t)
	name := url[strings.LastIndex(url, "/test")+1 : strings.Index(url, "?")]
	fill(t, url, "a", 10)
	one, other := open(t, Config{URL: url}), open(t, Config{URL: url})
	for i := range lorawan.EUI(2) {
		pg.Exec(t, "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+name+"'")
		if _, err := one.Insert(t.Context(), "a", NewDevice{DevEUI: 100 + i, JoinEUI: ptr(high)}); err != nil {
			t.Errorf("write %d after the connections broke: %v", i, err)
		}
		eventually(t, "the other instance follows", func() bool { return same(one, other, "a") })
	}
}

// A database that keeps a reload waiting ends it, however long one may take; the next one reads all.
func TestSilentReload(t *testing.T) {
	url := postgres(t).Fresh(t)
	fill(t, url, "a", 1000)
	table := open(t, Config{URL: url})
	table.db.silence = 100 * time.Millisecond
	locked := elsewhere(t, url, "LOCK TABLE devices")
	if err := table.reload(t.Context()); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "no rows for 100ms") {
		t.Errorf("while it waits: %v", err)
	}
	if err := locked.Rollback(); err != nil {
		t.Fatal(err)
	}
	table.db.silence = readSilence
	directly(t, url, "DELETE FROM devices WHERE dev_eui = 1")
	if err := table.reload(t.Context()); err != nil || table.Len() != 999 {
		t.Errorf("after that: %v, %d devices", err, table.Len())
	}
}

// A database that does not answer counts as unavailable. If the write happens later,
// it shows in memory then: the instance listens to itself while it is in doubt.
func TestSilentDatabase(t *testing.T) {
	url := postgres(t).Fresh(t)
	fill(t, url, "a", 10)
	table := open(t, Config{URL: url})
	table.db.timeout = 100 * time.Millisecond
	late := elsewhere(t, url, "UPDATE devices SET suspended = 1 WHERE dev_eui = 1")
	if err := table.Suspend(t.Context(), 1, 1); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a write that waits for a lock: %v", err)
	}
	eventually(t, "another device can be written", func() bool { return table.Suspend(t.Context(), 2, 2) == nil })
	text := table.instance + " d " + lorawan.EUI(1).String()
	if err := table.tell(t.Context(), late, []string{text}); err != nil {
		t.Fatal(err)
	}
	if err := late.Commit(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the row is read again", func() bool { row, _ := table.ByDevEUI(1); return row.Suspended })
}

// A device that another instance drops between the check and the write is not found,
// which the write learns when it tries again.
func TestDroppedMeanwhile(t *testing.T) {
	url := postgres(t).Fresh(t)
	fill(t, url, "a", 1)
	table := open(t, Config{URL: url})
	if err := create(table, "a", 7, ""); err != nil {
		t.Fatal(err)
	}
	tx := elsewhere(t, url, "DELETE FROM devices")
	added := make(chan error)
	go func() { added <- table.AddToGroup(t.Context(), "a", 7, 1) }()
	eventually(t, "the write waits", func() bool {
		var waiting int
		row := table.db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted")
		return row.Scan(&waiting) == nil && waiting > 0
	})
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-added; !errors.Is(err, ErrDeviceNotFound) {
		t.Errorf("%v", err)
	}
}

// Connections that lead nowhere cost one write its time and not each its own.
func TestConnectionsThatLeadNowhere(t *testing.T) {
	t.Parallel()
	pg := postgres(t)
	url := pg.Fresh(t)
	fill(t, url, "a", 10)
	proxy := newProxy(t, pg.Socket())
	table := open(t, Config{URL: strings.Replace(url, pg.Host(), proxy.dir, 1)})
	useAll(t, table)
	proxy.swallow()
	table.db.timeout = time.Second
	if err := table.Suspend(t.Context(), 1, 1); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a write into the void: %v", err)
	}
	table.db.timeout = time.Minute
	if err := table.Suspend(t.Context(), 1, 1); err != nil {
		t.Errorf("a write on a new connection: %v", err)
	}
}

// A write that may or may not have been committed is not repeated: it fails, and the
// table finds out.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	pg := postgres(t)
	url := pg.Fresh(t)
	fill(t, url, "a", 1)
	proxy := newProxy(t, pg.Socket())
	table := open(t, Config{URL: strings.Replace(url, pg.Host(), proxy.dir, 1)})
	d := NewDevice{DevEUI: 500, JoinEUI: ptr(high)}
	proxy.cut.Store(true)
	eventually(t, "its commit is passed on", func() bool { // on a busy machine it may fail before
		_, err := table.Insert(t.Context(), "a", d)
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v", err)
		}
		return proxy.committed.Load()
	})
	proxy.cut.Store(false)
	eventually(t, "it is known to have been written", func() bool { _, ok := table.ByDevEUI(500); return ok })
	if _, err := table.Insert(t.Context(), "a", d); !errors.Is(err, ErrDeviceExists) {
		t.Errorf("once more: %v", err)
	}
}

// The error of a server shows whether it is away, whether to try again, or whose mistake it was.
func TestFailures(t *testing.T) {
	for code, want := range map[string]struct{ unavailable, again bool }{
		"08006": {true, false},  // connection_failure
		"08P01": {true, false},  // of a pooler: no server for it
		"25006": {true, false},  // read_only_sql_transaction
		"40001": {true, true},   // serialization_failure
		"40003": {true, false},  // statement_completion_unknown
		"40P01": {true, true},   // deadlock_detected
		"42703": {false, false}, // undefined_column
		"23503": {false, true},  // foreign_key_violation
		"53100": {true, false},  // disk_full
		"53300": {true, false},  // too_many_connections
		"57P01": {true, false},  // admin_shutdown
		"57P02": {true, false},  // crash_shutdown
		"57P03": {true, false},  // cannot_connect_now
	} {
		err := error(&pgconn.PgError{Code: code})
		if got := errors.Is(classified(err), ErrUnavailable); got != want.unavailable || retryable(err) != want.again {
			t.Errorf("%s: unavailable %v, again %v", code, got, retryable(err))
		}
		if got := errors.Is(classified(err), ErrFull); got != (code == "53100") {
			t.Errorf("%s: full %v", code, got)
		}
	}
}

// A proxy connects a table to a server.
type proxy struct {
	dir       string
	cut       atomic.Bool // a commit is passed on, and its answer is not
	committed atomic.Bool // so it was
	mu        sync.Mutex
	clients   map[net.Conn]*atomic.Bool // whether bytes are passed on
}

func newProxy(t *testing.T, server string) *proxy {
	dir, err := os.MkdirTemp("", "proxy") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{dir: dir, clients: map[net.Conn]*atomic.Bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.pass(client, server) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.each(func(client net.Conn, _ *atomic.Bool) { client.Close() })
		running.Wait()
		os.RemoveAll(dir)
	})
	return p
}

func (p *proxy) each(do func(client net.Conn, passes *atomic.Bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for client, passes := range p.clients {
		do(client, passes)
	}
}

func (p *proxy) pass(client net.Conn, server string) {
	defer client.Close()
	upstream, err := net.Dial("unix", server)
	if err != nil {
		return
	}
	defer upstream.Close()
	passes := new(atomic.Bool)
	passes.Store(true)
	p.mu.Lock()
	p.clients[client] = passes
	p.mu.Unlock()
	var silent atomic.Bool
	answered := make(chan error, 1)
	go func() { // ends with upstream
		for buf := make([]byte, 4096); ; {
			n, err := upstream.Read(buf)
			if err != nil || silent.Load() {
				answered <- err
				return
			}
			_, _ = client.Write(buf[:n])
		}
	}()
	for buf := make([]byte, 4096); ; {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		last := p.cut.Load() && bytes.Contains(buf[:n], []byte("commit"))
		silent.Store(last)
		if passes.Load() {
			_, err = upstream.Write(buf[:n])
		}
		if last {
			if err == nil {
				err = <-answered // before that, a client that is cut off has the server cancel the commit
			}
			p.committed.Store(err == nil)
			return
		}
	}
}

// swallow lets all connections that there are lead nowhere.
func (p *proxy) swallow() {
	p.each(func(_ net.Conn, passes *atomic.Bool) { passes.Store(false) })
}

// A connection on which nothing comes is looked after and stays in use.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	table := open(t, Config{URL: postgres(t).Fresh(t)})
	heard := &Table{db: table.db, config: table.config, changes: newChanges(), instance: "other"}
	conn, err := heard.subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer heard.hangUp(conn)
	witness, err := pgx.ConnectConfig(t.Context(), table.db.postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer heard.hangUp(witness)
	if _, err := witness.Exec(t.Context(), "LISTEN "+heard.echo()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- heard.receive(ctx, conn, time.Millisecond) }()
	for range 3 { // it is looked after
		if _, err := witness.WaitForNotification(patient(t)); err != nil {
			t.Fatal(err)
		}
	}
	insert(t, table, "a", 1, 1)
	<-heard.changes.signal
	if got := heard.changes.take(); len(got.euis) != 1 {
		t.Errorf("%+v", got)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A caller who leaves does not stop a write that has begun, and waits no longer for
// one that has not.
func TestCallerLeaves(t *testing.T) {
	table := open(t, Config{URL: "sqlite::memory:"})
	created := insert(t, table, "a", 1, 1).Created.UnixMicro()
	release, err := table.turns.take(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := table.Suspend(ctx, 1, created); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	release()
	if row, _ := table.ByDevEUI(1); row.Suspended {
		t.Error("written without a turn")
	}
}
