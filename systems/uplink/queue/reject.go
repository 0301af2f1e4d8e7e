package queue

import (
	"contend/systems/uplink/message"
)

// Reject sets aside uplinks that turned out to be no frames, as it does with
// malformed entries: they are copied to ran:uplinks:bad, counted by the kind that why
// returns, and acknowledged. It waits for Redis.
func (in *Intake) Reject(uplinks []*message.Uplink, why func(*message.Uplink) (kind, reason string)) {
	bad := map[int][]badEntry{}
	for _, u := range uplinks {
		kind, reason := why(u)
		at := u.Origin.Partition
		if s := in.source(at); s != nil {
			var e encoder
			e.uplink(u, byFrame)
			bad[at] = append(bad[at], newBadEntry(s, u.Origin, e.args, [2]string{kind, reason}))
		}
	}
	for at, list := range bad {
		in.setAside(in.source(at), list)
	}
}
