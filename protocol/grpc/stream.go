package grpc

import (
	"io"

	"google.golang.org/grpc"
)

// A kind says which side of a method sends a stream of messages.
type kind int

const (
	unary kind = iota
	clientStream
	serverStream
	bidirectional
)

func (k kind) String() string {
	return [...]string{"unary", "a client stream", "a server stream", "a bidirectional stream"}[k]
}

func (k kind) clientStreams() bool { return k == clientStream || k == bidirectional }

func (k kind) desc() *grpc.StreamDesc {
	return &grpc.StreamDesc{ClientStreams: k.clientStreams(), ServerStreams: k == serverStream || k == bidirectional}
}

// maxLatencies bounds the memory that an endless stream can take: the messages
// of one iteration after that many are counted and not timed.
const maxLatencies = 1 << 14

// exchange does what an iteration does on its stream. It returns nil when the
// server ended it with OK, or when all wanted messages of a server stream are
// there.
func (c *caller) exchange(s grpc.ClientStream) error {
	switch c.kind {
	case clientStream:
		return c.collect(s)
	case serverStream:
		return c.read(s)
	}
	if err := c.converse(s); err != nil || c.short {
		return err
	}
	s.CloseSend()
	return c.drain(s)
}

// collect sends all messages, or as many as the server wants, and takes the
// answer.
func (c *caller) collect(s grpc.ClientStream) error {
	for range c.messages {
		if err := c.send(s); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	s.CloseSend()
	return c.receive(s)
}

// read takes the messages of a server stream.
func (c *caller) read(s grpc.ClientStream) error {
	if err := c.send(s); err != nil {
		return err
	}
	for c.messages == 0 || c.received < c.messages {
		err := c.receive(s)
		if err == io.EOF {
			c.short = c.received < c.messages
			return nil
		}
		if err != nil {
			return err
		}
		c.lap()
	}
	return nil
}

// converse sends each message when the previous one is answered.
func (c *caller) converse(s grpc.ClientStream) error {
	for range c.messages {
		// io.EOF: the stream is over, and receive says why.
		if err := c.send(s); err != nil && err != io.EOF {
			return err
		}
		err := c.receive(s)
		if err == io.EOF {
			c.short = true
			return nil
		}
		if err != nil {
			return err
		}
		c.lap()
	}
	return nil
}

// drain reads a stream to its end.
func (c *caller) drain(s grpc.ClientStream) error {
	for {
		if err := c.receive(s); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (c *caller) send(s grpc.ClientStream) error {
	c.sending.request = c.requests[c.next%len(c.requests)]
	err := s.SendMsg(&c.sending)
	if err == nil {
		c.sent()
	}
	return err
}

func (c *caller) receive(s grpc.ClientStream) error {
	err := s.RecvMsg(&c.reply)
	if err == nil {
		c.got()
	}
	return err
}

// lap ends the latency of one message. That of the next begins now, unless it
// begins when something is sent.
func (c *caller) lap() {
	if len(c.latencies) < maxLatencies {
		c.latencies = append(c.latencies, c.reply.at.Sub(c.lapped))
	}
	c.lapped = c.reply.at
}
