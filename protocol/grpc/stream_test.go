package grpc

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
)

// Three messages of 2, 2 and 5 bytes: {value: v} is a tag and a varint of one
// byte; {value: 3, text: "a"} is 2 + (tag, length, one character) = 5.
const threeItems = `{"value": 1} {"value": 2} {"value": 3, "text": "a"}`

// A streamTest is an iteration with known counts. The server waits 5 ms
// before each message that it sends.
type streamTest struct {
	method, data    string
	messages        int
	perVU           bool
	received        int // messages that the server gets in an iteration
	timed           int // len(Outcome.Messages)
	in, out         int64
	sends           int // messages that the server sends: how many delays an iteration has
	streamsPerCalls int // streams for 3 iterations
}

func streamTests() []streamTest {
	return []streamTest{
		// The answer: count 3 and total 6, 2 bytes each.
		{"Collect", threeItems, 0, false, 3, 0, 4, 9, 1, 3},
		// 1, 2, 3+a, 1, 2: 2+2+5+2+2 bytes, count 5 and total 9.
		{"Collect", threeItems, 5, false, 5, 0, 4, 13, 1, 3},
		{"Collect", `{"value": 7}`, 4, false, 4, 0, 4, 8, 1, 3},
		// One empty message: the answer has a count and no total.
		{"Collect", ``, 0, false, 1, 0, 2, 0, 1, 3},
		{"List", `{"value": 5}`, 0, false, 1, 5, 10, 2, 5, 3},
		{"List", `{}`, 0, false, 1, 0, 0, 0, 0, 3},
		// The first two of an endless row.
		{"List", `{"value": 1000}`, 2, false, 1, 2, 6, 3, 2, 3},
		{"Talk", threeItems, 0, false, 3, 3, 9, 9, 3, 3},
		{"Talk", `[{"value": 1}, {"value": 2}]`, 5, false, 5, 5, 10, 10, 5, 3},
		{"Talk", `{"value": 1}`, 0, true, 1, 1, 2, 2, 1, 1},
		{"Talk", `{"value": 1}`, 2, true, 2, 2, 4, 4, 2, 1},
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	const delay, calls = 5 * time.Millisecond, 3
	for _, test := range streamTests() {
		for _, kind := range []reflectionKind{noReflection, v1Reflection} {
			for _, mode := range modes() {
				if test.perVU && mode == wire.PerIteration {
					continue
				}
				name := fmt.Sprintf("%s/%d/%v/%d/%v", test.method, test.messages, test.perVU, kind, wire.Connections{Sharing: mode})
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					server := newChatServer(t)
					server.delay = delay
					address, _ := server.start(t, "127.0.0.1:0", kind)
					cfg := chat(address, test.method, test.data)
					cfg.Messages, cfg.Stream, cfg.Connections.Sharing = test.messages, streamFor(test.perVU), mode
					if kind != noReflection {
						cfg.ProtoFiles = nil
					}
					vu := newVU(t, open(t, cfg), 0)
					for range calls {
						test.check(t, vu, delay)
					}
					if got := server.items.Load(); got != int64(calls*test.received) {
						t.Errorf("the server got %d messages, want %d", got, calls*test.received)
					}
					if got := server.streams.Load(); got != int64(test.streamsPerCalls) {
						t.Errorf("the server got %d streams, want %d", got, test.streamsPerCalls)
					}
				})
			}
		}
	}
}

func (test streamTest) check(t *testing.T, vu load.VU, delay time.Duration) {
	t.Helper()
	start := time.Now()
	out, err := vu.Do(t.Context())
	took := time.Since(start)
	if err != nil || out.Failed || out.Status != 0 || out.Ops != 0 {
		t.Fatalf("got %+v, %v; want a right answer", out, err)
	}
	if out.BytesIn != test.in || out.BytesOut != test.out {
		t.Errorf("bytes in %d, out %d; want %d, %d", out.BytesIn, out.BytesOut, test.in, test.out)
	}
	if out.BodyIn != test.in || out.Content == nil || out.Content.StatusName != "OK" {
		t.Errorf("%d bytes of messages, said to be %+v; want %d and OK", out.BodyIn, out.Content, test.in)
	}
	if len(out.Messages) != test.timed {
		t.Errorf("%d messages timed, want %d", len(out.Messages), test.timed)
	}
	// Not more than the call, and not less than the delays, except for a message of
	// a server stream that waited here while the reader was held up.
	var sum time.Duration
	for _, latency := range out.Messages {
		sum += latency
	}
	if test.timed > 0 && (sum < time.Duration(test.timed)*delay || sum > took) {
		t.Errorf("latencies %v in a call of %v", out.Messages, took)
	}
	if test.method == "Talk" && slices.Min(out.Messages) < delay {
		t.Errorf("latencies %v, want each at least %v", out.Messages, delay)
	}
	if out.Phases.FirstByte <= 0 || out.Phases.FirstByte > took || test.sends > 0 && out.Phases.FirstByte < delay {
		t.Errorf("first byte after %v of %v", out.Phases.FirstByte, took)
	}
}

// A stream kept over iterations sends the messages in turn across them, tells
// no deadline, and is ended in good order.
func TestStreamPerVU(t *testing.T) {
	server := newChatServer(t)
	var mu sync.Mutex
	var seen []metadata.MD
	timed := false
	server.hook = func(stream grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(stream.Context())
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, md)
		_, has := stream.Context().Deadline()
		timed = timed || has
		return nil
	}
	address, _ := server.start(t, "127.0.0.1:0", noReflection)
	cfg := chat(address, "Talk", threeItems)
	cfg.Stream, cfg.Metadata = PerVU, map[string][]string{"authorization": {"Bearer secret"}}
	target := open(t, cfg)
	const vus = 3
	for id := range vus {
		vu, err := target.NewVU(t.Context(), id)
		testenv.Must(t, err)
		vu.(load.TimeoutSetter).SetTimeout(10 * time.Second)
		for i, want := range []int64{2, 2, 5, 2} {
			out, err := vu.Do(t.Context())
			if err != nil || out.Failed || out.BytesOut != want || out.BytesIn != want {
				t.Errorf("iteration %d: got %+v, %v; want %d bytes", i, out, err, want)
			}
		}
		vu.(io.Closer).Close()
	}
	if streams, ended := server.streams.Load(), server.ended.Load(); streams != vus || ended != vus {
		t.Errorf("%d streams, %d ended in good order; want %d", streams, ended, vus)
	}
	if timed || len(seen) != vus || !slices.Equal(seen[0].Get("authorization"), []string{"Bearer secret"}) {
		t.Errorf("deadline %v, metadata %v", timed, seen)
	}
}

// The end of a run ends its iterations and not the streams between them.
func TestStreamOutlivesRun(t *testing.T) {
	server := newChatServer(t)
	address, _ := server.start(t, "127.0.0.1:0", noReflection)
	cfg := chat(address, "Talk", `{"value": 1}`)
	cfg.Stream = PerVU
	vu := newVU(t, open(t, cfg), 0)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		if out, err := vu.Do(ctx); err != nil || out.Failed {
			t.Errorf("got %+v, %v", out, err)
		}
		cancel()
	}
	if got := server.streams.Load(); got != 1 {
		t.Errorf("%d streams, want 1", got)
	}
}

// A status ends a stream before, amid or after its messages; what it means is
// the same as for a unary call.
func TestStreamStatus(t *testing.T) {
	long := strings.Repeat("x", 2*maxDetail)
	for _, method := range []string{"Collect", "List", "Talk"} {
		for _, headers := range []bool{false, true} {
			t.Run(fmt.Sprint(method, headers), func(t *testing.T) {
				address := chatAt(t, func(stream grpc.ServerStream) error {
					if headers {
						stream.SendHeader(metadata.Pairs("a", "b"))
					}
					return status.Error(codes.ResourceExhausted, long)
				})
				cfg := chat(address, method, `{"value": 1}`)
				for _, expect := range []codes.Code{codes.OK, codes.ResourceExhausted} {
					cfg.ExpectCode = int(expect)
					out, err := newVU(t, open(t, cfg), 0).Do(t.Context())
					if err != nil || out.Status != int(codes.ResourceExhausted) || out.Failed != (expect == codes.OK) {
						t.Errorf("got %+v, %v", out, err)
					}
					if want := long[:maxDetail]; out.Failed && (string(out.Detail) != want || out.Check != "") {
						t.Errorf("detail %q, check %q", out.Detail, out.Check)
					}
				}
			})
		}
	}
}

// Fewer messages than wanted are a failed answer.
func TestStreamTooShort(t *testing.T) {
	for _, test := range []struct {
		method string
		perVU  bool
		want   string
	}{
		{"List", false, "after 2 of 3 messages"},
		{"Talk", false, "after 1 of 3 messages"},
		{"Talk", true, "after 1 of 3 messages"},
	} {
		t.Run(fmt.Sprint(test.method, test.perVU), func(t *testing.T) {
			server := newChatServer(t)
			server.hook = func(stream grpc.ServerStream) error {
				if test.method == "List" {
					return nil
				}
				item, err := server.receive(stream)
				if err != nil {
					return err
				}
				server.send(stream, item)
				return errEnd
			}
			address, _ := server.start(t, "127.0.0.1:0", noReflection, grpc.StreamInterceptor(endsWell))
			cfg := chat(address, test.method, `{"value": 2}`)
			cfg.Messages, cfg.Stream = 3, streamFor(test.perVU)
			vu := newVU(t, open(t, cfg), 0)
			for range 2 { // the next iteration opens another stream
				out, err := vu.Do(t.Context())
				if err != nil || !out.Failed || out.Status != 0 || out.Check != checkMessages {
					t.Errorf("got %+v, %v; want a failed check", out, err)
				}
				if !strings.Contains(string(out.Detail), test.want) {
					t.Errorf("detail %q, want %q", out.Detail, test.want)
				}
			}
		})
	}
}

var errEnd = status.Error(codes.Aborted, "end with OK")

// endsWell turns errEnd into the status OK.
func endsWell(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := next(service, stream); err != errEnd {
		return err
	}
	return nil
}

// An iteration of a stream in progress times no more than it has memory for.
func TestLatenciesAreBounded(t *testing.T) {
	server := newChatServer(t)
	address, _ := server.start(t, "127.0.0.1:0", noReflection)
	cfg := chat(address, "List", fmt.Sprintf(`{"value": %d}`, maxLatencies+5))
	out, err := newVU(t, open(t, cfg), 0).Do(t.Context())
	// {value: 16389} is a tag and a varint of 3 bytes.
	if err != nil || out.Failed || len(out.Messages) != maxLatencies || out.BytesIn != 4*(maxLatencies+5) {
		t.Errorf("%d latencies, %d bytes, failed %v, %v", len(out.Messages), out.BytesIn, out.Failed, err)
	}
}

// The time that is announced to the server, and which side ends the call. Short times double until one is long enough to send a call.
func TestDeadline(t *testing.T) {
	t.Parallel()
	const short, long = 50 * time.Millisecond, 20 * time.Second
	for _, test := range []struct {
		name              string
		timeout, deadline time.Duration
		told              time.Duration
		want              errkind.Kind // "": the server's DEADLINE_EXCEEDED is the answer
	}{
		{"timeout", short, 0, short, errkind.Timeout},
		{"deadline alone", 0, short, short, errkind.Timeout},
		{"the same", short, short, short, errkind.Timeout},
		{"deadline first", long, short, short, ""},
		{"timeout first", short, long, long, errkind.Timeout},
	} {
		for _, method := range []string{"Collect", "List", "Talk"} {
			t.Run(test.name+"/"+method, func(t *testing.T) {
				for longer := time.Duration(1); ; longer *= 2 {
					scaled := func(d time.Duration) time.Duration {
						if d == short {
							return longer * d
						}
						return d
					}
					told := make(chan time.Duration, 1)
					out, err := callWithin(t, method, scaled(test.timeout), scaled(test.deadline), told)
					select {
					case got := <-told:
						if want := scaled(test.told); got > want || got < want-10*time.Second {
							t.Errorf("the server was told %v, want %v", got, want)
						}
					default:
						if longer*short > long/4 {
							t.Fatal("the server was told nothing")
						}
						continue
					}
					if test.want != "" {
						checkKind(t, err, test.want)
					} else if err != nil || out.Status != int(codes.DeadlineExceeded) || !out.Failed {
						t.Errorf("got %+v, %v", out, err)
					}
					return
				}
			})
		}
	}
}

// callWithin makes a call that only the end of its time ends. The server says how long that is.
func callWithin(t *testing.T, method string, timeout, deadline time.Duration, told chan<- time.Duration) (load.Outcome, error) {
	t.Helper()
	address := chatAt(t, func(stream grpc.ServerStream) error {
		at, _ := stream.Context().Deadline()
		told <- time.Until(at)
		<-stream.Context().Done()
		return status.FromContextError(stream.Context().Err()).Err()
	})
	cfg := chat(address, method, `{"value": 1}`)
	cfg.Deadline = deadline
	vu := newVU(t, open(t, cfg), 0)
	vu.(load.TimeoutSetter).SetTimeout(timeout)
	return vu.Do(t.Context())
}

func streamFor(perVU bool) Stream {
	if perVU {
		return PerVU
	}
	return PerIteration
}
