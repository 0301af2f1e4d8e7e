package experiment

import (
	"io/fs"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"contend/metric"
	"contend/setting"
)

// Every embedded file is valid: otherwise Embedded panics.
func TestEmbedded(t *testing.T) {
	var got []string
	for _, f := range Embedded() {
		got = append(got, strings.TrimSpace(f.ID+" "+f.Status))
		if f.Question == "" || f.Source == "" {
			t.Errorf("%s lacks a question or a source", f.ID)
		}
		if f.Answer.Published == "" || f.Answer.Caveat == "" {
			t.Errorf("%s lacks the published answer, or what is to be known of it", f.ID)
		}
		if n := len(f.Answer.Published + f.Answer.Caveat); n > 165 {
			t.Errorf("%s: the published answer has %d characters, more than two lines of a page", f.ID, n)
		}
		if published := f.ID != "shared-counter"; published != (len(f.Published) > 0) {
			t.Errorf("%s has %d tables of published figures", f.ID, len(f.Published))
		}
	}
	want := []string{"grpc-guard", "http-concurrency", "channel-pipeline", "http-guard", "uplink-routing", "shared-counter"}
	if ids := EmbeddedIDs(); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(ids, want) || Embedded(want[1])[0].ID != want[1] {
		t.Errorf("embedded are %q, by their files %q, want %q", got, ids, want)
	}
}

// Every setting that an embedded file gives is asked for at its place.
func TestEmbeddedSettingsAreAsked(t *testing.T) {
	names, err := fs.Glob(publishedFiles, "published/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := publishedFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, f := newMistakes(name), new(File)
		newDecoder(m, reflect.TypeFor[File]()).decode(m.document(text, ""), f)
		asked := map[string]bool{}
		note := func(s Setup) {
			sets := []setting.Values{s.Asked}
			for _, p := range s.Profiles {
				sets = append(sets, p.Asked)
			}
			for _, values := range sets {
				for path, v := range values {
					if !strings.HasSuffix(v.Path, path) || len(v.Places) != len(v.Texts) {
						t.Errorf("%s: %s has the path %s and %d places of %d texts", name, path, v.Path, len(v.Places), len(v.Texts))
					}
					asked[v.Path] = true
				}
			}
		}
		note(f.Setup)
		for _, p := range f.Parts {
			note(p.Setup)
		}
		given := regexp.MustCompile(`(^|\.)(load|compare|sweep)\.[a-z_]+$`)
		for path := range m.places {
			if given.MatchString(path) && !asked[path] {
				t.Errorf("%s: %s is given and not asked for", name, path)
			}
		}
	}
}

func embedded(t *testing.T, id string) *File {
	t.Helper()
	names, err := fs.Glob(publishedFiles, "published/*-"+id+".yaml")
	if err != nil || len(names) != 1 {
		t.Fatalf("experiment %s is in %q, %v", id, names, err)
	}
	return embeddedFile(names[0])
}

// The published figures, as data of the reports.
func TestPublishedFigures(t *testing.T) {
	for id, want := range map[string]int{
		"grpc-guard":       6 * 2 * 18,     // levels, guards, figures
		"http-concurrency": 5*5 + 2,        // levels and figures, and the optimum
		"channel-pipeline": 3 * 3,          // rungs and figures
		"http-guard":       2*6 + 4*3,      // go-wrk, handler
		"uplink-routing":   2*2*(4+12) + 6, // modes, and figures: totals and latencies; the pace of flat once more
	} {
		count := 0
		for _, table := range published(embedded(t, id).Published) {
			count += len(table.Rows)
		}
		if count != want {
			t.Errorf("%s has %d figures, want %d", id, count, want)
		}
	}
}

func TestPublishedValues(t *testing.T) {
	for _, c := range []struct {
		id, arm string
		vus     int
		metric  metric.Name
		want    float64
	}{
		{"grpc-guard", "inputq", 10, "throughput_per_s", 4532.286646},
		{"grpc-guard", "mutex", 1000, "response_max_ns", 21.1e9},
		{"grpc-guard", "inputq", 100, "exchange_mean_ns", 1.63e6},
		{"grpc-guard", "mutex", 300, "completed", 218096},
		{"grpc-guard", "inputq", 500, "response_p95_ns", 31.52e6},
		{"grpc-guard", "mutex", 10, "bytes_out_per_s", 1e6},
		{"http-concurrency", "nginx", 13, "throughput_per_s", 6250},
		{"channel-pipeline", "buffered-10000", 1, "throughput_per_s", 16537191},
		{"channel-pipeline", "printing-unbuffered", 1, "elapsed_ns", 3.506e9},
		{"http-guard", "mutex", 80, "response_max_ns", 107.60546e6},
		{"http-guard", "atomic", 20, "wall_ns_per_op", 236.1},
		{"uplink-routing", "no-acks", 0, "response_p99_ns", 3.18e6},
	} {
		var found []float64
		for _, table := range published(embedded(t, c.id).Published) {
			for _, f := range table.Rows {
				if f.Arm == c.arm && f.Concurrency == c.vus && f.Metric == c.metric {
					found = append(found, f.Theirs)
				}
			}
		}
		if len(found) == 0 || found[0] < c.want*(1-1e-12) || found[0] > c.want*(1+1e-12) {
			t.Errorf("%s %s at %d VUs: %s is %v, want %v", c.id, c.arm, c.vus, c.metric, found, c.want)
		}
	}
}

// Each figure of a published table has a note on whether it may be compared.
func TestEveryPublishedFigureHasANote(t *testing.T) {
	for _, f := range Embedded() {
		for _, table := range published(f.Published) {
			for _, row := range table.Rows {
				noted := false
				for _, n := range table.Notes {
					noted = noted || n.Metric == row.Metric || n.Metric == ""
				}
				if !noted {
					t.Errorf("%s, %s: %s has no note", f.ID, table.Title, row.Metric)
				}
			}
		}
	}
}

// The parts of the shared counter have the same ways through Redis, or the first
// version, and differ only in where Redis is, in the callers, and in the number
// of replicas.
func TestSharedCounter(t *testing.T) {
	const ways, auto, managed = "redis-combining redis-pipelined redis-script", " --redis auto", " --redis managed"
	want := map[string]struct {
		arms, redis, replicas string
		vus                   int
	}{
		"first": {"redis-naive redis-script", auto, "", 10},
		"one":   {"mutex " + ways, auto, "", 80},
		"two":   {ways, managed, " --replicas 2", 80},
		"four":  {ways, managed, " --replicas 4", 80},
	}
	f := embedded(t, "shared-counter")
	for _, p := range f.Experiment("quick").Parts {
		w := want[p.Name]
		if got := strings.Join(sortedKeys(p.Arms), " "); got != w.arms || !reflect.DeepEqual(p.Design.Levels, []int{w.vus}) {
			t.Errorf("part %s has the arms %q at %v VUs, want %+v", p.Name, got, p.Design.Levels, w)
		}
		for name, arm := range p.Arms {
			command := "counter --http {{addr}} --guard " + name
			if name != "mutex" {
				command += w.redis + " --redis-timeout 10s" + w.replicas
			}
			s := f.Subjects[arm.Subject]
			if s.Serve != command || (s.Requires == "redis-server") != (w.redis == managed) || (s.OS == "linux") != (w.replicas != "") {
				t.Errorf("part %s, arm %s: %+v, want %q", p.Name, name, s, command)
			}
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("there are no parts %v", want)
	}
}
