package subject

import (
	"context"
	"errors"
	"time"
)

// takenFor is how long another program has to listen at an address of a subject for the subject to count as ready all the
// same, or to be started at another address. By then most have reported that the address is in use, and exited.
const takenFor = time.Second

// errTaken says that another program, which was there before the subject, listens at its address.
var errTaken = errors.New("its address was taken")

// An owner checks that the subject itself listens where the other probes have reached a server.
type owner struct {
	subject *Subject
	final   bool // no start at another address follows
	since   time.Time
	next    time.Time // when to look again
	found   error     // by the last look
}

// probe holds if the subject listens at its addresses, or nobody else is seen to. A program that listens there in its place
// may be a daemon that the subject started, or forward connections to it, so the probe holds after some time. Before that it
// ends a first start if the program is older than the subject: another address shows whether this was chance.
func (o *owner) probe(context.Context) error {
	now := time.Now()
	if now.Before(o.next) {
		return o.found
	}
	found, older := o.subject.intruder()
	if found == nil {
		return nil
	}
	if o.since.IsZero() {
		o.since = now
	}
	o.next, o.found = now.Add(lookEvery), found
	switch {
	case now.Sub(o.since) < takenFor+min(o.subject.waited(), maxPatience*takenFor):
		return found
	case older && !o.final:
		return errors.Join(errTaken, found)
	}
	return nil
}
