package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"contend/internal/lazyregexp"
	"contend/internal/testenv"
	"contend/report"
)

// lines keeps what is written, by anybody at any time.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(text)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// completedIn is what an export says has completed.
func completedIn(export *collector.ExportMetricsServiceRequest) (n int64) {
	for _, m := range export.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if m.Name != "contend.iterations" {
			continue
		}
		for _, p := range m.GetSum().DataPoints {
			if p.Attributes[len(p.Attributes)-1].Value.GetStringValue() == "completed" {
				n += p.GetAsInt()
			}
		}
	}
	return n
}

// The last export has what the document has: of a run to its end, and of one that is interrupted.
func TestExports(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]bool{"to its end": false, "interrupted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
			defer cancel()
			var last *collector.ExportMetricsServiceRequest
			s := collects(t, func(export *collector.ExportMetricsServiceRequest) {
				if last = export; interrupt {
					cancel()
				}
			})
			file := filepath.Join(t.TempDir(), "run.json")
			args := []string{"run", "-c", "2", "-d", "1200ms", "--think", "1ms", "-o", file, "--otlp", s, "guard:mutex"}
			want := figures
			if interrupt {
				args[4], want = "1m", []int{exitInterrupted}
			}
			var out, said lines
			if code := Main(ctx, args, Streams{&out, &said}); !slices.Contains(want, code) {
				t.Fatalf("exit code %d, want %v:\n%s", code, want, said.String())
			}
			d := documentIn(t, file)
			if n := completedIn(last); n == 0 || n != d.Results[0].Completed || strings.Contains(said.String(), "OpenTelemetry") {
				t.Errorf("exported %d, the document has %d:\n%s", n, d.Results[0].Completed, said.String())
			}
		})
	}
}

// Comparisons and sweeps are exported by variant and concurrency, while nothing is measured, and
// at the end as in the document.
func TestExportsOfSeveral(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"compare": {"--think", "1ms", "--block", "100ms", "--warmup", "0s", "--rounds", "2", "--pairs", "1", "-c", "1,2", "guard:mutex", "guard:atomic"},
		"sweep":   {"--think", "1ms", "--block", window.String(), "--warmup", "0s", "-d", "1m", "--visits", "1", "--levels", "1,2", "guard:mutex"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var last *collector.ExportMetricsServiceRequest
			s := collects(t, func(export *collector.ExportMetricsServiceRequest) { last = export })
			file := filepath.Join(t.TempDir(), "document.json")
			var out, said lines
			code := Main(t.Context(), slices.Concat([]string{name, "-o", file, "--otlp", s}, args), Streams{&out, &said})
			if code == exitUsage || code == exitFailed {
				t.Fatalf("exit code %d:\n%s", code, said.String())
			}
			var want int64
			d := documentIn(t, file)
			for _, r := range d.Results {
				want += r.Completed
			}
			if n := completedIn(last); n == 0 || n != want || len(d.Results) < 2 {
				t.Errorf("exported %d, the document has %d in %d results", n, want, len(d.Results))
			}
		})
	}
	var out, said lines
	if code := Main(t.Context(), []string{"sweep", "--rate", "--otlp", "http://localhost", "guard:mutex"}, Streams{&out, &said}); code != exitUsage || !strings.Contains(said.String(), "do not work with --rate") {
		t.Errorf("exit code %d: %s", code, said.String())
	}
}

// collects serves a collector and returns its URL.
func collects(t *testing.T, take func(*collector.ExportMetricsServiceRequest)) string {
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		export := new(collector.ExportMetricsServiceRequest)
		if err := proto.Unmarshal(body, export); err != nil {
			t.Errorf("%q is no export: %v", body, err)
		}
		mu.Lock()
		defer mu.Unlock()
		take(export)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func documentIn(t *testing.T, file string) (d report.Document) {
	t.Helper()
	text := testenv.Read(t, file)
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// A missing collector is reported, and changes nothing else.
func TestNoCollector(t *testing.T) {
	t.Parallel()
	var out, said lines
	code := Main(t.Context(), []string{"run", "-n", "100", "--brief", "--otlp", "http://" + testenv.HeldAddress(t), "guard:mutex"}, Streams{&out, &said})
	if text := said.String(); !slices.Contains(figures, code) || !strings.Contains(text, "does not wait for it") || !strings.Contains(text, "the last one too") || out.String() == "" {
		t.Errorf("exit code %d:\n%s%s", code, text, out.String())
	}
}

var pageAddress = lazyregexp.New(`Prometheus: (http://127\.0\.0\.1:\d+/metrics)\n`)

func TestPrometheus(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	var out, said lines
	ended := make(chan int)
	go func() {
		ended <- Main(ctx, []string{"run", "--think", "1ms", "-d", "1m", "--prometheus", "127.0.0.1:0", "guard:mutex"}, Streams{&out, &said})
	}()
	testenv.Eventually(t, "there is something to be fetched", func() bool {
		m := pageAddress().FindStringSubmatch(said.String())
		if m == nil {
			return false
		}
		answer, err := http.Get(m[1])
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return strings.Contains(string(text), `contend_iterations_total{kind="",outcome="completed"} `)
	})
	cancel()
	if code := <-ended; code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

func TestOutletsThatCannotBe(t *testing.T) {
	for want, args := range map[string][]string{
		"--otlp is \"localhost:4318\"": {"--otlp", "localhost:4318"},
		"--prometheus":                 {"--prometheus", "127.0.0.1:99999"},
	} {
		var out, said lines
		code := Main(t.Context(), append(append([]string{"run", "-n", "1"}, args...), "guard:mutex"), Streams{&out, &said})
		if code != exitUsage && code != exitFailed || !strings.Contains(said.String(), want) {
			t.Errorf("%v: exit code %d: %s", args, code, said.String())
		}
	}
}
