package queue

import (
	"context"
	"strconv"

	"contend/systems/uplink/message"
)

// moveOver writes entries to the partitions of their addresses, whose writers chose another one, and acknowledges
// them: in their order, but what another writer has written there in the meantime is before them. Where a partition is
// away it tries in the background until Redis takes them, or the intake is closed; then they come again.
func (in *Intake) moveOver(strays []*message.Uplink) {
	at := map[int][]*message.Uplink{}
	for _, u := range strays {
		n := partitionOf(u.PHY, len(in.parts))
		at[n] = append(at[n], u)
	}
	for n, uplinks := range at {
		if in.move(n, uplinks) {
			continue
		}
		in.routines.Go(func() {
			var pause backoff
			for pause.wait(in.ctx) && !in.move(n, uplinks) {
			}
		})
	}
}

// move is one attempt to write entries to a partition.
func (in *Intake) move(partition int, uplinks []*message.Uplink) bool {
	key := keyUplinks + strconv.Itoa(partition)
	moved, err := in.append(in.ctx, "writing to "+key, key, uplinks, func(waiting int64) (int, error) {
		return roomWithin(in.redis.limit(0, len(in.parts)), waiting, uplinks), nil
	})
	if err != nil {
		in.failed("moving entries to the partition of their address", err)
		return false
	}
	in.count.moved.Add(uint64(moved))
	origins := make([]message.Origin, len(uplinks))
	for i, u := range uplinks {
		origins[i] = u.Origin
	}
	in.Ack(origins)
	return true
}

// append adds uplinks to a stream where some wait, as many as room says, and returns how many those are. Further ones, and
// all for a key that is no stream, are dropped and counted: who waited for it would hold up all others.
func (in *Intake) append(ctx context.Context, what, key string, uplinks []*message.Uplink, room func(waiting int64) (int, error)) (added int, err error) {
	waiting, err := in.redis.do(ctx, "XLEN", key).AsInt64()
	if err == nil {
		added, err = room(waiting)
	}
	if isSpoilt(err) {
		in.failed(what, err)
		in.count.dropped.Add(uint64(len(uplinks)))
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := in.forward(ctx, key, uplinks[:added]); err != nil {
		return 0, err
	}
	in.count.dropped.Add(uint64(len(uplinks) - added))
	return added, nil
}

// roomWithin says how many of these uplinks a stream where some wait has room for, if it may hold so many.
func roomWithin(limit, waiting int64, uplinks []*message.Uplink) int {
	return int(max(0, min(int64(len(uplinks)), limit-waiting)))
}
