package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

const (
	keyDownlinks = "ran:downlinks"
	keyResults   = "ran:downlinks:results"
	// maxResults is about how many results are kept, and maxResultBytes how large they are together. Routers read them at once.
	maxResults     = 100_000
	maxResultBytes = 32 << 20
)

// A Downlink is what gateways are to send.
type Downlink struct {
	Mailbox  uint64
	Customer string
	// Open is how long its result is awaited. Then it is removed from Redis.
	Open time.Duration
	message.Downstream
	// After is the uplink that the delay of class A counts from.
	After *Heard
}

// Heard is an uplink as a gateway knows it: when it was received is in nanoseconds of that gateway's clock.
type Heard struct {
	Gateway  lorawan.EUI
	Received int64
}

// SendDownlink writes a downlink for the gateways to ran:downlinks and returns its name for
// EndDownlinks. Fields: v, mailbox, customer, tx, then device (and target, of a join
// accept) or group, phy, the radio as in an uplink, and one of delay (and, of the uplink
// that it counts from, gw and ts as the gateway wrote them), tmms (with commas between)
// and deadline, in the units of message.Window. The error is ErrShare if the customer has
// too many open downlinks.
func (r *Redis) SendDownlink(ctx context.Context, d *Downlink) (name string, err error) {
	e := encoder{args: []string{strconv.Itoa(cmp.Or(r.MostDownlinks, mostDownlinks)), d.Customer,
		strconv.FormatInt(d.Open.Milliseconds(), 10), fieldVersion, version}}
	e.uint("mailbox", d.Mailbox)
	e.args = append(e.args, "customer", d.Customer)
	e.uint("tx", d.Transaction)
	if d.Multicast {
		e.addr("group", d.Group)
	} else {
		e.eui("device", d.DevEUI)
	}
	if d.Target != nil {
		e.addr("target", *d.Target)
	}
	e.field(fieldPHY, append(e.buf, d.PHY...))
	e.window(&d.Window)
	if d.After != nil {
		e.eui(fieldGateway, d.After.Gateway)
		e.uint(fieldTime, uint64(d.After.Received))
	}
	name, err = r.openScript(ctx, scriptOpen, e.args...).ToString()
	switch {
	case rueidis.IsRedisNil(err):
		return "", ErrShare
	case err != nil:
		return "", fmt.Errorf("queue: downlink %d: %w", d.Mailbox, err)
	}
	return name, nil
}

func (e *encoder) window(w *message.Window) {
	e.radio(&w.Radio)
	switch {
	case w.Delay != 0:
		e.uint("delay", uint64(w.Delay))
	case len(w.TMMS) > 0:
		buf := e.buf
		for i, t := range w.TMMS {
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = strconv.AppendUint(buf, t, 10)
		}
		e.field("tmms", buf)
	default:
		e.uint("deadline", w.Deadline)
	}
}

// A DownlinkResult is what a gateway says became of a Downlink.
type DownlinkResult struct {
	Customer string
	message.DownstreamResult
}

// LastResult returns the ID of the newest result of a downlink; the results of all later ones come after it.
func (r *Redis) LastResult(ctx context.Context) (string, error) {
	entries, err := r.do(ctx, "XREVRANGE", keyResults, "+", "-", "COUNT", "1").AsXRange()
	switch {
	case err != nil:
		return "", fmt.Errorf("queue: results of downlinks: %w", err)
	case len(entries) == 0:
		return "0-0", nil
	}
	return entries[0].ID, nil
}

// Results reads the results that gateways write to ran:downlinks:results after the one of that ID, until ctx ends.
// Their fields are v, mailbox, customer, tx, code (the number of the message.ResultCode) and text. Every instance
// sees every result, and ignores those of customers that it does not serve. What is malformed is logged and
// skipped. handle may keep no slice.
func (r *Redis) Results(ctx context.Context, last string, handle func([]DownlinkResult)) {
	var results []DownlinkResult
	var pause backoff
	for ctx.Err() == nil {
		if id, ok := parseID(last); ok && id == lastID { // nothing can follow: it is renewed within a second
			wait(ctx, tidyEvery)
			last = "0-0"
		}
		entries, err := r.readAfter(keyResults, last)
		if err != nil {
			r.log.Warn("redis", "what", "results of downlinks", "error", err)
			pause.wait(ctx)
			continue
		}
		pause = 0
		results = results[:0]
		for _, entry := range entries {
			last = entry.ID
			result, err := parseResult(entry.FieldValues)
			if err != nil {
				r.log.Warn("malformed result of a downlink", "entry", entry.ID, "error", err)
				continue
			}
			results = append(results, result)
		}
		handle(results)
	}
}

// readAfter waits up to blockFor for entries.
func (r *Redis) readAfter(key, last string) ([]rueidis.XRangeEntry, error) {
	ctx, cancel := context.WithTimeout(context.Background(), blockFor+10*time.Second)
	defer cancel()
	streams, err := r.client.Do(ctx, r.client.B().Arbitrary("XREAD", "COUNT", "100", "BLOCK",
		strconv.Itoa(int(blockFor.Milliseconds())), "STREAMS").Keys(key).Args(last).Blocking()).AsXRead()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return streams[key], err
}

func parseResult(fields map[string]string) (d DownlinkResult, err error) {
	var errs []error
	read := func(name string, bits int) uint64 {
		n, err := strconv.ParseUint(fields[name], 10, bits)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s is %.40q; expected a whole number of %d bits", name, fields[name], bits))
		}
		return n
	}
	d.Mailbox, d.Transaction = read("mailbox", 64), read("tx", 64)
	d.Code = message.ResultCode(read("code", 8))
	if d.Code > message.GatewayError {
		errs = append(errs, fmt.Errorf("code is %d; expected 0 to %d", d.Code, message.GatewayError))
	}
	if fields[fieldVersion] != version {
		errs = append(errs, fmt.Errorf("%s is %.40q; expected %s", fieldVersion, fields[fieldVersion], version))
	}
	d.Customer = fields["customer"]
	d.Text = strings.ToValidUTF8(cut(fields["text"], maxReason), "�")
	return d, errors.Join(errs...)
}
