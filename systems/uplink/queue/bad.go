package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"contend/systems/uplink/message"
)

const (
	// maxBad is about how many entries ran:uplinks:bad keeps.
	maxBad = 10_000
	// What is kept of an entry, fields and bytes, and of what is wrong with it.
	maxBadFields = 40
	maxBadBytes  = 2048
	maxReason    = 1024
)

// A badEntry is what is kept of an entry that cannot be used.
type badEntry struct {
	source *source
	id     entryID
	args   []string
}

// malformedEntry counts by the first bad field, which is one of a closed set.
func malformedEntry(s *source, o message.Origin, fields []string, p *parser) badEntry {
	return newBadEntry(s, o, fields, [2]string{p.bad[0].field, "malformed entry: " + p.mistakes()})
}

// kindPoison is the kind of a poison message: read again and again, and never
// acknowledged.
const kindPoison = "poison"

func poisonMessage(s *source, o message.Origin, fields []string) badEntry {
	return newBadEntry(s, o, fields, [2]string{kindPoison, fmt.Sprintf("delivered %d times", o.Deliveries-1)})
}

// setAsideUnread sets entries aside whose replies were lost each time, also when they were to be read as poison messages.
func (in *Intake) setAsideUnread(s *source, ids []entryID) {
	bad := make([]badEntry, len(ids))
	for i, id := range ids {
		bad[i] = newBadEntry(s, message.Origin{Partition: s.index, Millis: id.millis, Seq: id.seq}, nil,
			[2]string{kindPoison, fmt.Sprintf("delivered more than %d times, but each reply was lost", maxDeliveries)})
	}
	s.take(ids, in.cfg.AckRead)
	in.flying.Add(int64(len(ids)))
	in.aside.add(bad)
}

func newBadEntry(s *source, o message.Origin, fields []string, why [2]string) badEntry {
	b := badEntry{source: s, id: entryID{o.Millis, o.Seq}}
	b.args = append(b.args, "XADD", keyBad, "MAXLEN", "~", strconv.Itoa(maxBad), "*",
		"kind", why[0], "reason", cut(why[1], maxReason),
		"stream", s.key, "entry", fmt.Sprintf("%d-%d", o.Millis, o.Seq))
	left := maxBadBytes
	for i := 0; i+1 < min(len(fields), 2*maxBadFields); i += 2 {
		if left -= len(fields[i]) + len(fields[i+1]); left < 0 {
			break
		}
		b.args = append(b.args, strings.Clone(fields[i]), strings.Clone(fields[i+1]))
	}
	return b
}

func cut(text string, n int) string { return strings.Clone(text[:min(len(text), n)]) }

func (b badEntry) kind() string { return b.args[7] }

// newAside makes the relay that copies entries to ran:uplinks:bad, counts and acknowledges them.
func (in *Intake) newAside() *relay[badEntry] {
	return &relay[badEntry]{in: in, what: "setting entries aside", write: in.copyBad, drop: in.countBad}
}

// copyBad is one attempt. What Redis would refuse again, such as an entry for a key that is not a stream, is not
// copied.
func (in *Intake) copyBad(ctx context.Context, bad []badEntry) error {
	cmds := make([]rueidis.Completed, len(bad))
	for i, b := range bad {
		cmds[i] = in.redis.evenFull(b.args...)
	}
	if err := in.redis.doAll(ctx, cmds); in.redis.refused(err) {
		in.failed(in.aside.what, err)
	} else if err != nil {
		return err
	}
	in.countBad(bad)
	return nil
}

// countBad counts and acknowledges entries that cannot be used.
func (in *Intake) countBad(bad []badEntry) {
	origins := make([]message.Origin, len(bad))
	in.mu.Lock()
	for i, b := range bad {
		origins[i] = message.Origin{Partition: b.source.index, Millis: b.id.millis, Seq: b.id.seq}
		if b.kind() == kindPoison {
			in.count.poison.Add(1)
		} else {
			in.malformed[b.kind()]++
		}
	}
	in.mu.Unlock()
	in.Ack(origins)
}
