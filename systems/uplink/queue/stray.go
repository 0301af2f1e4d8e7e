package queue

import (
	"context"

	"contend/systems/uplink/message"
)

// moveOver writes entries to the partitions of their addresses, whose writers chose another one, and acknowledges
// them: in their order, but what another writer has written there in the meantime is before them.
func (in *Intake) moveOver(strays []*message.Uplink) {
	at := map[int][]*message.Uplink{}
	for _, u := range strays {
		n := partitionOf(u.PHY, len(in.parts))
		at[n] = append(at[n], u)
	}
	for n, uplinks := range at {
		in.parts[n].relay.add(uplinks)
	}
}

// move is one attempt to write entries to a partition.
func (in *Intake) move(ctx context.Context, s *source, uplinks []*message.Uplink) error {
	moved, err := in.append(ctx, s, uplinks, func(waiting int64) (int, error) {
		return roomWithin(in.redis.limit(0, len(in.parts)), waiting, uplinks), nil
	})
	if err != nil {
		return err
	}
	in.count.moved.Add(uint64(moved))
	in.Ack(message.Origins(uplinks))
	return nil
}

// dropStrays gives up entries that wait for the partitions of their addresses.
func (in *Intake) dropStrays(uplinks []*message.Uplink) {
	in.count.dropped.Add(uint64(len(uplinks)))
	in.Ack(message.Origins(uplinks))
}

// append adds uplinks to a stream where some wait, as many as room says, and returns how many those are. Further ones
// are dropped and counted, and so are all uplinks for a key that is not a stream: nothing could follow them.
func (in *Intake) append(ctx context.Context, s *source, uplinks []*message.Uplink, room func(waiting int64) (int, error)) (added int, err error) {
	waiting, err := in.redis.do(ctx, "XLEN", s.key).AsInt64()
	if err == nil {
		added, err = room(waiting)
	}
	if isSpoilt(err) {
		in.failed(s.relay.what, err)
		in.count.dropped.Add(uint64(len(uplinks)))
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := in.add(ctx, s.key, uplinks[:added]); err != nil {
		return 0, err
	}
	in.count.dropped.Add(uint64(len(uplinks) - added))
	return added, nil
}

// roomWithin says how many of these uplinks a stream where some wait has room for, if it may hold so many.
func roomWithin(limit, waiting int64, uplinks []*message.Uplink) int {
	return int(max(0, min(int64(len(uplinks)), limit-waiting)))
}
