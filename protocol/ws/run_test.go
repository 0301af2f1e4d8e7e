package ws

import (
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

var everyConnections = []wire.Connections{{}, {Sharing: wire.PerIteration}, {Sharing: wire.Shared}, {Sharing: wire.Shared, N: 3}}

func TestRunCountsWhatTheServerCounted(t *testing.T) {
	t.Parallel()
	for _, connections := range everyConnections {
		for _, match := range []Match{ByOrder, ByID} {
			t.Run(fmt.Sprintf("%v/%v", connections, match), func(t *testing.T) {
				t.Parallel()
				var asked atomic.Int64
				addr := wiretest.Listen(t, answering(func(m []byte) []byte {
					if asked.Add(1)%4 == 0 {
						return []byte(strings.Replace(string(m), "right", "wrong", 1))
					}
					return m
				}))
				c := Config{URL: "ws://" + addr, Connections: connections, Match: match,
					Message: []byte(`{"id": 0, "text": "right"}`), Check: contains("right")}
				if match == ByID {
					c.IDPath = "$.id"
				}
				target := newTarget(t, c)
				r := wiretest.Run(t, target, load.Plan{VUs: 8, Iterations: 800, Timeout: testenv.Patience})
				if asked.Load() != 800 || r.Completed != 600 || r.Failed != 200 || len(r.Errored) != 0 {
					t.Errorf("server: %d; completed %d, failed %d, errored %v; want 800; 600, 200, none",
						asked.Load(), r.Completed, r.Failed, r.Errored)
				}
			})
		}
	}
}

// Eight messages in flight over one connection are answered last first, so
// only the id tells whose answer came.
func TestAnswersOutOfOrderAreMatchedByID(t *testing.T) {
	t.Parallel()
	const together, delay = 8, 5 * time.Millisecond
	addr := wiretest.Listen(t, upgraded(func(conn net.Conn) {
		for {
			var messages [together][]byte
			for i := range messages {
				var err error
				if messages[i], _, err = wsutil.ReadClientData(conn); err != nil {
					return
				}
			}
			for i := range messages {
				time.Sleep(delay)
				_ = wsutil.WriteServerText(conn, messages[together-1-i])
			}
		}
	}))
	target := newTarget(t, Config{URL: "ws://" + addr, Connections: wire.Connections{Sharing: wire.Shared, N: 1}, Match: ByID,
		Message: []byte(`{"a": {"b": [1, "x"]}}`), IDPath: "$.a.b[1]"})
	r := wiretest.Run(t, target, load.Plan{VUs: together, Iterations: 10 * together, Timeout: testenv.Patience})
	// In a batch the fastest answer takes 5 ms and the slowest 40 ms at least.
	if r.Completed != 10*together || r.Service.Max() < together*delay || r.Service.Min() < delay {
		t.Errorf("completed %d, took %v to %v", r.Completed, r.Service.Min(), r.Service.Max())
	}
}

func TestSendCountsMessages(t *testing.T) {
	t.Parallel()
	for _, connections := range everyConnections {
		t.Run(connections.String(), func(t *testing.T) {
			t.Parallel()
			var got atomic.Int64
			var all sync.WaitGroup
			all.Add(500)
			addr := wiretest.Listen(t, upgraded(func(conn net.Conn) {
				for {
					if _, _, err := wsutil.ReadClientData(conn); err != nil {
						return
					}
					got.Add(1)
					all.Done()
				}
			}))
			target := newTarget(t, Config{URL: "ws://" + addr, Connections: connections, Mode: Send, Message: []byte("hello")})
			r := wiretest.Run(t, target, load.Plan{VUs: 5, Iterations: 500, Timeout: testenv.Patience})
			if r.Completed != 500 || len(r.Errored) > 0 {
				t.Fatalf("completed %d, errored %v; want 500, none", r.Completed, r.Errored)
			}
			all.Wait()
			if got.Load() != 500 {
				t.Errorf("the server got %d", got.Load())
			}
		})
	}
}

func TestReceiveCountsMessages(t *testing.T) {
	t.Parallel()
	for _, connections := range []wire.Connections{{}, {Sharing: wire.Shared}} {
		t.Run(connections.String(), func(t *testing.T) {
			t.Parallel()
			addr := wiretest.Listen(t, upgraded(func(conn net.Conn) {
				for range 100 {
					if wsutil.WriteServerText(conn, []byte("news")) != nil {
						return
					}
				}
				_ = ws.WriteFrame(conn, ws.NewCloseFrame(ws.NewCloseFrameBody(ws.StatusNormalClosure, "")))
				wiretest.Hang(conn)
			}))
			target := newTarget(t, Config{URL: "ws://" + addr, Connections: connections, Mode: Receive, Check: contains("news")})
			r := wiretest.Run(t, target, load.Plan{VUs: 4, Iterations: 400, Timeout: testenv.Patience})
			// 400 messages are four connections' worth. A close that comes while somebody
			// waits is an error, one between two messages is not.
			closed := r.Errored[errkind.Closed]
			if r.Completed+closed != 400 || r.Errored[errkind.Closed] > 4*4 {
				t.Errorf("completed %d, errored %v", r.Completed, r.Errored)
			}
		})
	}
}

func TestMessagesNobodyWaitsForArePassedOver(t *testing.T) {
	addr := wiretest.Listen(t, upgraded(func(conn net.Conn) {
		for {
			message, _, err := wsutil.ReadClientData(conn)
			if err != nil {
				return
			}
			for _, m := range []string{`{"id": 987654321}`, `{"no": "id"}`, string(message)} {
				_ = wsutil.WriteServerText(conn, []byte(m))
			}
		}
	}))
	target := newTarget(t, Config{URL: "ws://" + addr, Match: ByID, IDPath: "$.id", Message: []byte(`{"id": "x"}`)})
	r := wiretest.Run(t, target, load.Plan{VUs: 2, Iterations: 100, Timeout: testenv.Patience})
	if r.Completed != 100 {
		t.Errorf("completed %d; want 100", r.Completed)
	}
}

// The kinds of messages are recorded of right answers only.
func TestAnswersAreRecorded(t *testing.T) {
	const n, size = 12, 5
	of := func(kind string, checked int64) *load.Answers {
		return &load.Answers{Kinds: []load.AnswerKind{{ContentType: kind, Count: n}}, Bodies: []load.Bodies{{Count: n, Bytes: n * size}}, Checked: checked}
	}
	for name, tt := range map[string]struct {
		config Config
		want   *load.Answers
	}{
		"text":            {Config{}, of("text", 0)},
		"binary":          {Config{Binary: true}, of("binary", 0)},
		"checked":         {Config{Check: contains("ell")}, of("text", n)},
		"not right":       {Config{Check: contains("x")}, nil},
		"without answers": {Config{Mode: Send}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tt.config.URL, tt.config.Message = "ws://"+wiretest.Listen(t, upgraded(serveEcho))+"/", []byte("hello")
			r := wiretest.Run(t, newTarget(t, tt.config), load.Plan{VUs: 2, Iterations: n})
			if !reflect.DeepEqual(r.Answers, tt.want) {
				t.Errorf("answers %+v, want %+v", r.Answers, tt.want)
			}
		})
	}
}
