package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// How long redis-naive waits after a conflict: up to firstPause, and twice as long each
// time. Without it the callers of a busy counter undo each other's work. Among pauses
// from 1 to 256 ms these let most of 80 callers succeed within a second.
const (
	firstPause   = 2 * time.Millisecond
	longestPause = 64 * time.Millisecond
)

var errConflict = errors.New("another change came first")

// transact increments as a first version would: it watches the counter, reads it
// field by field, and writes it field by field unless it has changed.
func (c *Counter) transact(ctx context.Context, n int64) (Change, error) {
	if err := c.acquire(ctx); err != nil {
		return Change{}, err
	}
	defer c.release()
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		change, err := c.attempt(ctx, n)
		switch {
		case isStale(err):
			continue
		case !errors.Is(err, errConflict):
			return change, err
		}
		c.counts.conflicts.Add(1)
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return Change{}, unavailable(fmt.Errorf("%w: %w each time", ctx.Err(), err))
		}
	}
}

// A transaction is one attempt. After an error it does nothing more.
type transaction struct {
	rueidis.DedicatedClient
	c   *Counter
	ctx context.Context
	err error
}

func (c *Counter) attempt(ctx context.Context, n int64) (Change, error) {
	client, err := c.link.connected()
	if err != nil {
		return Change{}, err
	}
	conn, release := client.Dedicate()
	defer release()
	t := &transaction{DedicatedClient: conn, c: c, ctx: ctx}
	value, changed := t.read(n)
	t.write(value, changed)
	if t.err == nil {
		t.err = t.execute()
	}
	if t.err != nil && !errors.Is(t.err, errConflict) {
		conn.Close() // it may still watch
	}
	return Change{Value: value, At: changed}, t.err
}

// read returns what the fields will be; the status follows from the counter.
func (t *transaction) read(n int64) (value, changed int64) {
	t.do(t.B().Watch().Key(t.c.key).Build())
	before := t.get(fieldCounter)
	t.get(fieldStatus)
	changed = max(t.get(fieldChanged), time.Now().Unix())
	if value = before + n; t.err == nil && (value > before) != (n > 0) && n != 0 {
		t.err = fmt.Errorf("redis: refused: %d + %d would overflow", before, n)
	}
	return value, changed
}

func (t *transaction) write(value, changed int64) {
	t.do(t.B().Multi().Build())
	t.set(fieldCounter, value)
	t.set(fieldStatus, value&1)
	t.set(fieldChanged, changed)
}

func (t *transaction) do(cmd rueidis.Completed) rueidis.RedisResult {
	if t.err != nil {
		return rueidis.NewErrorResult(t.err)
	}
	t.c.counts.commands.Add(1)
	result := t.Do(t.ctx, cmd)
	switch err := result.Error(); {
	case isStale(err):
		t.err = err
	case !rueidis.IsRedisNil(err):
		t.err = t.c.judge(t.ctx, err, ErrUnavailable)
	}
	return result
}

// get returns 0 for a missing field.
func (t *transaction) get(field string) int64 {
	value, err := t.do(t.B().Hget().Key(t.c.key).Field(field).Build()).AsInt64()
	if err != nil && !rueidis.IsRedisNil(err) && t.err == nil {
		t.err = fmt.Errorf("redis: refused: field %s: %w", field, err)
	}
	return value
}

func (t *transaction) set(field string, value int64) {
	t.do(t.B().Hset().Key(t.c.key).FieldValue().FieldValue(field, strconv.FormatInt(value, 10)).Build())
}

// execute ends the transaction. After this a missing answer means that it may
// have happened.
func (t *transaction) execute() error {
	t.c.counts.commands.Add(1)
	replies, err := t.Do(t.ctx, t.B().Exec().Build()).ToArray()
	switch {
	case rueidis.IsRedisNil(err):
		return errConflict
	case isStale(err):
		return err
	}
	for i := range replies {
		err = errors.Join(err, replies[i].Error())
	}
	return t.c.judge(t.ctx, err, ErrIndeterminate)
}

// overwrite is the wrong way: between its GET and its SET others change the counter.
func (c *Counter) overwrite(ctx context.Context, n int64) (Change, error) {
	client, err := c.link.connected()
	if err != nil {
		return Change{}, err
	}
	value, err := c.get(ctx)
	if err != nil {
		return Change{}, c.judge(ctx, err, ErrUnavailable)
	}
	change := Change{Value: value + n, At: time.Now().Unix()}
	err = c.do(ctx, client, client.B().Hset().Key(c.key).FieldValue().
		FieldValue(fieldCounter, strconv.FormatInt(change.Value, 10)).
		FieldValue(fieldStatus, strconv.FormatInt(change.Value&1, 10)).
		FieldValue(fieldChanged, strconv.FormatInt(change.At, 10)).Build()).Error()
	return change, c.judge(ctx, err, ErrIndeterminate)
}
