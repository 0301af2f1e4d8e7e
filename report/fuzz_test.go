package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"contend/report"
)

// readable checks that what can be read can be shown, and is written so that it
// can be read again without a difference.
func readable(t *testing.T, data []byte) {
	d, _ := report.Read(bytes.NewReader(data))
	if d == nil {
		return
	}
	for _, name := range report.Format("").Values() {
		if name == "json" {
			continue // see below
		}
		if err := report.Format(name).Write(d, io.Discard); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if err := d.Screen(io.Discard, report.Look{}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := d.Write(&b); err != nil {
		if strings.Contains(err.Error(), "unsupported value") {
			return // a quotient beyond what JSON can say
		}
		t.Fatal(err)
	}
	if _, err := report.Read(&b); err != nil {
		t.Errorf("written again, it differs: %v", err)
	}
}

// FuzzRead reads any bytes. The seeds are short, so that they are mutated often.
func FuzzRead(f *testing.F) {
	const (
		cell   = `{"arm":"a","round":1,"model":"closed","concurrency":1,"response_ns":{"count":0},"service_ns":{},"start_lag_ns":{}}`
		design = `"design":{"rounds":1,"pairs":1,"block_ns":1000000,"levels":[1],"metrics":["errors"],"confidence":0.5}`
	)
	for _, body := range []string{
		`"results":[]`, `"results":[null]`, `"results":[` + cell + `]`,
		`"trials":[{"arms":["a","b"],` + design + `,"blocks":[{}],"rounds":[` + cell + `]}]`,
		`"trials":[{"arms":["a","b"],"design":{"rounds":1000000000,"levels":[1]},"rounds":[null]}]`,
		`"curves":[{"arm":"a","design":{"levels":[1],"visits":1,"block_ns":1000000},"visits":[` + cell + `]}]`,
		`"apart":[{"baseline":{"arm":"a","rounds":[` + cell + `]},"candidate":{"arm":"b","rounds":[` + cell + `]},"metrics":["errors"],"confidence":0.5}],"sources":[{},{}]`,
		`"experiments":[{"published":[{"figures":[{"metric":"errors"}]}],"expectations":[{"text":"errors == 0"}]}]`,
		`"results":[{"model":"closed","concurrency":1,"duration_ns":20000000000,"response_ns":{"count":0},"service_ns":{},"start_lag_ns":{},"course":{"interval_ns":62500000,"warmup_intervals":1,` +
			`"intervals":[{},{"completed":1,"errored":{"timeout":2}}],"heatmap":{"intervals_per_column":1,"warmup_columns":1,"edges_ns":[0,1],"columns":["","0 1"]}}}]`,
		`"results":[{"model":"closed","concurrency":1,"duration_ns":20000000000,"response_ns":{"count":0},"service_ns":{},"start_lag_ns":{},"series":[{"completed":1,"errored":2}]}]`,
	} {
		f.Add([]byte(`{"schema":"contend/1",` + body + `}`))
		f.Add([]byte(`{"schema":"contend/2",` + body + `}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Count(data, []byte("{")) > 100 {
			t.Skip("slow")
		}
		readable(t, data)
	})
}

// FuzzEdit reads real documents in which one value is replaced.
func FuzzEdit(f *testing.F) {
	names := slices.Sorted(maps.Keys(smallStored()))
	values := []string{"null", "-1", "1e300", "9223372036854775807", `""`, `"\u001b[2J"`, "[]", "{}", "[null]"}
	paths := map[string][]string{}
	for i, name := range names {
		paths[name] = leaves("", decoded(f, smallStored()[name]))
		f.Add(uint8(i), uint16(7*i), []byte(values[i%len(values)]))
	}
	f.Fuzz(func(t *testing.T, document uint8, path uint16, value []byte) {
		name := names[int(document)%len(names)]
		tree := decoded(t, smallStored()[name])
		set(tree, paths[name][int(path)%len(paths[name])], json.RawMessage(value))
		data, err := json.Marshal(tree)
		if err != nil {
			t.Skip("not JSON")
		}
		readable(t, data)
	})
}

func decoded(t testing.TB, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// leaves returns the path of every value, parents included.
func leaves(path string, tree any) []string {
	list := []string{path}
	switch v := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, leaves(path+"."+key, v[key])...)
		}
	case []any:
		for i := range v {
			list = append(list, leaves(fmt.Sprintf("%s[%d]", path, i), v[i])...)
		}
	}
	return list
}
