package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	nethttp "net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/check"
	"contend/protocol/data"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// A diary is a server that remembers what it was asked.
type diary struct {
	mu    sync.Mutex
	asked map[string]int
	serve nethttp.HandlerFunc // may be nil
}

func (d *diary) handle(w nethttp.ResponseWriter, r *nethttp.Request) {
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	d.asked[fmt.Sprintf("%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("X"), body)]++
	d.mu.Unlock()
	if d.serve != nil {
		d.serve(w, r)
	}
}

// entries returns how often what was asked.
func (d *diary) entries() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.asked)
}

func newDiary(t *testing.T, serve nethttp.HandlerFunc) (d *diary, url string) {
	d = &diary{asked: map[string]int{}, serve: serve}
	return d, "http://" + serveOn(t, "tcp", "127.0.0.1:0", d.handle)
}

func TestOrderIsSmooth(t *testing.T) {
	// The example of nginx's commit 52327e0627f4: { 5, 1, 1 } gives a a b a c a a.
	got := order([]Request{{Weight: 5}, {Weight: 1}, {}})
	if want := []uint8{0, 0, 1, 0, 2, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 20), 1, 8).Draw(t, "weights")
		requests := make([]Request, len(weights))
		total := 0
		for i, w := range weights {
			requests[i].Weight = w
			total += w
		}
		counts := make([]int, len(weights))
		for turn, i := range order(requests) {
			counts[i]++
			share := float64(turn+1) * float64(weights[i]) / float64(total)
			if off := float64(counts[i]) - share; off > float64(len(weights)) || off < -float64(len(weights)) {
				t.Fatalf("after %d turns %d of request %d, which has a share of %v", turn+1, counts[i], i, share)
			}
		}
		if !slices.Equal(counts, weights) {
			t.Fatalf("counts %v, weights %v", counts, weights)
		}
	})
}

func TestBothEnginesSendRequestsByTheirWeights(t *testing.T) {
	const slow = 10 * time.Millisecond
	overBothEngines(t, func(t *testing.T, run runner) {
		d, url := newDiary(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
			switch r.URL.Path {
			case "/buy":
				time.Sleep(slow)
			case "/sell":
				w.WriteHeader(404)
			}
		})
		c := Config{
			URL: url + "/buy?a=b", Header: []wire.Field{{Name: "X", Value: "all"}}, Body: []byte("config's"), Method: "PUT",
			Requests: []Request{
				{Name: "buy", Weight: 5},
				{Name: "sell", Path: "/sell", Method: "POST", Body: []byte("own"), Header: []wire.Field{{Name: "x", Value: "own"}}},
				{Name: "head", Path: "/?q", Method: "HEAD", Body: []byte{}, ExpectStatus: []int{204}},
			},
		}
		r := run(t, c, load.Plan{VUs: 4, Iterations: 70, Timeout: testenv.Patience})
		want := map[string]int{"PUT /buy?a=b all config's": 50, "POST /sell own own": 10, "HEAD /?q all ": 10}
		if !reflect.DeepEqual(d.entries(), want) {
			t.Errorf("asked %v, want %v", d.entries(), want)
		}
		shares := map[string][3]int64{}
		for name, share := range r.Requests {
			shares[name] = [3]int64{share.Completed, share.Failed, share.Errored}
		}
		if want := map[string][3]int64{"buy": {50}, "sell": {0, 10}, "head": {0, 10}}; !reflect.DeepEqual(shares, want) {
			t.Errorf("completed, failed, errored: %v, want %v", shares, want)
		}
		if buy := r.Requests["buy"].Service; buy.Count() != 50 || buy.Min() < slow*99/100 {
			t.Errorf("%d times, the least %v; want 50 of at least %v", buy.Count(), buy.Min(), slow)
		}
	})
}

func TestBothEnginesCountErrorsByRequest(t *testing.T) {
	t.Parallel()
	type shares map[string]int64
	for name, address := range map[string]string{
		"refused": testenv.HeldAddress(t),
		"garbage": wiretest.Listen(t, wiretest.AfterRead(wiretest.Say(0, "garbage\r\n\r\n"))),
		"closes":  wiretest.Listen(t, wiretest.AfterRead(func(net.Conn) {})),
		"resets":  wiretest.Listen(t, wiretest.AfterRead(wiretest.Reset)),
		"late":    wiretest.Listen(t, wiretest.Hang),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Config{URL: "http://" + address, Requests: []Request{{Name: "a", Weight: 2}, {Name: "b"}}}
			check := func(t *testing.T, run runner) {
				r := run(t, c, load.Plan{VUs: 3, Iterations: 12, Timeout: wiretest.Short, Grace: testenv.Patience})
				got := shares{}
				for name, share := range r.Requests {
					got[name] = share.Errored
				}
				if want := (shares{"a": 8, "b": 4}); !reflect.DeepEqual(got, want) || r.ErroredTotal() != 12 {
					t.Errorf("errors %v of %v, want %v", got, r.Errored, want)
				}
			}
			overBothEngines(t, check)
			if ok, _ := loop.Supported(); ok {
				c.HTTP2 = true
				t.Run("HTTP/2", func(t *testing.T) { check(t, runLoop) })
			}
		})
	}
}

func TestBothEnginesCheckAnswers(t *testing.T) {
	t.Parallel()
	const body = `{"user": {"id": 7}, "text": "order accepted"}`
	for _, test := range []struct {
		checks []string
		broken string // the first check that is; "" if none
	}{
		{[]string{"header Content-Type contains json", "header x-b == 2", "body contains accepted", "json $.user.id == 7", "size == 45"}, ""},
		{[]string{"status == 201", "size == 45"}, ""},
		{[]string{"status == 200"}, "status == 200"},
		{[]string{"size > 10", "json $.user.id == 8", "size > 100"}, "json $.user.id == 8"},
		{[]string{"not body contains order"}, "not body contains order"},
		{[]string{"header X-None exists"}, "header X-None exists"},
		{[]string{`body matches /^\{.*\}$/`}, ""},
	} {
		t.Run(strings.Join(test.checks, ", "), func(t *testing.T) {
			t.Parallel()
			overBothEngines(t, func(t *testing.T, run runner) {
				_, url := newDiary(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
					w.Header().Set("Content-Type", "application/json")
					w.Header()["X-B"] = []string{"1", "2"}
					w.WriteHeader(201)
					_, _ = io.WriteString(w, body[:10])
					_ = nethttp.NewResponseController(w).Flush()
					_, _ = io.WriteString(w, body[10:])
				})
				r := run(t, Config{URL: url, Checks: test.checks}, load.Plan{VUs: 2, Iterations: 20, Timeout: testenv.Patience})
				if test.broken == "" {
					if r.Completed != 20 {
						t.Errorf("completed %d, faults %+v", r.Completed, r.Faults)
					}
					return
				}
				if r.Failed != 20 || len(r.Faults) != 1 || r.Faults[0].Check != test.broken ||
					!strings.Contains(r.Faults[0].Example, "201 Created\r\n\r\n"+body) {
					t.Errorf("failed %d, faults %+v", r.Failed, r.Faults)
				}
			})
		})
	}
}

func TestAWrongStatusIsSaidBeforeTheChecks(t *testing.T) {
	v := newTestVU(t, Config{URL: "http://" + wiretest.Listen(t, wiretest.Answering("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")), Checks: []string{"size > 0"}})
	if out, err := v.Do(context.Background()); err != nil || !out.Failed || out.Check != "" {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestABodyThatIsTooLongToCheckIsBrokenAndBounded(t *testing.T) {
	size := check.BodyLimit + 1
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", size, bytes.Repeat([]byte("x"), size))
	v := newTestVU(t, Config{URL: "http://" + wiretest.Listen(t, wiretest.Answering(string(answer))), Checks: []string{"body contains x"}})
	for range 2 {
		out, err := v.Do(context.Background())
		if err != nil || out.Check != "body contains x (body too long)" || out.BodyIn != int64(size) {
			t.Errorf("got %+v, %v", out, err)
		}
	}
	if got := cap(v.parser.excerpt); got > 2*check.BodyLimit {
		t.Errorf("%d bytes kept", got)
	}
}

func rowsOf(t testing.TB, csv string) *data.Rows {
	t.Helper()
	rows, err := data.ParseRows("rows.csv", []byte(csv))
	testenv.Must(t, err)
	return rows
}

func TestBothEnginesFillTemplates(t *testing.T) {
	overBothEngines(t, func(t *testing.T, run runner) {
		d, url := newDiary(t, nil)
		source := &data.Source{Rows: rowsOf(t, "name,price\nAda,1\n\"B & B\",22\n\"say \"\"hi\"\"\",333\n")}
		c := Config{
			URL: url + "/buy/{{name}}?p={{price}}", Method: "POST", Data: source,
			Header: []wire.Field{{Name: "X", Value: "<{{name}}>"}, {Name: "Content-Type", Value: "application/json"}},
			Body:   []byte(`{"name": "{{name}}", "price": {{price}}}`),
		}
		r := run(t, c, load.Plan{VUs: 2, Iterations: 6, Timeout: testenv.Patience})
		want := map[string]int{ // each row twice
			`POST /buy/Ada?p=1 <Ada> {"name": "Ada", "price": 1}`:                            2,
			`POST /buy/B%20%26%20B?p=22 <B & B> {"name": "B & B", "price": 22}`:              2,
			`POST /buy/say%20%22hi%22?p=333 <say "hi"> {"name": "say \"hi\"", "price": 333}`: 2,
		}
		if r.Completed != 6 || !reflect.DeepEqual(d.entries(), want) {
			t.Errorf("completed %d, asked %v", r.Completed, d.entries())
		}
	})
}

func TestBothEnginesNumberVUsAndIterations(t *testing.T) {
	t.Parallel()
	overBothEngines(t, func(t *testing.T, run runner) {
		d, url := newDiary(t, nil)
		c := Config{URL: url + "?vu={{vu}}&row={{row}}", Data: &data.Source{
			Rows: rowsOf(t, "a\n1\n2\n3\n4\n"), Order: data.PerVU, VUs: 2,
		}}
		r := run(t, c, load.Plan{VUs: 2, Iterations: 40, Think: time.Millisecond, Timeout: testenv.Patience})
		// VU 0 has the rows 1 and 3, VU 1 the others.
		for asked := range d.entries() {
			if !slices.Contains([]string{"GET /?vu=0&row=1  ", "GET /?vu=0&row=3  ", "GET /?vu=1&row=2  ", "GET /?vu=1&row=4  "}, asked) {
				t.Errorf("asked %q", asked)
			}
		}
		if len(d.entries()) != 4 || r.Completed < 4 {
			t.Errorf("completed %d, asked %v", r.Completed, d.entries())
		}
	})
}

func TestBytesOutOfTemplatesAreWhatIsSent(t *testing.T) {
	v := newTestVU(t, Config{
		URL: "http://" + wiretest.Listen(t, wiretest.Answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")), Method: "POST",
		Body: []byte("{{name}}"), Data: &data.Source{Rows: rowsOf(t, "name\na\nbbbbbbbbbb\n")},
	})
	var sizes [2]int64
	for i := range sizes {
		out, err := v.Do(context.Background())
		testenv.Must(t, err)
		sizes[i] = out.BytesOut
	}
	if sizes[1]-sizes[0] != 10 { // nine letters, and a digit of Content-Length
		t.Errorf("sizes %v", sizes)
	}
}

func TestNewRefusesRequests(t *testing.T) {
	source := &data.Source{Rows: rowsOf(t, "a\n1\n")}
	for want, c := range map[string]Config{
		`requests[1].name is missing`:                    {Requests: []Request{{Name: "a"}, {}}},
		`requests[1].name is "a", as that of another`:    {Requests: []Request{{Name: "a"}, {Name: "a"}}},
		`requests[0].weight is 1001; expected 0 to 1000`: {Requests: []Request{{Name: "a", Weight: 1001}}},
		`requests[0].method is "G T"`:                    {Requests: []Request{{Name: "a", Method: "G T"}}},
		`requests[0].header name "a b"`:                  {Requests: []Request{{Name: "b", Method: "G T", Header: []wire.Field{{Name: "a b", Value: "c"}}}}},
		`requests[0].path is "x", which does not begin`:  {Requests: []Request{{Name: "a", Path: "x"}}},
		`requests are 101; expected at most 100`:         {Requests: make([]Request, 101)},
		`SameLength compares`:                            {AB: AB{SameLength: true}, Requests: []Request{{Name: "a"}, {Name: "b"}}},
		`checks is "colour == red"`:                      {Checks: []string{"colour == red"}},
		`data: text: {{b}}: "b" is not known`:            {Data: source, Body: []byte("{{b}}")},
		`Content-Length is counted`:                      {Data: source, Header: []wire.Field{{Name: "Content-Length", Value: "3"}}, Body: []byte("abc")},
		`row_order is per-vu with 2 callers`:             {Data: &data.Source{Rows: source.Rows, Order: data.PerVU, VUs: 2}},
		`bearer cannot be combined with basic_auth`:      {Auth: wire.Auth{User: "me", Bearer: "secret"}},
		`bearer holds a space`:                           {Auth: wire.Auth{Bearer: "secret secret"}},
		`basic_auth holds a user with a colon`:           {Auth: wire.Auth{User: "m:e", Password: "secret"}},
		`header Authorization cannot be combined with`:   {Auth: wire.Auth{User: "me"}, Header: []wire.Field{{Name: "authorization", Value: "secret"}}},
	} {
		c.URL = "http://host/"
		_, err := New(c)
		wiretest.Mistakes(t, err, want)
	}
}

func TestAuthIsSentAndNeverShown(t *testing.T) {
	for want, auth := range map[string]wire.Auth{
		"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==": {User: "Aladdin", Password: "open sesame"}, // RFC 7617, section 2
		"Bearer mF_9.B5f-4.1JqM":             {Bearer: "mF_9.B5f-4.1JqM"},                // RFC 6750, section 2.1
	} {
		c := Config{URL: "http://h/", Auth: auth}
		if got := string(targetOf(t, c).requests[0].fixed); !strings.Contains(got, "\r\nAuthorization: "+want+"\r\n") {
			t.Errorf("sent %q", got)
		}
		encoded, err := json.Marshal(struct{ Auth wire.Auth }{auth})
		testenv.Must(t, err)
		var logged bytes.Buffer
		slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "auth", auth, "config", c)
		shown := fmt.Sprintf("%v %+v %#v %s %q %d %x", auth, c, &auth, auth, auth, auth, auth) + string(encoded) + logged.String()
		for _, secret := range []string{"Aladdin", "sesame", "mF_9", "6d465f39", "5f39"} {
			if strings.Contains(shown, secret) {
				t.Errorf("%s is shown: %s", secret, shown)
			}
		}
	}
}

func TestTemplatesAndChecksDoNotAllocate(t *testing.T) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{\"a\": 1 }")
	v := newTestVU(t, Config{
		URL: "http://" + wiretest.Listen(t, wiretest.Answering(string(answer))) + "/{{name}}", Method: "POST", Body: []byte(`{"id": "{{uuid}}", "n": {{random 1 9}}}`),
		Data:     &data.Source{Rows: rowsOf(t, "name\na\nb\n")},
		Checks:   []string{"status == 200", "header content-type contains json", "json $.a == 1", "body contains a"},
		Requests: []Request{{Name: "a"}, {Name: "b", Weight: 2}},
	})
	do := func() {
		if out, err := v.Do(context.Background()); err != nil || out.Failed {
			t.Fatalf("got %+v, %v", out, err)
		}
	}
	do()
	if got := testing.AllocsPerRun(200, do); got != 0 {
		t.Errorf("%v allocations per iteration", got)
	}
}

// FuzzFill checks that a row makes one request, whatever is in it.
func FuzzFill(f *testing.F) {
	f.Add("a", "{\"a\": \"{{v}}\"}")
	f.Add("a\r\nX: y\r\n\r\nGET / HTTP/1.1", "{{v}}")
	f.Add("\u00fc? #&/..", "x={{v}}")
	f.Fuzz(func(t *testing.T, value, body string) {
		line, err := json.Marshal(map[string]string{"v": value})
		if err != nil || !utf8.ValidString(value) {
			return
		}
		rows, err := data.ParseRows("f.jsonl", line)
		if err != nil {
			return
		}
		target, err := New(Config{
			URL: "http://h/a/{{v}}/b?c={{v}}", Method: "POST", Body: []byte(body),
			Header: []wire.Field{{Name: "X", Value: "<{{v}}>"}}, Data: &data.Source{Rows: rows},
		})
		if err != nil {
			return
		}
		s, err := target.newSender(0)
		testenv.Must(t, err)
		s.next(&parser{})
		sent := s.bytes()
		r := bufio.NewReader(bytes.NewReader(sent))
		got, err := nethttp.ReadRequest(r)
		if err != nil {
			t.Fatalf("%q: %v", sent, err)
		}
		if rest, err := io.ReadAll(got.Body); err != nil || r.Buffered() > 0 {
			t.Fatalf("%q: body %q, %v, %d bytes left", sent, rest, err, r.Buffered())
		}
		if part := got.URL.Query().Get("c"); part != value {
			t.Fatalf("%q: c is %q, want %q", sent, part, value)
		}
	})
}
