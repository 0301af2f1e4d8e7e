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
	id   entryID
	args []string
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

func newBadEntry(s *source, o message.Origin, fields []string, why [2]string) badEntry {
	b := badEntry{id: entryID{o.Millis, o.Seq}}
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

// setAside copies entries to ran:uplinks:bad, counts and acknowledges them. It
// tries until Redis takes them or the intake is closed; then they come again. Where that
// key is no stream they are not copied.
func (in *Intake) setAside(s *source, bad []badEntry) {
	var pause backoff
	for {
		err := in.copyBad(in.ctx, bad)
		if err == nil {
			break
		}
		in.failed("setting entries aside", err)
		if isSpoilt(err) { // it would be for good
			break
		}
		if !pause.wait(in.ctx) {
			return
		}
	}
	origins := make([]message.Origin, len(bad))
	in.mu.Lock()
	for i, b := range bad {
		origins[i] = message.Origin{Partition: s.index, Millis: b.id.millis, Seq: b.id.seq}
		if b.kind() == kindPoison {
			in.count.poison.Add(1)
		} else {
			in.malformed[b.kind()]++
		}
	}
	in.mu.Unlock()
	in.Ack(origins)
}

func (in *Intake) copyBad(ctx context.Context, bad []badEntry) error {
	cmds := make([]rueidis.Completed, len(bad))
	for i, b := range bad {
		cmds[i] = in.redis.evenFull(b.args...)
	}
	return in.redis.doAll(ctx, cmds)
}
