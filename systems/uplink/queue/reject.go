package queue

import (
	"contend/systems/uplink/message"
)

// Reject sets aside uplinks that turned out to be no frames, as it does with
// malformed entries: they are copied to ran:uplinks:bad, counted by the kind that why
// returns, and acknowledged.
func (in *Intake) Reject(uplinks []*message.Uplink, why func(*message.Uplink) (kind, reason string)) {
	var bad []badEntry
	for _, u := range uplinks {
		kind, reason := why(u)
		if s := in.source(u.Origin.Partition); s != nil {
			var e encoder
			e.uplink(u, byFrame)
			bad = append(bad, newBadEntry(s, u.Origin, e.args, [2]string{kind, reason}))
		}
	}
	in.aside.add(bad)
}
