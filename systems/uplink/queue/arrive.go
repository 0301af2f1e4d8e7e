package queue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"contend/systems/uplink/message"
)

// A customer's stream is read by whoever holds sockets of the customer. Who begins to read it has to know first what
// became of those who did before: what they had in hand is older than what is new.

// arriveEvery is how often the keeper looks while a stream is about to be read.
const arriveEvery = 50 * time.Millisecond

// An arrival is how a customer's stream began to be read, and since the first look at the others after that: when it was, and
// how often they had been heard of by then.
type arrival struct {
	began, since time.Time
	beats        map[string]uint64 // nil: nobody has looked yet
	wait         bool              // for another instance
	alone        bool              // nobody else may read the stream: it is a partition, and its lease is ours
}

func (in *Intake) arrive(s *source) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.arriving[s] = &arrival{began: time.Now()}
}

// look keeps the first view that was asked for after the arrival: only later reports of the others count, as earlier
// ones may be older than what they have in hand.
func (a *arrival) look(view *holderView) {
	if a.beats != nil || !view.asked.After(a.began) {
		return
	}
	a.since, a.beats = view.asked, map[string]uint64{}
	for name, said := range view.said {
		a.beats[name] = said.Beat
	}
}

func (in *Intake) arrivals() map[*source]*arrival {
	in.mu.Lock()
	defer in.mu.Unlock()
	return maps.Clone(in.arriving)
}

// receiveArrivals starts reading the streams for which it is known what other instances have in hand.
func (in *Intake) receiveArrivals(ctx context.Context) error {
	arrivals, view := in.arrivals(), in.holder.view.Load()
	for _, a := range arrivals {
		a.wait = false
		a.look(view)
	}
	dead, failed := in.inspectSources(ctx, slices.Collect(maps.Keys(arrivals)), func(s *source) *arrival { return arrivals[s] })
	for s, left := range dead {
		a := arrivals[s]
		if a.wait {
			if a.since.Equal(view.asked) {
				in.tellHolders() // which the others answer with a heartbeat
			}
			continue
		}
		in.mu.Lock()
		if in.arriving[s] == a {
			delete(in.arriving, s)
			s.arrive(left)
			in.forwarded.update(func(list []*source) []*source { return append(list, s) })
		}
		in.mu.Unlock()
	}
	return failed
}

// silent reports whether an instance that has entries of a stream in hand has said nothing since we looked, for as long as a
// live one would not. If it has said something it keeps them: it has sockets of its own, or all that it has was
// sent to some; we wait while it may yet give back some.
func (in *Intake) silent(s *source, a *arrival, name string) bool {
	said, lives := in.holder.view.Load().said[name]
	switch {
	case name == in.cfg.Instance:
	case a.alone:
		return !lives
	case a.beats == nil:
		a.wait = true
	case lives && said.Beat != a.beats[name]:
		a.wait = a.wait || slices.Contains(said.Leaves, s.customer())
	case time.Since(a.since) > 2*in.cfg.beat(): // one may be late
		return true
	default:
		a.wait = true
	}
	return false
}

// leaves are the customers of whose streams we have something, without their sockets.
func (in *Intake) leaves(holds []string) (list []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for name, s := range in.customers {
		s.mu.Lock()
		if _, held := slices.BinarySearch(holds, name); s.ours && !held {
			list = append(list, name)
		}
		s.mu.Unlock()
	}
	return list
}

// Retreat says, after Receive, that this instance has no socket of the customer any more. It gives back uplinks
// of the stream that were passed on to nobody, or that nobody answered: whoever reads it next gets them first.
func (in *Intake) Retreat(ctx context.Context, customer string, uplinks []*message.Uplink) error {
	s := in.customer(customer)
	ids := make([]entryID, len(uplinks))
	for i, u := range uplinks {
		ids[i] = entryID{u.Origin.Millis, u.Origin.Seq}
	}
	if err := cmp.Or(in.redis.doAll(ctx, in.giveAway(s, ids, 1)), in.leaveUnknown(ctx, s)); err != nil {
		return fmt.Errorf("queue: giving back uplinks of %s: %w", customer, err)
	}
	s.mu.Lock()
	for _, id := range ids {
		delete(s.flying, id)
	}
	s.ours = false
	s.mu.Unlock()
	in.land(len(ids))
	in.tellHolders()
	return nil
}

// CaughtUp reports whether all that was forwarded to a customer by now was read, and what was read here is handled.
// It waits for what this instance forwarded before, and may miss what it forwards during the call. The caller may
// hold up other customers, so it is an error if the stream's server does not answer soon.
func (in *Intake) CaughtUp(ctx context.Context, customer string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, awayFor)
	defer cancel()
	s := in.customer(customer)
	if !s.relay.flush(ctx) {
		return false, fmt.Errorf("queue: what is forwarded to %s is not written yet", customer)
	}
	s.mu.Lock()
	newest, late := s.newest, s.recover || s.busy > 0 || s.handle == nil
	s.mu.Unlock()
	if _, arrives := in.arrivals()[s]; arrives || late {
		return false, nil
	}
	var e encoder
	e.id(newest.next())
	replies := in.redis.client.DoMulti(ctx, in.redis.cmd("XINFO", "GROUPS", s.key), in.redis.cmd("XREVRANGE", s.key, "+", "-", "COUNT", "1"),
		in.redis.cmd("XPENDING", s.key, group, e.args[0], "+", "1", in.cfg.Instance))
	ours, err := ourGroup(replies[0])
	last, failed := replies[1].AsXRange()
	inHand, broken := replies[2].ToArray()
	if err := cmp.Or(err, failed, broken); err != nil {
		return false, err
	}
	if len(last) > 0 {
		delivered, _ := parseID(text(ours["last-delivered-id"]))
		if id, _ := parseID(last[0].ID); delivered.less(id) {
			return false, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(inHand) == 0 && s.busy == 0 && !s.recover, nil
}
