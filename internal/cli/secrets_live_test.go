package cli

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"

	"contend/fleet"
	"contend/internal/testenv"
)

// Collectors, Prometheus and browsers get no secret.
func TestSecretsAreNotWatched(t *testing.T) {
	t.Parallel()
	w := newWitness(t)
	var mu sync.Mutex
	told := map[string]string{}
	tell := func(place, text string) {
		mu.Lock()
		defer mu.Unlock()
		told[place] += text
	}
	at := collects(t, func(export *collector.ExportMetricsServiceRequest) { tell("OTLP", export.String()) })
	ctx, interrupt := context.WithCancel(t.Context())
	fetch := func(url string, connected func()) {
		r, err := http.Get(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			return
		}
		defer r.Body.Close()
		connected()
		text, _ := io.ReadAll(r.Body) // of events until the end
		tell(url[strings.LastIndexByte(url, '/'):], string(text))
	}
	var out, said lines
	var all sync.WaitGroup
	all.Go(func() {
		Main(ctx, []string{"run", "--ui", "--otlp", at, "--prometheus", "127.0.0.1:0", "-c", "1", "--think", "5ms", "--warmup", "0s", "-d", "1h", "--expect-status", "403",
			"-H", "Authorization: Bearer " + marker, w.URL + "/?token=m4rker-2"}, Streams{&out, &said})
	})
	addresses := regexp.MustCompile(`(?s)page: (\S+/)\n.*Prometheus: (\S+)\n`)
	testenv.Eventually(t, "page and Prometheus", func() bool { return addresses.MatchString(said.String()) })
	found := addresses.FindStringSubmatch(said.String())
	fetch(found[1], func() {})
	testenv.Eventually(t, "figures", func() bool {
		fetch(found[2], func() {})
		tell("the server", w.heard())
		mu.Lock()
		defer mu.Unlock()
		return told["/metrics"] != "" && told["the server"] != ""
	})
	fetch(found[1]+"events", interrupt) // the report waits for a browser that is connected
	fetch(found[1]+"report", func() {})
	interrupt()
	all.Wait()
	tell("the terminal", out.String()+said.String())
	if got := told["the server"] + w.heard(); !strings.Contains(got, marker) || !strings.Contains(got, "m4rker-2") {
		t.Error("the server did not get them")
	}
	for _, place := range []string{"OTLP", "/", "/metrics", "/events", "/report", "the terminal"} {
		if told[place] == "" {
			t.Errorf("%s told nothing", place)
		}
		if i := strings.Index(told[place], "m4rker"); i >= 0 {
			t.Errorf("it is in %s: …%s", place, told[place][max(0, i-100):i+6])
		}
	}
}

// A fleet drives with secrets, and neither coordinator nor worker writes them. Package fleet tests
// their messages.
func TestSecretsOfAFleet(t *testing.T) {
	t.Setenv(fleet.TokenVariable, "m4rker of the fleet, which is long")
	w := newWitness(t)
	t.Chdir(writeFiles(t, map[string]string{"body.json": `{"password": "` + marker + `"}`}))
	ctx, cancel := context.WithCancel(t.Context())
	var coordinator, worker lines
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() {
		defer cancel()
		Main(ctx, []string{"run", "--fleet", "127.0.0.1:0", "--workers", "1", "-c", "1", "-n", "3", "-X", "POST", "--data-file", "body.json", "-o", "d.json",
			"-H", "Authorization: Bearer " + marker, w.URL + "/?token=m4rker-2"}, Streams{&coordinator, &coordinator})
	})
	joins := regexp.MustCompile(`--fleet (\S+)\n`)
	testenv.Eventually(t, "where the fleet meets", func() bool { return joins.MatchString(coordinator.String()) })
	Main(ctx, []string{"worker", "--fleet", joins.FindStringSubmatch(coordinator.String())[1]}, Streams{&worker, &worker})
	all.Wait()
	if got := w.heard(); strings.Count(got, marker) < 6 || !strings.Contains(got, "m4rker-2") {
		t.Errorf("the server did not get them, but %q", got)
	}
	document, err := os.ReadFile(filepath.Join(".", "d.json"))
	if text := string(document) + coordinator.String() + worker.String(); err != nil || strings.Contains(text, "m4rker") {
		t.Errorf("one is there (%v):\n%s", err, text)
	}
}
