package experiment

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"contend/report"
	"contend/trial"
)

const redisMetricsText = `# HELP contend_counter_redis_increments_total Increments.
# TYPE contend_counter_redis_increments_total counter
contend_counter_redis_increments_total 200
contend_counter_redis_round_trips_total{guard="a b"} 1.2e+03
contend_counter_redis_round_trips_total{guard="c"} 200
contend_counter_redis_commands_total 2000
contend_counter_redis_conflicts_total 50
contend_counter_other_total x
`

func TestParseTrips(t *testing.T) {
	got, err := parseTrips(strings.NewReader(redisMetricsText))
	want := tripCount{increments: 200, roundTrips: 1400, commands: 2000, conflicts: 50}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := parseTrips(strings.NewReader(redisMetrics + "increments_total many\n")); err == nil {
		t.Error("a value that is no number: no error")
	}
	if got, err := parseTrips(strings.NewReader("up 1\n")); err != nil || got != (tripCount{}) {
		t.Errorf("a server without Redis: %+v, %v", got, err)
	}
}

// The counts are read before the server ends, however it can be reached.
func TestTripsAreReadAtStop(t *testing.T) {
	stopped := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || stopped {
			http.Error(w, "no", http.StatusTeapot)
			return
		}
		_, _ = w.Write([]byte(redisMetricsText))
	}))
	defer server.Close()
	broken := errors.New("broken")
	for address, want := range map[string]string{
		server.URL + "/status?x=1":  "",
		"grpc://127.0.0.1:1/a.B/C":  "has no /metrics over plain HTTP",
		"http://127.0.0.1:1/status": "connect",
	} {
		counts, key := trips{}, partArm{"p", "a"}
		live := &trial.Live{Address: address, Stop: func(context.Context) error { stopped = true; return broken }}
		counts.readAtStop(live, key)
		stopped = false
		if err := live.Stop(t.Context()); !errors.Is(err, broken) || !stopped {
			t.Errorf("%s: error %v, stopped %v", address, err, stopped)
		}
		switch got := counts[key]; {
		case want == "" && (got.unread != nil || got.increments != 200):
			t.Errorf("%s: %+v", address, got)
		case want != "" && (got.unread == nil || !strings.Contains(got.unread.Error(), want)):
			t.Errorf("%s: error %v, want %q", address, got.unread, want)
		}
	}
}

// 1400 round trips for 200 increments are 7 each, and 100 for 200 are 14 times
// fewer; the counts of two rounds add up, and a counter in memory has no row.
func TestRoundTrips(t *testing.T) {
	f := &File{Setup: Setup{Arms: map[string]Arm{"naive": {}, "script": {}, "memory": {}, "other": {}}}}
	r := newRunner(f.Experiment(""), Options{}, new(report.Document))
	r.trips.add(partArm{"", "naive"}, tripCount{increments: 100, roundTrips: 700, commands: 1000, conflicts: 25}, nil)
	r.trips.add(partArm{"", "naive"}, tripCount{increments: 100, roundTrips: 700, commands: 1000, conflicts: 25}, nil)
	r.trips.add(partArm{"", "script"}, tripCount{increments: 200, roundTrips: 100, commands: 200}, nil)
	r.trips.add(partArm{"", "memory"}, tripCount{}, nil)
	r.trips.add(partArm{"", "other"}, tripCount{}, errors.New("gone"))
	list, err := r.roundTrips(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%d analyses, %v", len(list), err)
	}
	want := [][]string{{"", "naive", "200", "7.000", "10.000", "0.250", "1.0"}, {"", "script", "200", "0.500", "1.000", "0.000", "14.0"}}
	if !reflect.DeepEqual(list[0].Rows, want) {
		t.Errorf("got %q\nwant %q", list[0].Rows, want)
	}
	if text := strings.Join(list[0].Sentence, "\n"); !strings.Contains(text, "What other counted could not always be read: gone.") {
		t.Errorf("said is\n%s", text)
	}
	none, err := newRunner(f.Experiment(""), Options{}, new(report.Document)).roundTrips(t.Context())
	if err != nil || len(none[0].Rows) > 0 || none[0].Sentence[0] != "No server counted a way to Redis." {
		t.Errorf("without servers: %+v, %v", none, err)
	}
}

// Servers that run already counted before us.
func TestRoundTripsNeedAProcessOfOurs(t *testing.T) {
	text := "id: x\ntitle: x\nsubjects: {a: {url: 'a:1'}, b: {%s}}\ntarget: {url: 'http://{{addr}}/'}\n" +
		"load: {vus: 1, duration: 1s}\ncompare: {baseline: a}\nanalyses: round_trips\n"
	_, err := Parse("x", []byte(strings.Replace(text, "%s", "url: 'b:1'", 1)))
	if err == nil || !strings.Contains(err.Error(), "analyses[0]: round_trips needs a server with command or serve") {
		t.Errorf("error %v", err)
	}
	if _, err := Parse("x", []byte(strings.Replace(text, "%s", "serve: 'counter --http {{addr}}'", 1))); err != nil {
		t.Error(err)
	}
}
