package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"contend/internal/testenv"
	"contend/load"
)

func TestMain(m *testing.M) { testenv.Main(m, 16) } // these tests wait more than they compute

// A script answers exports one after another, the last answer again and again.
type script struct {
	answers []func(context.Context) error
	got     []*collector.ExportMetricsServiceRequest // that were taken
	tried   []time.Duration
	begun   time.Time
}

func (s *script) send(ctx context.Context, export *collector.ExportMetricsServiceRequest) (*collector.ExportMetricsServiceResponse, error) {
	s.tried = append(s.tried, time.Since(s.begun))
	err := s.answers[min(len(s.tried), len(s.answers))-1](ctx)
	if err == nil {
		s.got = append(s.got, export)
	}
	return new(collector.ExportMetricsServiceResponse), err
}

func (s *script) Close() error { return nil }

func takes(context.Context) error { return nil }
func dead(context.Context) error  { return errors.New("connection refused") }
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
func slow(ctx context.Context) error {
	select {
	case <-time.After(3 * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
func full(context.Context) error      { return &refusal{"503", true, 0} }
func fullFor4s(context.Context) error { return &refusal{"503", true, 4 * time.Second} }
func forbids(context.Context) error   { return &refusal{"401", false, 0} }

// reading has so many completed.
func reading(n int64) []Reading {
	c := load.NewCounts()
	c.Planned, c.Completed = n, n
	for range n {
		c.Response.Record(time.Millisecond)
		c.StartLag.Record(0)
	}
	return []Reading{{Counts: &c}}
}

// Ten seconds, one iteration in each, and what becomes of it with collectors of any kind: what
// arrived adds up if the last export did, and the end takes no longer than it may.
func TestTurns(t *testing.T) {
	for name, tt := range map[string]struct {
		answers []func(context.Context) error
		sums    bool
		most    time.Duration // for the end
		tries   int           // at most
	}{
		"takes":            {[]func(context.Context) error{takes}, true, 0, 12},
		"slow":             {[]func(context.Context) error{slow}, true, 6 * time.Second, 6},
		"full at first":    {[]func(context.Context) error{full, full, full, takes}, true, 0, 12},
		"full for a while": {[]func(context.Context) error{takes, fullFor4s, takes}, true, 0, 12},
		"full at the end":  {[]func(context.Context) error{takes, takes, takes, takes, takes, takes, takes, takes, takes, takes, full, full, takes}, true, time.Second, 14},
		"dies":             {[]func(context.Context) error{takes, takes, dead}, false, 10 * time.Second, 20},
		"dead":             {[]func(context.Context) error{dead}, false, 2 * time.Second, 12},
		"hangs":            {[]func(context.Context) error{hangs}, false, 8 * time.Second, 5},
		"forbids":          {[]func(context.Context) error{forbids}, false, 0, 12},
	} {
		for _, delta := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " delta ", delta), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &script{answers: tt.answers, begun: time.Now()}
					var warnings []string
					e := &Exporter{config: Config{Every: time.Second, Delta: delta}, client: s, shown: make(chan struct{}, 1), begun: time.Now(), last: told{at: time.Now()},
						warn: func(text string) { warnings = append(warnings, text) }}
					e.Follow()
					for n := range int64(10) {
						time.Sleep(time.Second)
						e.Show(reading(n + 1))
					}
					ended := time.Now()
					stats := e.End()
					if took := time.Since(ended); took > tt.most {
						t.Errorf("the end took %v, at most %v are allowed", took, tt.most)
					}
					if tt.sums {
						values, times := sums(t, s.got, delta)
						if values["contend.iterations completed"] != 10 || times["contend.response.time"][int(bucketOf(time.Millisecond))] != 10 || times["contend.start.lag"][zeroBucket] != 10 {
							t.Errorf("what arrived adds up to %v, %v", values, times)
						}
					}
					if stats.Last != tt.sums || stats.Sent != len(s.tried) || stats.Failed != len(s.tried)-len(s.got) || len(s.tried) > tt.tries {
						t.Errorf("%+v, tried at %v", stats, s.tried)
					}
					if len(warnings) != min(1, stats.Failed) || (stats.String() == "") != (stats.Failed == 0) {
						t.Errorf("warned %q, at the end %q", warnings, stats)
					}
				})
			})
		}
	}
}

// Between blocks a hanging collector is waited for neither long nor often.
func TestBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(context.Context) error{hangs}, begun: time.Now()}
		e := &Exporter{config: Config{Every: time.Second}, client: s, shown: make(chan struct{}, 1), warn: func(string) {}}
		var waited time.Duration
		for range 600 {
			time.Sleep(time.Second)
			begun := time.Now()
			e.Between(reading(1))
			waited += time.Since(begun)
		}
		if waited > 600*time.Second/100 {
			t.Errorf("of 10 min %v were waited for", waited)
		}
	})
}

// connections is a listener for those that it holds.
type connections chan net.Conn

func (c connections) Accept() (net.Conn, error) {
	if conn, ok := <-c; ok {
		return conn, nil
	}
	return nil, io.EOF
}

func (connections) Close() error   { return nil }
func (connections) Addr() net.Addr { return &net.TCPAddr{} }

// The answers of servers are bounded, and printed without control characters of terminals.
func TestHostileAnswers(t *testing.T) {
	partial, _ := proto.Marshal(&collector.ExportMetricsServiceResponse{PartialSuccess: &collector.ExportMetricsPartialSuccess{RejectedDataPoints: 7, ErrorMessage: "too\x1b[2J many"}})
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string // of the stats; "": it arrived
	}{
		"partial": {func(w http.ResponseWriter, _ *http.Request) { w.Write(partial) }, "refused 7 points: too [2J many"},
		"bad gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write([]byte("no"))
		}, ""},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for chunk := make([]byte, 1<<20); r.Context().Err() == nil; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, ""},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://localhost:1", http.StatusTemporaryRedirect)
		}, "307"},
		"header":  {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) }, "header"},
		"dies":    {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"forbids": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "401"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, err := NewExporter(Config{Collector: "http://localhost:4318", Every: time.Second}, func(string) {})
				testenv.Must(t, err)
				server := make(connections)
				defer close(server)
				go http.Serve(server, tt.answer)
				e.client.(*httpClient).Transport.(*http.Transport).DialContext = func(_ context.Context, _, addr string) (net.Conn, error) {
					if addr != "localhost:4318" {
						return nil, errors.New("a redirection was followed")
					}
					near, far := net.Pipe()
					server <- far
					return near, nil
				}
				e.Show(reading(1))
				if text := e.End().String(); !strings.Contains(text, tt.want) || (text == "") != (tt.want == "") {
					t.Errorf("said %q, want %q", text, tt.want)
				}
			})
		})
	}
}

// The attempt for which there was no time left at the end hides no cause.
func TestCutShort(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer s.Close()
	e, err := NewExporter(Config{Collector: Collector(s.URL), Every: time.Hour}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer e.client.Close()
	for _, limit := range []time.Duration{time.Minute, time.Nanosecond} {
		if err := e.send(t.Context(), reading(1), limit); err == nil || !strings.Contains(e.stats.Cause, "401") {
			t.Errorf("within %v: %v, cause %q", limit, err, e.stats.Cause)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "x": 0, "99999999999999": 0,
		"Fri, 02 Jan 2026 03:04:09 GMT": 4 * time.Second, "Fri, 02 Jan 2026 03:04:01 GMT": 0} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}
