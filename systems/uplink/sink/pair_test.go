package sink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gobwas/ws"
	"go.uber.org/goleak"

	"contend/errkind"
	"contend/load"
	"contend/pace"
	"contend/report"
	"contend/systems/uplink/gen"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The sink counts what the generator planted, for short and long challenges.
func TestPair(t *testing.T) {
	for _, tt := range []struct {
		entries, pool int
		n             int64
	}{{2, 0, 1500}, {2, 1, 1500}, {4096, 10, 200}, {64, 0, 1500}} {
		const seed, devices = 5, 3
		router := startRouter(t, seed, devices)
		router.challenge = challengeOf(tt.entries)
		router.between = func(conn net.Conn, n int) {
			if n%100 == 99 {
				_ = ws.WriteFrame(conn, ws.NewPingFrame([]byte("are you there")))
			}
		}
		generated := generate(t, gen.Config{
			Mode: gen.Flat, N: tt.n, Seed: seed, Devices: devices, Gateways: 2,
			Duplicates: 0.05, Reorder: 0.05, JoinRequests: 0.05, Malformed: 0.05, Add: router.add,
		})
		var notices []string
		r := run(within(t), t, Config{
			URL: router.url, Token: "demo", Seed: seed, Devices: devices, Expect: tt.n, Pool: tt.pool,
			Notice: func(line string) { notices = append(notices, line) },
		})
		checkAccount(t, r, generated)
		right, wrong, rejects := router.answers()
		if int64(right) != r.Messages || wrong != 0 || len(rejects) != 0 || int64(router.malformed) != generated.Malformed {
			t.Errorf("%d right answers, %d wrong, %v rejects to %d messages", right, wrong, rejects, r.Messages)
		}
		if r.FirstChallenge != tt.entries || r.LongestChallenge != tt.entries || r.MeanChallenge != float64(tt.entries) {
			t.Errorf("challenges of %d, %d, %v entries", r.FirstChallenge, r.LongestChallenge, r.MeanChallenge)
		}
		if got := strings.Join(notices[2:], "; "); got != "Connected, waiting for load...; Test end marker received. Terminating test!...; "+
			"Waiting tasks...; Test finished!" {
			t.Errorf("notices: %s", got)
		}
	}
}

func checkAccount(t *testing.T, r *Result, g *gen.Result) {
	t.Helper()
	if r.Distinct != g.Uplinks || r.Duplicated != g.Duplicates || r.Reordered != g.Reordered || r.Joins != g.JoinRequests ||
		r.Lost != 0 || r.Unsolved != 0 || r.Foreign != 0 || r.Other != 0 || r.Malformed != 0 || r.Markers != 1 {
		t.Errorf("the account is %+v, planted were %+v", r, g.Counts)
	}
	if r.Messages != r.Uplinks+r.Unsolved+r.Joins+r.Markers+r.Foreign+r.Other+r.Malformed || r.Uplinks != r.Distinct+r.Duplicated {
		t.Errorf("the account %+v does not add up", r)
	}
	l := r.Load
	if l.Completed != r.Distinct || l.Planned != r.Distinct || l.Accounted() != l.Planned || l.Response.Count() != r.Distinct || l.Service.Count() != r.Distinct ||
		l.Response.Count()+r.copies.Count() != r.Uplinks || l.Duration <= 0 {
		t.Errorf("the result is %+v", l)
	}
}

// 150 000 uplinks of one device go twice through the low half of the counter, in
// and out of order.
func TestCountersBeyond16Bits(t *testing.T) {
	const n = 150_000
	s := newSolver(1, 1)
	var got [3]int64
	markers := 0
	eui := lorawan.DemoDevice(1, 0).DevEUI
	g, err := gen.Run(t.Context(), gen.Config{Mode: gen.Flat, N: n, Seed: 1, Reorder: 0.3, Duplicates: 0.1, Add: func(_ context.Context, uplinks []*message.Uplink) error {
		for _, u := range uplinks {
			mic := lorawan.MICOf(u.PHY)
			found := s.solve(&message.Upstream{
				DevEUIs: []lorawan.EUI{1, eui}, PHYNoMIC: u.PHY[:len(u.PHY)-4], Challenge: []uint32{mic ^ 1, mic},
			})
			switch found.finding {
			case stamped:
				got[found.arrival]++
			case endMarker:
				markers++
			default:
				t.Fatalf("finding %d", found.finding)
			}
			if found.mic != mic || found.device != eui {
				t.Fatalf("answer %v %x, want %v %x", found.device, found.mic, eui, mic)
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got[inOrder]+got[reordered] != n || got[reordered] != g.Reordered || got[duplicated] != g.Duplicates || markers != 1 || s.gaps() != 0 {
		t.Errorf("arrivals %v, %d missing; planted were %+v", got, s.gaps(), g.Counts)
	}
}

// A connection that is lost is made again, and what was not answered comes again:
// nothing is lost, and some of it is a duplicate if the answer was lost.
func TestReconnect(t *testing.T) {
	router := startRouter(t, 2, 1)
	router.cut = 200
	g := generate(t, gen.Config{Mode: gen.Flat, N: 1000, Seed: 2, Add: router.add})
	r := run(within(t), t, Config{URL: router.url, Seed: 2, FirstRetry: time.Millisecond})
	if r.Distinct != g.Uplinks || r.Lost != 0 || r.Connections != 2 || r.Reordered != 0 || r.LastError == "" {
		t.Errorf("the account is %+v", r)
	}
	router.answers()
}

// A handshake's fields are lists, as proxies send them.
func TestHandshakeOfLists(t *testing.T) {
	router := startRouter(t, 0, 1)
	listed := strings.NewReplacer("Connection: Upgrade", "Connection: keep-alive, upgrade", "Upgrade: websocket", "Upgrade: WebSocket, x")
	c := Config{URL: router.url, Token: "demo", Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := router.dial(ctx, network, address)
		return rewriting{conn, listed}, err
	}}
	l, err := c.dial(within(t), rand.NewChaCha8([32]byte{}))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// A rewriting connection changes what is read.
type rewriting struct {
	net.Conn
	by *strings.Replacer
}

func (r rewriting) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	return copy(p, r.by.Replace(string(p[:n]))), err
}

func TestUnauthorized(t *testing.T) {
	router := startRouter(t, 0, 1)
	_, err := Run(within(t), Config{URL: router.url, Token: "wrong"})
	if !errors.Is(err, ErrUnauthorized) {
		t.Errorf("error %v", err)
	}
}

// No connection within Idle is an error.
func TestNobodyThere(t *testing.T) {
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listening.Close()
	tries := 0
	_, err = Run(within(t), Config{
		URL: "ws://" + listening.Addr().String() + "/", Idle: 100 * time.Millisecond, FirstRetry: 10 * time.Millisecond,
		Notice: func(line string) {
			if strings.HasPrefix(line, "Connecting") {
				tries++
			}
		},
	})
	if errkind.Of(err) != errkind.Refused || tries < 1 {
		t.Errorf("error %v after %d tries", err, tries)
	}
}

// Messages without the true MIC, of another's device and of a type that is no
// uplink are rejected; those that cannot be read are counted.
func TestUnsolvedAndForeign(t *testing.T) {
	router := startRouter(t, 4, 3)
	router.challenge = func(n int, mic uint32) []uint32 {
		if n%10 == 0 {
			return []uint32{mic + 1, mic + 2}
		}
		return []uint32{mic, mic + 1}
	}
	g := generate(t, gen.Config{Mode: gen.Flat, N: 300, Seed: 4, Devices: 3, Add: router.add})
	router.between = func(conn net.Conn, n int) {
		if n == 50 {
			_ = ws.WriteFrame(conn, ws.NewTextFrame([]byte(`{"ProtocolVersion":1}`)))
		}
	}
	// The sink has two of the three devices. Messages 10, 20, … are not solvable;
	// number n is of device (n−1) mod 3, so a third of those 30 is also foreign.
	r := run(within(t), t, Config{URL: router.url, Seed: 4, Devices: 2, Expect: 180, Idle: 20 * time.Second})
	_, wrong, rejects := router.answers()
	if r.Distinct != 180 || r.Unsolved != 20 || r.Foreign != 100 || r.Malformed != 1 || wrong != 0 ||
		rejects[message.MICFailed] != 20 || rejects[message.RejectOther] != 100 || r.Messages != g.Entries+1 {
		t.Errorf("%+v, rejects %v", r, rejects)
	}
}

// Without acks nothing is answered, and the run ends after the end marker.
func TestNoAck(t *testing.T) {
	router := startRouter(t, 6, 2)
	generate(t, gen.Config{Mode: gen.Flat, N: 200, Seed: 6, Devices: 2, Add: router.add})
	r := run(within(t), t, Config{URL: router.url, Seed: 6, Devices: 2, NoAck: true})
	router.mu.Lock()
	defer router.mu.Unlock()
	if r.Distinct != 200 || r.Lost != 0 || router.right+router.wrong+len(router.rejects) != 0 {
		t.Errorf("%+v, %d answers", r, router.right+router.wrong)
	}
}

// A message that never comes is lost, and is unfinished in the result; the end is Idle later.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		router := newRouter(t, 8, 1)
		generate(t, gen.Config{Mode: gen.Flat, N: 90, Seed: 8, Add: router.add})
		start := time.Now()
		r := run(t.Context(), t, Config{URL: router.url, Dial: router.dial, Seed: 8, Expect: 100, Idle: 7 * time.Second})
		if r.Distinct != 90 || r.Lost != 10 || r.Load.Planned != 100 || r.Load.Unfinished != 10 || r.Load.Failed != 0 {
			t.Errorf("%+v, result %+v", r, r.Load)
		}
		if took := time.Since(start); took != 7*time.Second {
			t.Errorf("took %v, want Idle", took)
		}
	})
}

// A router that accepts connections and is silent does not prolong the run: neither before the handshake, nor when it ignores the end.
func TestSilentRouters(t *testing.T) {
	for upgrades, want := range map[bool]time.Duration{false: 3 * time.Second, true: 3*time.Second + quietTimeout} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, err := Run(t.Context(), Config{URL: "ws://silent/", Idle: 3 * time.Second, Dial: func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				go func() {
					if upgrades {
						_, _ = ws.Upgrade(there)
					}
					_, _ = io.Copy(io.Discard, there)
				}()
				return here, nil
			}})
			if took := time.Since(start); took != want || (err == nil) != upgrades {
				t.Errorf("upgrades %v: took %v, want %v; %v", upgrades, took, want, err)
			}
		})
	}
}

// The generator's planned times and delays on the way are what the sink measures,
// to the nanosecond.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		router := newRouter(t, 8, 1)
		add := func(ctx context.Context, uplinks []*message.Uplink) error {
			time.Sleep(30 * time.Millisecond)
			return router.add(ctx, uplinks)
		}
		go func() {
			_, err := gen.Run(t.Context(), gen.Config{
				Mode: gen.Rate, N: 30, Pacer: pace.Constant(50), Timer: pace.Runtime, Seed: 8, Add: add,
			})
			if err != nil {
				t.Error(err)
			}
		}()
		r := run(t.Context(), t, Config{URL: router.url, Dial: router.dial, Seed: 8, Expect: 30})
		// Due every 20 ms; a write takes 30 ms, so they begin at 0, 30, 60 … ms with what is
		// due by then: lags are 0, then 10, 20 and 0 ms again and again. The last uplink, due
		// at 580 ms, is sent at 600 ms and arrives at 630 ms.
		ms := time.Millisecond
		l := r.Load
		if l.Response.Min() != 30*ms || l.Response.Max() != 50*ms || l.Service.Min() != 30*ms || l.Service.Max() != 30*ms ||
			l.StartLag.Max() != 20*ms || r.Total != 630*ms || l.Duration != r.Total {
			t.Errorf("response %v to %v, service %v to %v, lag up to %v, total %v", l.Response.Min(), l.Response.Max(),
				l.Service.Min(), l.Service.Max(), l.StartLag.Max(), r.Total)
		}
	})
}

// The delays between connections are those of the bridges, and Idle ends it all.
func TestRetryDelays(t *testing.T) {
	for first, want := range map[time.Duration][]time.Duration{
		0:           {0, 5, 15, 35, 65, 95},
		time.Second: {0, 1, 6, 16, 36, 66, 96},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var tries []time.Duration
			_, err := Run(t.Context(), Config{
				URL: "ws://nobody/", Idle: 100 * time.Second, FirstRetry: first,
				Dial: func(context.Context, string, string) (net.Conn, error) {
					tries = append(tries, time.Since(start)/time.Second)
					return nil, errors.New("nobody there")
				},
			})
			if !slices.Equal(tries, want) || err == nil || time.Since(start) != 100*time.Second {
				t.Errorf("tries after %v s, want %v; error %v after %v", tries, want, err, time.Since(start))
			}
		})
	}
}

// In the mode rate, response times are from the intended moment, service times
// from the sending, and a document can hold the result.
func TestRateInADocument(t *testing.T) {
	router := startRouter(t, 9, 1)
	pacer := pace.Constant(2000)
	done := make(chan *gen.Result, 1)
	go func() {
		g, err := gen.Run(t.Context(), gen.Config{Mode: gen.Rate, N: 400, Seed: 9, Pacer: pacer, Add: router.add})
		if err != nil {
			t.Error(err)
		}
		done <- g
	}()
	r := run(within(t), t, Config{URL: router.url, Seed: 9, Expect: 400, Pacer: pacer})
	g := <-done
	checkAccount(t, r, g)
	l := r.Load
	lag := l.Response.Mean() - l.Service.Mean() - l.StartLag.Mean()
	if l.Model != load.OpenModel || lag.Abs() > 2 || (l.StartLag.Mean()-g.StartLag.Mean()).Abs() > time.Microsecond+1 {
		t.Errorf("response %v, service %v, lag %v; the generator's %v", l.Response.Mean(), l.Service.Mean(), l.StartLag.Mean(), g.StartLag.Mean())
	}
	doc := &report.Document{Schema: report.Schema}
	entry := report.Result{}
	entry.Cell.Result = l
	doc.Results = append(doc.Results, entry)
	var stored bytes.Buffer
	if err := doc.Write(&stored); err != nil {
		t.Fatal(err)
	}
	if _, err := report.Read(&stored); err != nil {
		t.Errorf("the document does not agree with itself: %v", err)
	}
	var text strings.Builder
	if err := r.WritePublished(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Total req:      400", "Latency distribution:"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the forms lack %q:\n%s", want, &text)
		}
	}
}

func TestInterrupted(t *testing.T) {
	router := startRouter(t, 1, 1)
	ctx, cancel := context.WithCancel(within(t))
	r := make(chan *Result)
	go func() {
		result, err := Run(ctx, Config{URL: router.url, Seed: 1, Expect: 100})
		if err != nil {
			t.Error(err)
		}
		r <- result
	}()
	generate(t, gen.Config{Mode: gen.Flat, N: 50, Seed: 1, Add: router.add})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		router.mu.Lock()
		all := router.right == 51
		router.mu.Unlock()
		if all {
			break
		}
	}
	cancel()
	if result := <-r; result.Distinct != 50 || result.Load.Stopped != load.Interrupted || result.Lost != 50 {
		t.Errorf("%+v", result)
	}
}
