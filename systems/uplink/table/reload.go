package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"contend/systems/uplink/lorawan"
)

const (
	// readSilence is how long the database may keep a reload waiting for rows. The whole is not bounded, and
	// takes as long as it takes: ten million rows about 25 s of CPU.
	readSilence = time.Minute
	// retryAfter is the time between attempts to reach a database that is away.
	retryAfter = time.Second
)

// start claims the file, brings the schema up to date, reads everything and starts the
// goroutines.
func (t *Table) start(ctx context.Context) error {
	if err := errors.Join(t.db.listenAt(t.config.Listen), t.db.claimFile()); err != nil {
		return err
	}
	if err := t.db.migrate(ctx, steps()); err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.stop = func() {
		cancel()
		running.Wait()
	}
	if t.db.postgres != nil {
		// Listening begins before reading: nothing falls in between.
		conn, err := t.subscribe(ctx)
		if err != nil {
			cancel()
			return classified(err)
		}
		running.Go(func() { t.listen(background, conn) })
	}
	if err := t.reload(ctx); err != nil {
		t.stop()
		return classified(err)
	}
	running.Go(func() { t.follow(background) })
	return nil
}

// follow reads again what changes name, until ctx ends.
func (t *Table) follow(ctx context.Context) {
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.changes.signal:
		}
		c := t.changes.take()
		err := t.refresh(ctx, c)
		if err == nil {
			failures = 0
			continue
		}
		err = t.db.noted(t.db.explained(ctx, err))
		if failures++; failures == 1 && ctx.Err() == nil {
			t.config.Log.Warn("changed rows cannot be read, which will be tried every second", "error", err)
		}
		t.changes.add(c)
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryAfter):
		}
	}
}

func (t *Table) refresh(ctx context.Context, c change) error {
	if c.everything {
		return t.reload(ctx)
	}
	for chunk := range slices.Chunk(c.euis, chunkRows) {
		if err := t.refreshDevices(ctx, chunk); err != nil {
			return err
		}
	}
	for _, key := range c.groups {
		if err := t.refreshGroups(ctx, &key); err != nil {
			return err
		}
	}
	return nil
}

// refreshDevices reads devices again.
func (t *Table) refreshDevices(ctx context.Context, euis []lorawan.EUI) error {
	release, err := t.turns.take(ctx, turnsOf(euis...))
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, t.db.timeout)
	defer cancel()
	found, err := query(ctx, t.db, scan, "SELECT "+columns+" FROM devices WHERE dev_eui IN "+t.db.set("$1"), list(euis))
	if err != nil {
		return err
	}
	left := make(map[lorawan.EUI]bool, len(found))
	for i := range found {
		left[found[i].DevEUI] = true
	}
	gone := slices.DeleteFunc(slices.Clone(euis), func(eui lorawan.EUI) bool { return left[eui] })
	t.hide(gone)
	t.show(found)
	return nil
}

// show puts rows in memory. A device that was dropped and came back is in no group.
func (t *Table) show(rows []entry) { t.groups.forget(t.index.putAll(rows)) }

// hide takes devices out of memory.
func (t *Table) hide(gone []lorawan.EUI) {
	t.groups.forget(gone)
	t.index.removeAll(gone)
}

// reload reads everything again, while look-ups and writes go on.
func (t *Table) reload(ctx context.Context) error {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(t.db.silence, func() {
		cancel(fmt.Errorf("table: %w: no rows for %v", ErrUnavailable, t.db.silence))
	})
	defer silent.Stop()
	t.index.begin()
	defer t.index.end()
	var met seen
	if err := t.readAll(ctx, &met, func() { silent.Reset(t.db.silence) }); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	gone := t.index.sweep(met)
	silent.Reset(t.db.silence)
	if err := t.refreshGroups(ctx, nil); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	t.config.Log.Info("routing table read", "devices", t.Len(), "removed", len(gone), "seconds", time.Since(began).Seconds())
	return nil
}

// readAll reads all devices in the order in which they lie in the database, since any
// other has it look for each; one batch is put in while the next is read. It calls progress with each.
func (t *Table) readAll(ctx context.Context, met *seen, progress func()) error {
	rows, err := t.db.QueryContext(ctx, "SELECT "+columns+" FROM devices")
	if err != nil {
		return err
	}
	defer rows.Close()
	read, free := make(chan []entry), make(chan []entry, 2) // the two that there are
	free <- make([]entry, 0, batchRows)
	free <- make([]entry, 0, batchRows)
	var merging sync.WaitGroup
	defer merging.Wait()
	defer close(read)
	merging.Go(func() {
		for batch := range read {
			t.index.merge(batch, met)
			free <- batch[:0]
		}
	})
	batch := <-free
	for rows.Next() {
		e, err := scan(rows)
		if err != nil {
			return err
		}
		if batch = append(batch, e); len(batch) == batchRows {
			read <- batch
			batch = <-free
			progress()
		}
	}
	read <- batch
	return rows.Err()
}
