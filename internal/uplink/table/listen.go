package table

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// listenCheck is how long a silent connection is believed in.
const listenCheck = 30 * time.Second

// subscribe opens the connection on which PostgreSQL tells of changes.
func (t *Table) subscribe(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, t.db.postgres)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		t.hangUp(conn)
		return nil, err
	}
	return conn, nil
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
		t.config.Log.Warn("no word from the database about changes", "error", err)
		if conn = t.resubscribe(ctx); conn == nil {
			return
		}
		t.changes.add(change{everything: true})
	}
}

// resubscribe tries until it succeeds; nil: ctx ended.
func (t *Table) resubscribe(ctx context.Context) *pgx.Conn {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryAfter):
		}
		if conn, err := t.subscribe(ctx); err == nil {
			return conn
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
			if err := ping(ctx, conn); err != nil {
				return err
			}
		default:
			return cmp.Or(ctx.Err(), err) // the caller may have left just when the wait was over
		}
	}
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return conn.Ping(ctx)
}
