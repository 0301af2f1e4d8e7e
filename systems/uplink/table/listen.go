package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// listenCheck is how long a silent connection is trusted.
const listenCheck = 30 * time.Second

// echo is the channel on which an instance hears itself only.
func (t *Table) echo() string { return channel + "_" + strings.ToLower(t.instance) }

// subscribe opens the connection on which PostgreSQL tells of changes.
func (t *Table) subscribe(ctx context.Context) (*pgx.Conn, error) {
	connecting, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, t.db.listening)
	if err != nil {
		return nil, err
	}
	if _, err = conn.Exec(connecting, "LISTEN "+channel+"; LISTEN "+t.echo()); err == nil {
		err = t.hears(ctx, conn)
	}
	if err != nil {
		t.hangUp(conn)
		return nil, err
	}
	return conn, nil
}

// hears checks that notifications sent where writes go are heard here: the connection
// may lead nowhere, to a server that others no longer write to, or over a pooler that
// gives each transaction another server.
func (t *Table) hears(ctx context.Context, conn *pgx.Conn) error {
	wait, cancel := context.WithTimeout(ctx, t.db.timeout)
	defer cancel()
	if err := t.db.writable(wait, isReadOnly+" FROM pg_notify($1, '')", t.echo()); err != nil {
		return err
	}
	for {
		switch notification, err := conn.WaitForNotification(wait); {
		case err == nil && notification.Channel == t.echo():
			return nil
		case err == nil:
			t.heard(notification.Payload)
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return fmt.Errorf("table: %w: nothing within %v", ErrDeaf, t.db.timeout)
		default:
			return err
		}
	}
}

// hangUp closes a connection that may be broken.
func (t *Table) hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// listen passes changes on until ctx ends. After an interruption everything is read
// again.
func (t *Table) listen(ctx context.Context, conn *pgx.Conn) {
	for {
		err := t.receive(ctx, conn, listenCheck)
		t.hangUp(conn)
		if ctx.Err() != nil {
			return
		}
		t.deaf.Store(true)
		t.config.Log.Warn("no word from the database about changes", "error", err)
		t.db.outages.Add(1) // other connections may lead where this one did
		if conn = t.resubscribe(ctx); conn == nil {
			return
		}
		t.deaf.Store(false)
		t.changes.add(change{everything: true})
	}
}

// sayAgain is how often the log says why changes are not heard: after so many times the time of a transaction, a minute.
const sayAgain = 6

// resubscribe tries until it succeeds; nil: ctx ended.
func (t *Table) resubscribe(ctx context.Context) *pgx.Conn {
	var said time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryAfter):
		}
		conn, err := t.subscribe(ctx)
		if err == nil {
			return conn
		}
		if ctx.Err() == nil && time.Since(said) >= sayAgain*t.db.timeout {
			t.config.Log.Warn("changes by other routers are not heard", "error", err)
			said = time.Now()
		}
	}
}

// receive passes changes on until the connection breaks, which it looks after when
// nothing came for the time of check.
func (t *Table) receive(ctx context.Context, conn *pgx.Conn, check time.Duration) error {
	for {
		wait, cancel := context.WithTimeout(ctx, check)
		notification, err := conn.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil:
			t.heard(notification.Payload)
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !conn.IsClosed():
			if err := t.hears(ctx, conn); err != nil {
				return cmp.Or(ctx.Err(), err)
			}
		default:
			return cmp.Or(ctx.Err(), err) // the caller may have left just when the wait was over
		}
	}
}
