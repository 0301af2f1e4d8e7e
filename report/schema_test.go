package report_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"contend/hist"
	"contend/internal/testenv"
	"contend/load"
	"contend/report"
	"contend/trial"
)

// The keys that other programs rely on.
func TestPromisedKeys(t *testing.T) {
	d := closedRun()
	d.Add(report.Place{Part: "p"}, verdicts(10))
	stored, _ := written(t, d)
	tree := decoded(t, stored).(map[string]any)
	results, comparisons := tree["results"].([]any), tree["comparisons"].([]any)
	if len(results) != 3 || len(comparisons) != 3 {
		t.Fatalf("%d results and %d comparisons, want 3 and 3", len(results), len(comparisons))
	}
	for _, r := range results {
		result := r.(map[string]any)
		has(t, result, "target", "model", "concurrency", "duration_ns", "planned", "completed", "failed", "errored", "dropped",
			"unfinished", "throughput_per_s", "response_ns", "service_ns", "start_lag_ns", "bytes_in", "bytes_out",
			"generator_cpu_s", "warnings", "stopped")
		for _, key := range []string{"response_ns", "service_ns", "start_lag_ns"} {
			has(t, result[key].(map[string]any), "mean", "min", "p50", "p90", "p95", "p99", "p999", "max")
		}
		if _, ok := result["errored"].(map[string]any); !ok {
			t.Error("errored is no object")
		}
	}
	first := results[0].(map[string]any)
	has(t, first["warnings"].([]any)[0].(map[string]any), "code", "text")
	for _, c := range comparisons {
		has(t, c.(map[string]any), "verdict", "ratio", "ratio_low", "ratio_high", "metric")
	}
	// Units: 10 s in nanoseconds, 800 ÷ 10 s, 18.4 CPU seconds, milliseconds in nanoseconds.
	for key, want := range map[string]string{"model": "closed", "duration_ns": "10000000000", "throughput_per_s": "80", "generator_cpu_s": "18.4"} {
		if got := text(first[key]); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	if got := text(first["connect_ns"].(map[string]any)["min"]); got != "20000" {
		t.Errorf("20 µs are stored as %s ns", got)
	}
	if got := text(first["errored"].(map[string]any)["timeout"]); got != "40" {
		t.Errorf("errored.timeout is %s, want 40", got)
	}
}

func text(v any) string {
	if n, ok := v.(json.Number); ok {
		return n.String()
	}
	s, _ := v.(string)
	return s
}

func has(t *testing.T, object map[string]any, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if _, ok := object[key]; !ok {
			t.Errorf("key %s is missing", key)
		}
	}
}

// Every key that a document can have is in a table of its description, and
// nothing else is.
func TestSchemaIsDescribed(t *testing.T) {
	page := testenv.Read(t, "../docs/report-schema.md")
	described := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(string(page), -1) {
		for _, key := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(row[1], -1) {
			described[key[1]] = true
		}
	}
	known := map[string]bool{}
	keysOf(reflect.TypeFor[report.Document](), known)
	// What writes itself: a histogram, saturated, and the row of a block.
	block := trial.Cell{Result: closedResult("", 1, 1)}
	block.Server, block.Start, block.P50, block.P99 = &load.Usage{CPUSec: 1}, 1, 1, 1
	for _, value := range []any{spread(1, hist.Highest+1, hist.Highest+1), trial.Blocks{block}} {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		for key := range decoded(t, bytes.Trim(data, "[]")).(map[string]any) {
			known[key] = true
		}
	}
	for key := range known {
		if !described[key] {
			t.Errorf("docs/report-schema.md does not describe %s", key)
		}
	}
	for key := range described {
		if !known[key] {
			t.Errorf("docs/report-schema.md describes %s, which no document has", key)
		}
	}
}

// keysOf collects the JSON keys of a type and of all types in it.
func keysOf(typ reflect.Type, keys map[string]bool) {
	leaf := slices.ContainsFunc([]reflect.Type{typ, reflect.PointerTo(typ)}, func(t reflect.Type) bool {
		return t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || t.Implements(reflect.TypeFor[json.Marshaler]())
	})
	switch {
	case leaf, typ == reflect.TypeFor[*trial.Trials](): // those in a change-over are like others
	case typ.Kind() == reflect.Pointer, typ.Kind() == reflect.Slice, typ.Kind() == reflect.Map:
		keysOf(typ.Elem(), keys)
	case typ.Kind() == reflect.Struct:
		for i := range typ.NumField() {
			field := typ.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "-" || !field.IsExported() && !field.Anonymous {
				continue
			}
			if name != "" {
				keys[name] = true
			} else if !field.Anonymous {
				keys[field.Name] = true // without a tag: never described
			}
			keysOf(field.Type, keys)
		}
	}
}
