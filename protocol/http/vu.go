package http

import (
	"context"
	"io"

	"contend/load"
)

// A vu is one virtual user with its connection.
type vu struct {
	caller
	target *Target
	sender *sender
}

var _ interface {
	load.VU
	load.TimeoutSetter
	io.Closer
} = (*vu)(nil)

func newVU(t *Target, s *sender) *vu {
	v := &vu{target: t, sender: s}
	v.parser = t.newParser()
	v.init(t.connect, t.keepAlive)
	return v
}

// Do sends a request and reads the answer.
func (v *vu) Do(ctx context.Context) (out load.Outcome, err error) {
	v.sender.next(&v.parser)
	in, took, err := v.call(ctx, v.sender.bytes())
	if err != nil {
		return load.Outcome{Request: v.sender.request.name}, err
	}
	out = v.target.judge(v.sender, &v.parser, v.link, in)
	out.Phases = took
	v.settle()
	return out, nil
}
