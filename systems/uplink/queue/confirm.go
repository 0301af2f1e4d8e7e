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

// write sends commands that write to one key each, together, and returns what became of them: only when as many
// replicas as Replicas have what was written, or an error is known, or ctx ends.
func (r *Redis) write(ctx context.Context, cmds ...rueidis.Completed) []error {
	errs := make([]error, len(cmds))
	if r.Replicas == 0 {
		for i, reply := range r.client.DoMulti(ctx, cmds...) {
			errs[i] = reply.Error()
		}
		return errs
	}
	at := map[uint16][]int{} // by the slot, all keys of which are on one server
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
			for i, err := range r.confirmed(ctx, mine) {
				errs[places[i]] = err
			}
		})
	}
	group.Wait()
	return errs
}

// confirmed is write on one server. WAIT counts what the same connection has written.
func (r *Redis) confirmed(ctx context.Context, cmds []rueidis.Completed) []error {
	client, release := r.client.Dedicate()
	defer release()
	errs := make([]error, len(cmds))
	for i, reply := range client.DoMulti(ctx, cmds...) {
		errs[i] = reply.Error()
	}
	if !slices.Contains(errs, nil) {
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

// waitForReplicas asks again and again, as writing once more would make copies, until the connection breaks or the
// server is a master no more. What it fails with is no refusal of what was written, unless WAIT itself is not allowed.
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
