package grpc

import (
	"bytes"
	"context"
	"maps"

	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/protocol/wire/wiretest"
)

// theMethod is that of the published counter.
func theMethod(t *testing.T) *Method {
	t.Helper()
	schema, err := NewSchema(t.Context(), []string{"testdata"}, []string{"counter.proto"}, nil)
	testenv.Must(t, err)
	m, err := schema.Method(methodPath)
	testenv.Must(t, err)
	return m
}

// clients are two to one server, without TLS: with the connection of its own, and with grpc-go alone.
func clients(t *testing.T, address string, o Options) map[string]*Client {
	t.Helper()
	all := map[string]*Client{}
	for _, name := range []string{"direct", "grpc-go"} {
		c, err := Dial(t.Context(), address, o)
		testenv.Must(t, err)
		if name == "grpc-go" {
			c.direct.close()
			c.direct = nil
			if _, err := c.channel(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { c.Close() })
		all[name] = c
	}
	return all
}

// A call over a connection of its own comes to what it comes to over grpc-go.
func TestDirectIsTheSame(t *testing.T) {
	method := theMethod(t)
	message, err := method.Encode([]byte(`{"value": 0}`))
	testenv.Must(t, err)
	for _, test := range []struct {
		name    string
		hook    func(ctx context.Context) error
		with    Metadata
		options Options
		timeout time.Duration
		message []byte
	}{
		{name: "an answer"},
		{name: "metadata", with: Metadata{"tenant": {"a", "b"}, "trace-bin": {"\x00\xff"}, "empty": {""}}, hook: func(ctx context.Context) error {
			in, _ := metadata.FromIncomingContext(ctx)
			if want := []string{"a", "b"}; !slices.Equal(in["tenant"], want) || !slices.Equal(in["trace-bin"], []string{"\x00\xff"}) || !slices.Equal(in["empty"], []string{""}) {
				return status.Errorf(codes.DataLoss, "got %v", in)
			}
			if _, timed := ctx.Deadline(); timed {
				return status.Error(codes.DataLoss, "a deadline")
			}
			grpc.SetHeader(ctx, metadata.Pairs("kind", "x", "kind", "y", "raw-bin", "\x01\x02\x03\x04"))
			return grpc.SetTrailer(ctx, metadata.Pairs("cost", "7", "sum-bin", "\xff"))
		}},
		{name: "a deadline", timeout: testenv.Patience, hook: func(ctx context.Context) error {
			if deadline, timed := ctx.Deadline(); !timed || time.Until(deadline) > testenv.Patience {
				return status.Error(codes.DataLoss, "no deadline, or a later one")
			}
			return nil
		}},
		{name: "a status", hook: func(context.Context) error { return status.Error(codes.NotFound, "keine 100% für \x01 dich") }},
		{name: "a status with metadata", hook: func(ctx context.Context) error {
			grpc.SendHeader(ctx, metadata.Pairs("kind", "x"))
			grpc.SetTrailer(ctx, metadata.Pairs("cost", "7"))
			return status.Error(codes.Aborted, "")
		}},
		{name: "too slow", timeout: 50 * time.Millisecond, hook: func(ctx context.Context) error {
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}},
		{name: "too large", options: Options{MaxReceive: 5}},
		{name: "too large to send", options: Options{MaxSend: 5}, message: make([]byte, 6)},
		{name: "no message of its kind", message: []byte{0xff}},
		{name: "larger than the window", message: slices.Concat([]byte{0x8a, 0x01, 0x80, 0x80, 0x40}, make([]byte, 1<<20))}, // a field of 1 MiB that is not known
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newCounterServer(t)
			s.hook = test.hook
			address, _ := s.start(t, "127.0.0.1:0", noReflection)
			replies := map[string]*Reply{}
			for name, c := range clients(t, address, test.options) {
				sent := message
				if test.message != nil {
					sent = test.message
				}
				for range 2 { // the connection stays fit for the next
					ctx, cancel := context.WithCancel(t.Context())
					if test.timeout > 0 {
						ctx, cancel = context.WithTimeout(ctx, test.timeout)
					}
					replies[name] = c.Invoke(ctx, method, sent, test.with)
					cancel()
				}
			}
			got, want := replies["direct"], replies["grpc-go"]
			if kindOf(got.Err) != kindOf(want.Err) || got.Code != want.Code || got.Err == nil && got.Code != int(codes.ResourceExhausted) && got.Status != want.Status {
				t.Errorf("got %d %q %v, want %d %q %v", got.Code, got.Status, got.Err, want.Code, want.Status, want.Err)
			}
			if got.Err == nil && (string(got.Message) != string(want.Message) || !maps.EqualFunc(got.Header, want.Header, slices.Equal) || !maps.EqualFunc(got.Trailer, want.Trailer, slices.Equal)) {
				t.Errorf("got %q, %v, %v\nwant %q, %v, %v", got.Message, got.Header, got.Trailer, want.Message, want.Header, want.Trailer)
			}
		})
	}
}

func kindOf(err error) errkind.Kind {
	if err == nil {
		return ""
	}
	return errkind.Of(err)
}

// A connection that the server ends while nobody calls is replaced, and its frames are answered until then.
func TestDirectIdle(t *testing.T) {
	s, method := newCounterServer(t), theMethod(t)
	address, server := s.start(t, "127.0.0.1:0", noReflection)
	c, err := Dial(t.Context(), address, Options{})
	testenv.Must(t, err)
	defer c.Close()
	call := func() *Reply { return c.Invoke(t.Context(), method, nil, nil) }
	idle := func() { c.direct.used = time.Now().Add(-2 * idleLong) }
	for range 2 {
		if r := call(); r.Err != nil || r.Code != 0 {
			t.Fatalf("got %+v", r)
		}
		idle()
	}
	server.Stop()
	if r := call(); kindOf(r.Err) != errkind.Refused && kindOf(r.Err) != errkind.Reset && kindOf(r.Err) != errkind.Closed || r.Code != int(codes.Unavailable) {
		t.Errorf("without a server: %+v", r)
	}
	s.start(t, address, noReflection)
	if r := call(); r.Err != nil || r.Code != 0 {
		t.Errorf("when it is back: %+v", r)
	}
}

// A call that the server has not processed is made again over another connection, once.
func TestDirectUnprocessed(t *testing.T) {
	method := theMethod(t)
	refusals := 0
	address := hostile(t, func(p peer) {
		if refusals > 0 {
			refusals--
			p.WriteGoAway(0, http2.ErrCodeNo, nil)
			return
		}
		p.right()
	})
	c, err := Dial(t.Context(), address, Options{})
	testenv.Must(t, err)
	defer c.Close()
	for _, test := range []struct{ refusals, code int }{{0, 0}, {1, 0}, {2, int(codes.Unavailable)}, {0, 0}} {
		refusals = test.refusals
		if r := c.Invoke(t.Context(), method, nil, nil); r.Code != test.code {
			t.Errorf("%d refusals: got %+v", test.refusals, r)
		}
	}
}

// An answer is one whatever comes after it, and the next call has a connection that can be used.
func TestDirectGarbageBehindAnAnswer(t *testing.T) {
	method := theMethod(t)
	address := hostile(t, func(p peer) {
		var all bytes.Buffer
		peer{wiretest.Stream{Framer: http2.NewFramer(&all, nil), ID: p.ID}}.right()
		all.WriteString(strings.Repeat("no frame of any kind", 10))
		p.Conn.Write(all.Bytes())
	})
	c, err := Dial(t.Context(), address, Options{})
	testenv.Must(t, err)
	defer c.Close()
	for range 3 {
		if r := c.Invoke(t.Context(), method, nil, nil); r.Err != nil || r.Code != 0 {
			t.Errorf("got %+v", r)
		}
	}
}

// Calls may be made concurrently, and closing follows them.
func TestDirectConcurrently(t *testing.T) {
	s, method := newCounterServer(t), theMethod(t)
	address, _ := s.start(t, "127.0.0.1:0", noReflection)
	c, err := Dial(t.Context(), address, Options{})
	testenv.Must(t, err)
	ended := make(chan *Reply)
	for range 8 {
		go func() { ended <- c.Invoke(t.Context(), method, nil, nil) }()
	}
	for range 8 {
		if r := <-ended; r.Err != nil || r.Code != 0 {
			t.Errorf("got %+v", r)
		}
	}
	testenv.Must(t, c.Close())
	if len(s.seen) != 8 || s.seen[0].Get("user-agent")[0] != "contend" {
		t.Errorf("the server has seen %d calls", len(s.seen))
	}
}
