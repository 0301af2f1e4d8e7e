package tcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/pace"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
	"contend/setting"
)

func TestMain(m *testing.M) { testenv.Main(m, 8) }

// overBothEngines calls test for each engine that this system has.
func overBothEngines(t *testing.T, test func(t *testing.T, run func(Config, load.Plan) *load.Result)) {
	wiretest.Engines(t, loop.Supported, func(t *testing.T, engine load.Engine) {
		test(t, func(c Config, plan load.Plan) *load.Result {
			return wiretest.Over(t, engine, opened(t, c), plan)
		})
	})
}

func opened(t testing.TB, c Config) load.Target {
	t.Helper()
	c.MaxMessage = cmp.Or(c.MaxMessage, 1<<20)
	target, err := Open(t.Context(), c, wire.Surroundings{})
	testenv.Must(t, err)
	return target
}

// echo answers each line separately, in as many writes as pieces.
func echo(pieces int) func(net.Conn) {
	return func(conn net.Conn) {
		from := bufio.NewReader(conn)
		for {
			line, err := from.ReadBytes('\n')
			if err != nil {
				return
			}
			for i := range pieces {
				_, _ = conn.Write(line[i*len(line)/pieces : (i+1)*len(line)/pieces])
				time.Sleep(time.Duration(pieces-1) * time.Millisecond) // so that they arrive apart
			}
		}
	}
}

func TestExchanges(t *testing.T) {
	file := testenv.Files(t, "data", "PING\r\n")
	for name, c := range map[string]Config{
		"until":             {Until: Escaped("\r\n")},
		"length":            {Length: 6},
		"from a file":       {Length: 6, Body: wire.Body{DataFile: file}},
		"a connection each": {Until: Escaped("\r\n"), NoKeepAlive: true},
	} {
		for _, pieces := range []int{1, 6} {
			t.Run(fmt.Sprintf("%s/%d", name, pieces), func(t *testing.T) {
				t.Parallel() // a server waits between pieces
				overBothEngines(t, func(t *testing.T, run func(Config, load.Plan) *load.Result) {
					c := c
					if c.URL = "tcp://" + wiretest.Listen(t, echo(pieces)); c.DataFile == "" {
						c.Data = Escaped("PING\r\n")
					}
					r := run(c, load.Plan{VUs: 3, Iterations: 30, Timeout: testenv.Patience})
					if r.Completed != 30 || r.BytesIn != 30*6 || r.BytesOut != 30*6 {
						t.Errorf("completed %d, %d bytes in, %d out, errors %v", r.Completed, r.BytesIn, r.BytesOut, r.Errored)
					}
					want := &load.Answers{Kinds: []load.AnswerKind{{Count: 30}}, Bodies: []load.Bodies{{Count: 30, Bytes: 30 * 6}}}
					if !reflect.DeepEqual(r.Answers, want) {
						t.Errorf("answers %+v, want %+v", r.Answers, want)
					}
				})
			})
		}
	}
}

func TestOpenModel(t *testing.T) {
	overBothEngines(t, func(t *testing.T, run func(Config, load.Plan) *load.Result) {
		pacer, err := pace.Parse("100")
		testenv.Must(t, err)
		c := Config{URL: "tcp://" + wiretest.Listen(t, echo(1)), Data: Escaped("a\n"), Until: Escaped("\n")}
		r := run(c, load.Plan{VUs: 4, Pacer: pacer, Iterations: 20, Timeout: testenv.Patience})
		if r.Completed != 20 || r.Model != load.OpenModel {
			t.Errorf("completed %d in the %s model, errors %v", r.Completed, r.Model, r.Errored)
		}
	})
}

// hostile is what both engines have to survive, with keep-alive and without.
func hostile() wiretest.Protocol {
	const answer = "0123456789abcdef\x00\x01"
	asked := func(serve func(net.Conn)) func(net.Conn) {
		return func(conn net.Conn) {
			for request := make([]byte, 1); request[0] != '\n'; {
				if _, err := io.ReadFull(conn, request); err != nil {
					return
				}
			}
			serve(conn)
		}
	}
	p := wiretest.Protocol{
		Asked: asked, Answers: []string{answer},
		Foreign: []errkind.Kind{errkind.Closed}, // no answer up to the end
		Peers: []wiretest.Peer{
			{Name: "endless", Serve: asked(wiretest.Endless("", strings.Repeat("x", 4096))), Want: []errkind.Kind{errkind.Protocol}, Endless: true},
			{Name: "unasked", Serve: wiretest.Endless("", strings.Repeat("x", 4096)), Want: []errkind.Kind{errkind.Protocol}, Endless: true},
			{Name: "more than the answer", Serve: asked(wiretest.Say(0, answer+"b")), Want: []errkind.Kind{errkind.Protocol}},
		},
	}
	for _, event := range []bool{false, true} {
		for _, each := range []bool{false, true} {
			if ok, _ := loop.Supported(); event && !ok {
				continue
			}
			p.Ways = append(p.Ways, wiretest.Way{Name: fmt.Sprintf("loop=%t, close=%t", event, each), Plain: true,
				Open: func(t testing.TB, s wiretest.Server) load.Target {
					target := opened(t, Config{URL: "tcp://" + s.Address, Data: Escaped("a\n"), Until: Escaped("\x00\x01"),
						MaxMessage: 64 << 10, NoKeepAlive: each})
					if event {
						return target
					}
					return wiretest.Calls{Target: target}
				}})
		}
	}
	return p
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	hostile().Hostile(t)
}

func TestEndlessServers(t *testing.T) { hostile().Endless(t) }

func TestRestarted(t *testing.T) {
	t.Parallel()
	hostile().Restarted(t, wiretest.OnTCP(func(l net.Listener) func() {
		return wiretest.Serve(l, func(conn net.Conn) {
			for from := bufio.NewReader(conn); ; {
				if _, err := from.ReadBytes('\n'); err != nil {
					return
				}
				_, _ = conn.Write([]byte("\x00\x01"))
			}
		})
	}), errkind.Refused)
}

// An end of the context interrupts an iteration.
func TestInterrupted(t *testing.T) {
	target, err := Open(t.Context(), Config{URL: "tcp://" + wiretest.Listen(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }),
		Data: Escaped("a"), Length: 1, MaxMessage: 1}, wire.Surroundings{})
	testenv.Must(t, err)
	v, _ := target.NewVU(t.Context(), 0)
	defer v.(io.Closer).Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := v.Do(ctx); errkind.Of(err) != errkind.Cancelled {
		t.Errorf("got %v", err)
	}
}

func TestEscapes(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "PING": "PING", `a\r\n\t\\b`: "a\r\n\t\\b", `\x00\xfF\x0a`: "\x00\xff\n", "€\n": "€\n",
	} {
		var e Escaped
		if err := e.UnmarshalText([]byte(text)); err != nil || string(e) != want {
			t.Errorf("%q: got %q, %v", text, e, err)
		}
	}
	for _, text := range []string{`\`, `a\`, `\q`, `\x`, `\x1`, `\xg0`, `\x 1`, `\u0041`} {
		var e Escaped
		if err := e.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), `\xHH`) {
			t.Errorf("%q: got %q, %v", text, e, err)
		}
	}
}

func FuzzEscapes(f *testing.F) {
	f.Add([]byte("a\r\n\\\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, _ := Escaped(data).MarshalText()
		var back Escaped
		if err := back.UnmarshalText(text); err != nil || !bytes.Equal(back, data) {
			t.Errorf("%q is %q and then %q, %v", data, text, back, err)
		}
	})
}

// However an answer is cut, it ends where its delimiter first does.
func FuzzEnd(f *testing.F) {
	f.Add([]byte("ab\r\r\nx"), []byte("\r\n"), uint8(1))
	f.Add([]byte("aaab"), []byte("aab"), uint8(2))
	f.Fuzz(func(t *testing.T, answer, until []byte, cut uint8) {
		if len(until) == 0 {
			return
		}
		c := conversation{config: &Config{Until: until, MaxMessage: 1 << 20}}
		c.Start(nil, 0)
		want := bytes.Index(answer, until)
		for rest, at := answer, 0; len(rest) > 0; {
			piece := rest[:min(len(rest), int(cut)+1)]
			end, err := c.end(piece)
			testenv.Must(t, err)
			if end >= 0 {
				if at+end != want+len(until) {
					t.Fatalf("%q ends in %q at %d, want %d", answer, until, at+end, want+len(until))
				}
				return
			}
			at, rest = at+len(piece), rest[len(piece):]
		}
		if want >= 0 {
			t.Fatalf("%q was not found in %q", until, answer)
		}
	})
}

func TestMistakes(t *testing.T) {
	empty := testenv.Files(t, "empty", "")
	for _, test := range []struct {
		config Config
		want   []string
	}{
		{Config{URL: "tcp://host"}, []string{`"tcp://host"; expected tcp://host:port`, "data is missing", "until is missing"}},
		{Config{URL: "tcp://u:secret@host:1/path"}, []string{"expected tcp://host:port"}},
		{Config{URL: "tcp://h:1", Data: Escaped("a"), Body: wire.Body{DataFile: "b"}, Until: Escaped("a"), Length: 1}, []string{"data_file cannot be combined with data", "length cannot be combined with until"}},
		{Config{URL: "tcp://h:1", Data: Escaped("a"), Until: Escaped("abc"), MaxMessage: 2}, []string{"until has 3 bytes; expected at most the 2 of an answer"}},
		{Config{URL: "tcp://h:1", Body: wire.Body{DataFile: "missing-file"}, Length: 1, MaxMessage: 1}, []string{`data_file is "missing-file", which cannot be read: `}},
		{Config{URL: "tcp://h:1", Body: wire.Body{DataFile: empty}, Length: 1, MaxMessage: 1}, []string{"which is empty"}},
	} {
		opened, err := Open(t.Context(), test.config, wire.Surroundings{})
		if opened != nil {
			t.Errorf("opened %v, %v", opened, err)
		}
		testenv.Says(t, err, test.want...)
	}
	given := setting.Values{"length": {Texts: []string{"-1"}}, "data": {Texts: []string{`\q`}}}
	if err := setting.Fill(&Config{}, given, setting.InFile); len(setting.Mistakes(err)) != 2 {
		t.Error(err)
	}
}

func TestNoAllocationPerIteration(t *testing.T) {
	v := wiretest.VU[load.VU](t, opened(t, Config{URL: "tcp://" + wiretest.Listen(t, echo(1)), Data: Escaped("a\n"), Until: Escaped("\n"),
		MaxMessage: 1 << 20}), 0)
	do := func() {
		if _, err := v.Do(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	do()
	if n := testing.AllocsPerRun(100, do); n > 1 { // the server's, which is in this process
		t.Errorf("%v allocations", n)
	}
}
