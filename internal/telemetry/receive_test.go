package telemetry

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
)

// A receiver is a collector that keeps what it is sent.
type receiver struct {
	collector.UnimplementedMetricsServiceServer
	mu      sync.Mutex
	exports []*collector.ExportMetricsServiceRequest
	tokens  []string
}

func (r *receiver) take(export *collector.ExportMetricsServiceRequest, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exports, r.tokens = append(r.exports, export), append(r.tokens, token)
}

func (r *receiver) Export(ctx context.Context, export *collector.ExportMetricsServiceRequest) (*collector.ExportMetricsServiceResponse, error) {
	sent, _ := metadata.FromIncomingContext(ctx)
	r.take(export, strings.Join(sent.Get("authorization"), ","))
	return &collector.ExportMetricsServiceResponse{}, nil
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	export := new(collector.ExportMetricsServiceRequest)
	if err := proto.Unmarshal(body, export); err != nil || request.URL.Path != "/v1/metrics" || request.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "what is this?", http.StatusBadRequest)
		return
	}
	r.take(export, request.Header.Get("Authorization"))
	answer, _ := proto.Marshal(&collector.ExportMetricsServiceResponse{})
	w.Write(answer)
}

// overHTTP and overGRPC serve the receiver and return its URL.
func (r *receiver) overHTTP(t *testing.T) string {
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return s.URL
}

func (r *receiver) overGRPC(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	collector.RegisterMetricsServiceServer(s, r)
	go s.Serve(listener)
	t.Cleanup(s.Stop)
	return "grpc://" + listener.Addr().String()
}

// sums adds up the points of sums by name and attributes, of the last export alone unless all
// are deltas; histograms count by name.
func sums(t *testing.T, exports []*collector.ExportMetricsServiceRequest, delta bool) (map[string]float64, map[string]map[int]uint64) {
	t.Helper()
	want := metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	if !delta {
		exports, want = exports[len(exports)-1:], metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	}
	values, times := map[string]float64{}, map[string]map[int]uint64{}
	for _, export := range exports {
		for _, m := range export.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			if s := m.GetSum(); s != nil {
				if s.AggregationTemporality != want || !s.IsMonotonic {
					t.Errorf("%s is %v", m.Name, s.AggregationTemporality)
				}
				for _, p := range s.DataPoints {
					key := m.Name
					for _, a := range p.Attributes {
						key += " " + a.Value.GetStringValue()
					}
					values[key] += p.GetAsDouble() + float64(p.GetAsInt())
				}
			}
			if h := m.GetExponentialHistogram(); h != nil {
				if h.AggregationTemporality != want {
					t.Errorf("%s is %v", m.Name, h.AggregationTemporality)
				}
				add(t, times, m.Name, h.DataPoints)
			}
		}
	}
	return values, times
}

const zeroBucket = math.MinInt

func add(t *testing.T, times map[string]map[int]uint64, name string, points []*metrics.ExponentialHistogramDataPoint) {
	t.Helper()
	if times[name] == nil {
		times[name] = map[int]uint64{}
	}
	for _, p := range points {
		all := p.ZeroCount
		times[name][zeroBucket] += p.ZeroCount
		for i, n := range p.Positive.BucketCounts {
			times[name][int(p.Positive.Offset)+i] += n
			all += n
		}
		if all != p.Count || p.Scale != 6 {
			t.Errorf("%s: %d in buckets of scale %d, count %d", name, all, p.Scale, p.Count)
		}
	}
}

// quantile is what a reader of the buckets takes for it: the upper end of the bucket.
func quantile(buckets map[int]uint64, q float64) time.Duration {
	var all, seen uint64
	for _, n := range buckets {
		all += n
	}
	for i := -64 * 31; ; i++ {
		if seen += buckets[i]; float64(seen+buckets[zeroBucket]) >= q*float64(all) {
			return time.Duration(math.Exp2(float64(i+1)/64) * 1e9)
		}
	}
}

// mixed answers in times from 50 µs to 5 ms, wrongly every third time and not at all every
// seventh.
func mixed() load.Func {
	n := 0
	return func(context.Context) (load.Outcome, error) {
		n++
		time.Sleep(time.Duration(50+n*37%100*50) * time.Microsecond)
		switch {
		case n%3 == 0:
			return load.Outcome{Failed: true}, nil
		case n%7 == 0:
			return load.Outcome{}, &errkind.Error{Kind: errkind.Timeout, Err: errors.New("late")}
		}
		return load.Outcome{Ops: 2, BytesIn: 3, BytesOut: 4}, nil
	}
}

// The exports that arrive add up to the result, with either protocol and temporality,
// including the last ones.
func TestArrives(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*receiver, *testing.T) string{"http": (*receiver).overHTTP, "grpc": (*receiver).overGRPC} {
		for temporality, delta := range map[string]bool{"cumulative": false, "delta": true} {
			t.Run(name+" "+temporality, func(t *testing.T) {
				t.Parallel()
				r := new(receiver)
				result := exported(t, serve(r, t), temporality)
				values, times := sums(t, r.exports, delta)
				for name, want := range map[string]float64{
					"contend.iterations.planned": float64(result.Planned), "contend.operations": float64(result.Ops),
					"contend.iterations completed": float64(result.Completed), "contend.iterations failed": float64(result.Failed),
					"contend.iterations errored timeout": float64(result.Errored[errkind.Timeout]), "contend.iterations dropped": 0,
					"contend.io received": float64(result.BytesIn), "contend.io sent": float64(result.BytesOut),
					"contend.measured.time": result.Duration.Seconds(),
				} {
					if math.Abs(values[name]-want) > 1e-9 {
						t.Errorf("%s is %v, want %v", name, values[name], want)
					}
				}
				p99, want := quantile(times["contend.response.time"], 0.99), result.Response.Quantile(0.99)
				if math.Abs(float64(p99-want)) > 0.012*float64(want) {
					t.Errorf("p99 is %v, of the result %v", p99, want)
				}
				if r.tokens[0] != "Bearer me, you" {
					t.Errorf("token %q", r.tokens)
				}
			})
		}
	}
}

// exported drives a load for 2.3 s while its progress is exported.
func exported(t *testing.T, url, temporality string) *load.Result {
	t.Helper()
	var c Collector
	if err := c.UnmarshalText([]byte(url)); err != nil {
		t.Fatal(err)
	}
	config, err := c.Configure(func(name string) (string, bool) {
		text, ok := map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20me%2C%20you",
			"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": temporality}[name]
		return text, ok
	}, map[string]string{"service.name": "contend"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewExporter(config, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	e.Follow()
	var run Run
	result, err := load.Run(t.Context(), "mixed", mixed(), load.Plan{VUs: 1, Duration: 2300 * time.Millisecond, Grace: time.Second,
		Progress: func(now load.Progress) { e.Show([]Reading{run.Reading(now)}) }})
	if err != nil {
		t.Fatal(err)
	}
	if stats := e.End(); !stats.Last {
		t.Fatalf("%+v", stats)
	}
	return result
}

// Over TLS a collector must have a certificate of an authority that is trusted.
func TestTLS(t *testing.T) {
	t.Parallel()
	r := new(receiver)
	s := httptest.NewTLSServer(r)
	t.Cleanup(s.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	overGRPC := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&s.TLS.Certificates[0])))
	collector.RegisterMetricsServiceServer(overGRPC, r)
	go overGRPC.Serve(listener)
	t.Cleanup(overGRPC.Stop)
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	for _, url := range []string{s.URL + "/v1/metrics", "grpcs://" + listener.Addr().String()} {
		for name, ca := range map[string][]byte{"trusted": trusted, "unknown": nil} {
			t.Run(url[:5]+" "+name, func(t *testing.T) {
				t.Parallel()
				e, err := NewExporter(Config{Collector: Collector(url), CA: ca}, func(string) {})
				if err != nil {
					t.Fatal(err)
				}
				defer e.End()
				testenv.Eventually(t, "the answer of a handshake", func() bool {
					err := e.send(t.Context(), reading(1), stranger)
					if err == nil && ca == nil {
						t.Fatal("an unknown authority is trusted")
					}
					return err == nil || ca == nil && strings.Contains(e.stats.Cause, "certificate")
				})
			})
		}
	}
}
