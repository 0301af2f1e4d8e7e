package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// confirmFor is how long one question waits for replicas; then it is asked again.
const confirmFor = time.Second

// write sends commands that write to one key each and returns what became of them: only when as many
// replicas as Replicas have what was written, or an error is known, or ctx ends. Several for one slot are one transaction: were
// one of them refused alone, such as by a Redis that is full for that moment, what follows it would come before it. Gateways may
// use transactions; routers need no such right, as they write with one script.
func (r *Redis) write(ctx context.Context, cmds ...rueidis.Completed) []error {
	if len(cmds) == 1 && r.Replicas == 0 {
		return []error{r.client.Do(ctx, cmds[0]).Error()}
	}
	errs := make([]error, len(cmds))
	at := map[uint16][]int{} // by the slot: all its keys are on one server. Without a cluster there is one
	for i := range cmds {
		slot := cmds[i].Slot()
		at[slot] = append(at[slot], i)
	}
	var group sync.WaitGroup
	for _, places := range at {
		group.Go(func() {
			mine := make([]rueidis.Completed, len(places))
			for i, place := range places {
				mine[i] = cmds[place]
			}
			for i, err := range r.writeSlot(ctx, mine) {
				errs[places[i]] = err
			}
		})
	}
	group.Wait()
	return errs
}

// writeSlot is write for one slot. It has a connection of its own: WAIT counts what the same connection has written.
func (r *Redis) writeSlot(ctx context.Context, cmds []rueidis.Completed) []error {
	client, release := r.client.Dedicate()
	defer release()
	var errs []error
	if len(cmds) > 1 {
		errs = transact(ctx, client, cmds)
	} else {
		errs = []error{client.Do(ctx, cmds[0]).Error()}
	}
	if r.Replicas == 0 || !slices.Contains(errs, nil) {
		return errs
	}
	if err := r.waitForReplicas(ctx, client); err != nil {
		err = fmt.Errorf("written, but not known to be on %d replicas: %w", r.Replicas, err)
		for i := range errs {
			errs[i] = cmp.Or(errs[i], err)
		}
	}
	return errs
}

func transact(ctx context.Context, client rueidis.DedicatedClient, cmds []rueidis.Completed) []error {
	replies := client.DoMulti(ctx, slices.Concat([]rueidis.Completed{client.B().Multi().Build()}, cmds, []rueidis.Completed{client.B().Exec().Build()})...)
	var refused error // the first one, which EXEC does not repeat
	for _, reply := range replies {
		refused = cmp.Or(refused, reply.Error())
	}
	done, err := replies[len(replies)-1].ToArray()
	errs := make([]error, len(cmds))
	for i := range errs {
		if errs[i] = cmp.Or(refused, err); errs[i] == nil {
			errs[i] = done[i].Error()
		}
	}
	return errs
}

// waitForReplicas asks again and again, as writing once more would make copies, until the connection breaks or the
// server is no longer a master. Its error does not mean that what was written was refused, unless WAIT itself is not
// allowed.
func (r *Redis) waitForReplicas(ctx context.Context, client rueidis.DedicatedClient) error {
	for {
		// A server that vanished says nothing, and no connection ends by that for minutes.
		asking, cancel := context.WithTimeout(ctx, confirmFor+replyTime)
		n, err := client.Do(asking, client.B().Wait().Numreplicas(int64(r.Replicas)).Timeout(confirmFor.Milliseconds()).Build()).AsInt64()
		cancel()
		switch {
		case err == nil && n >= int64(r.Replicas):
			return nil
		case err == nil:
			r.log.Warn("redis", "what", "waiting for replicas", "wanted", r.Replicas, "confirmed", n)
		case strings.HasPrefix(err.Error(), "NOPERM") || strings.Contains(err.Error(), "unknown command"):
			return err
		default:
			return errors.New(err.Error())
		}
	}
}
