package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"contend/report"
	"contend/trial"
	"contend/why"
	"contend/why/flame"
	"contend/why/gotrace"
	"contend/why/pprof"
)

// foreign is what a server may call a function, a file, or what it waits for.
const foreign = "=main.\x1b[31m\u202e\u009b2J</title></script><script>alert(1)</script>|`]]>&\x00\xff\r\n%d* [a](javascript:b)\ufffe\u2028"

// foreignCPU is a CPU profile of a second with so many samples of a foreign name below those of main.serve.
func foreignCPU(t *testing.T, samples int64) *pprof.CPU {
	t.Helper()
	serve, other := &profile.Function{ID: 1, Name: "main.serve"}, &profile.Function{ID: 2, Name: foreign, SystemName: foreign, Filename: foreign}
	at := []*profile.Location{{ID: 1, Line: []profile.Line{{Function: other}}}, {ID: 2, Line: []profile.Line{{Function: serve}}}}
	p := &profile.Profile{DurationNanos: 1e9, Function: []*profile.Function{serve, other}, Location: at, Comments: []string{foreign},
		SampleType: []*profile.ValueType{{Type: "samples"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample: []*profile.Sample{{Location: at[1:], Value: []int64{30, 30e7}},
			{Location: at, Value: []int64{samples, samples * 1e7}, Label: map[string][]string{foreign: {foreign}}}}}
	var body bytes.Buffer
	if err := p.Write(&body); err != nil {
		t.Fatal(err)
	}
	its, err := pprof.ReadCPU(body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return its
}

// ofForeigners is a comparison whose servers' own profiles, traces and snapshots have that name wherever they have one, with
// the stacks of both.
func ofForeigners(t *testing.T) (*report.Document, [][]why.Stacks) {
	d := diagnosed(oneLevel(20), 2*time.Millisecond)
	of := d.Trials[0].Why
	stacks := [][]why.Stacks{{{Arm: "mutex", Concurrency: 20}}, {{Arm: foreign, Concurrency: 20}}}
	at, _ := gotrace.PlaceOf(slices.Values([]string{foreign}))
	for i := range of.Profiles {
		p := &of.Profiles[i]
		side := i % 2
		its := why.NewOwnProfile(foreignCPU(t, int64(1+side*20+side*p.Round)), 1000, nil)
		p.CPU, p.Work, p.Functions, p.Samples = its.CPU, its.Work, its.Functions, its.Samples
		stacks[side][0].Add(its.Stacks, 1000)
		more := float64(side) * (1 + float64(p.Round)/100)
		waits := []gotrace.Wait{{Place: at, Goroutines: 1 + more}, {Place: gotrace.Place{For: gotrace.Reason(foreign), Function: foreign, Through: foreign}, Goroutines: 1 + 2*more}}
		p.Traced = &why.Traced{PerSec: 1000, Processors: 2, Waits: waits}
		p.Snapshots = &why.Snapshots{Operations: 1000, PerSec: 1000, Bytes: int64(1e6 + 1e6*more), Objects: int64(1000 + 1000*more),
			Allocations: []why.Allocation{{Function: foreign, Bytes: int64(1e6 + 1e6*more), Objects: 1000}}, Held: waits, Waited: waits}
		if side == 1 {
			p.Blocked = append(p.Blocked, why.Blocked{Call: foreign, Time: time.Second})
		}
	}
	of.Calls, of.Missing = why.CallsOf(stacks, 100), []string{foreign}
	of.Calls = append(of.Calls, why.Call{Function: foreign, Depth: 1, PerOp: []float64{1000, 5000}})
	of.Untraced = []trial.Silent{{Arm: "mutex", Reason: foreign}, {Arm: "inputq", Reason: foreign}}
	of.WithoutSnapshots = []trial.Silent{{Arm: "mutex", Reason: foreign + "!"}}
	d.Derive()
	return d, stacks
}

// elements are the names of the elements of an XML text; an error if it is not XML.
func elements(text []byte) (names []string, err error) {
	for decoder := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		if e, ok := token.(xml.StartElement); ok {
			names = append(names, e.Name.Local)
		}
	}
}

// Whatever a server calls its functions is text in everything that is written of it, and prints.
func TestForeignNames(t *testing.T) {
	d, stacks := ofForeigners(t)
	written := func(write func(io.Writer) error) []byte {
		t.Helper()
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	outputs := map[string][]byte{
		"screen":      written(func(w io.Writer) error { return d.Screen(w, report.Look{}) }),
		"brief":       written(func(w io.Writer) error { return d.Brief(w, report.Look{}) }),
		"text":        written(d.Text),
		"markdown":    written(d.Markdown),
		"page":        written(d.HTML),
		"document":    written(d.Write),
		"csv":         written(d.CSV),
		"junit":       written(d.JUnit),
		"benchmarks":  written(d.Benchmarks),
		"flame graph": flame.Graph(stacks[0], stacks[1]),
		"picture":     []byte(report.PictureOf(d, "Why inputq differs from mutex")),
	}
	read, err := profile.Parse(bytes.NewReader(written(flame.Profile(stacks[1]).Write)))
	if err != nil {
		t.Fatal(err)
	}
	outputs["profile"] = []byte(read.String())
	for name, output := range outputs {
		if !utf8.Valid(output) {
			t.Errorf("%s: it is no UTF-8", name)
		}
		if i := bytes.IndexFunc(output, func(r rune) bool {
			return !strings.ContainsRune("\r\n\t", r) && !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r)
		}); i >= 0 {
			t.Errorf("%s: %q does not print", name, output[max(0, i-40):min(len(output), i+10)])
		}
		if bytes.Contains(output, []byte("<script>alert")) && slices.Contains([]string{"page", "markdown", "junit", "flame graph", "picture"}, name) {
			t.Errorf("%s: there is markup in it", name)
		}
		if !bytes.Contains(output, []byte("alert(1)")) && !slices.Contains([]string{"csv", "junit", "benchmarks", "brief"}, name) {
			t.Errorf("%s: the name is not there:\n%s", name, output)
		}
	}
	for _, name := range []string{"flame graph", "junit", "picture"} {
		names, err := elements(outputs[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		own := map[string]int{"flame graph": 1}[name]
		if got := len(slices.DeleteFunc(names, func(n string) bool { return n != "script" })); got != own {
			t.Errorf("%s: %d scripts, want %d", name, got, own)
		}
	}
	if page := outputs["page"]; bytes.Count(page, []byte("<script")) != 1 {
		t.Errorf("page: %d scripts", bytes.Count(page, []byte("<script")))
	}
	if _, err := csv.NewReader(bytes.NewReader(outputs["csv"])).ReadAll(); err != nil || bytes.Contains(outputs["csv"], []byte(",=")) {
		t.Errorf("csv: %v", err)
	}
	if !json.Valid(outputs["document"]) {
		t.Error("document: it is no JSON")
	}
	columns := 0
	for line := range strings.SplitSeq(string(outputs["markdown"]), "\n") {
		bars := strings.Count(line, "|") - strings.Count(line, `\|`)
		if !strings.HasPrefix(line, "|") {
			columns = 0
		} else if columns == 0 {
			columns = bars
		} else if bars != columns {
			t.Errorf("markdown: %d bars, want %d in %s", bars, columns, line)
		}
		if strings.Contains(strings.ReplaceAll(line, `\]`, ""), "](") {
			t.Errorf("markdown: a link in %s", line)
		}
	}
}
