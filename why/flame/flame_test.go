package flame

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"contend/internal/testenv"
	"contend/why"
	"contend/why/symbol"
)

const hostile = "\x1b[31m</title><script>alert(\"1\")</script>]]>&\x00\xff"

// stack is where time was spent, from the outermost caller to the function that ran; those with a colon
// are of Go, in a line.
func stack(time time.Duration, samples int64, names ...string) why.Stack {
	s := why.Stack{Samples: samples, Time: time}
	for _, name := range names {
		f := symbol.Frame{Function: name, Package: "libc.so.6"}
		if function, line, ok := strings.Cut(name, ":"); ok {
			f = symbol.Frame{Function: function, Package: "main", File: "main.go", Line: len(line)}
		}
		s.Frames = append([]symbol.Frame{f}, s.Frames...)
	}
	return s
}

func stacks(arm string, concurrency int, operations int64, list ...why.Stack) why.Stacks {
	s := why.Stacks{Arm: arm, Concurrency: concurrency}
	s.Add(list, operations)
	return s
}

// In ns per operation: A takes 10 000 in main, 3 000 of it in write, all in the kernel, and 5 000 in parse; B, whose
// name is markup, 14 000: 6 000 in write, 3 000 in parse and 1 000 in what has a hostile name.
func sides() (a, b []why.Stacks) {
	const ms = time.Millisecond
	a = []why.Stacks{stacks("A", 10, 1000, stack(2*ms, 2, "main:."), stack(3*ms, 3, "main:..", "write"), stack(5*ms, 5, "main:...", "parse:."))}
	a[0].List[1].Frames = slices.Insert(a[0].List[1].Frames, 0, symbol.Frame{Function: "vfs_write", Package: "kernel"})
	b = []why.Stacks{stacks("B&<b>", 10, 500, stack(2*ms, 2, "main:."), stack(3*ms, 3, "main:..", "write"), stack(ms+ms/2, 1, "main:...", "parse:."),
		stack(ms/2, 1, "main:....", hostile), why.Stack{})}
	return a, b
}

func TestProfile(t *testing.T) {
	a, _ := sides()
	var written bytes.Buffer
	if err := Profile(a).Write(&written); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&written)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Concat([]string{p.DefaultSampleType}, p.Comments)
	for _, value := range p.SampleType {
		got = append(got, value.Type+"/"+value.Unit)
	}
	for _, s := range p.Sample {
		line := fmt.Sprint(s.Value)
		for _, l := range s.Location {
			line += fmt.Sprintf(" %s %s:%d", l.Line[0].Function.Name, l.Line[0].Function.Filename, l.Line[0].Line)
			if l.Mapping != nil {
				line += " in " + l.Mapping.File
			}
		}
		got = append(got, line)
	}
	want := []string{
		"cpu_per_1000_ops", "A at concurrency 10: 1000 operations",
		"samples/count", "cpu/nanoseconds", "cpu_per_1000_ops/nanoseconds",
		"[2 2000000 2000000] main main.go:1",
		"[3 3000000 3000000] vfs_write kernel:0 write :0 in libc.so.6 main main.go:2",
		"[5 5000000 5000000] parse main.go:1 main main.go:3",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(p.Function) != 4 || len(p.Mapping) != 1 {
		t.Errorf("%d functions in %d mappings, want each once: 4 in 1", len(p.Function), len(p.Mapping))
	}
}

// With two levels values per operation are the mean: 2 ms ÷ 1000 and 6 ms ÷ 500 contribute 1 and 6 µs to it.
func TestProfileOfLevels(t *testing.T) {
	p := Profile([]why.Stacks{stacks("A", 1, 1000, stack(2*time.Millisecond, 2, "f")), stacks("A", 50, 500, stack(6*time.Millisecond, 6, "f"))})
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ perThousand, concurrency int64 }{{1_000_000, 1}, {6_000_000, 50}} {
		if s := p.Sample[i]; s.Value[2] != want.perThousand || s.NumLabel["concurrency"][0] != want.concurrency {
			t.Errorf("%v %v, want %v", s.Value, s.NumLabel, want)
		}
	}
	if len(p.Location) != 1 {
		t.Errorf("%d locations of one function", len(p.Location))
	}
}

// go tool pprof shows differences of 1000 operations: of write 6 − 3 ms.
func TestPprofReadsIt(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	a, b := sides()
	var paths []string
	for i, levels := range [][]why.Stacks{a, b} {
		var written bytes.Buffer
		if err := Profile(levels).Write(&written); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Join(t.TempDir(), fmt.Sprint(i, ".pb.gz")))
		if err := os.WriteFile(paths[i], written.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", "-diff_base", paths[0], paths[1])
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"Type: cpu_per_1000_ops", "3ms 30.00%", "-2ms 20.00%"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestGraph(t *testing.T) {
	a, b := sides()
	testenv.Golden(t, "testdata/small.svg", Graph(a, b))
}

// drawn is what a reader of XML sees.
type drawn struct {
	Scripts []string `xml:"script"`
	Boxes   []struct {
		Title string `xml:"title"`
		Text  string `xml:"text"`
		Rect  struct {
			X     float64 `xml:"x,attr"`
			Width float64 `xml:"width,attr"`
			Fill  string  `xml:"fill,attr"`
		} `xml:"rect"`
	} `xml:"g"`
}

func read(t *testing.T, graph []byte) drawn {
	t.Helper()
	var d drawn
	decoder := xml.NewDecoder(bytes.NewReader(graph))
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return d
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Names are text, whatever is in them.
func TestGraphEscapes(t *testing.T) {
	a, b := sides()
	graph := Graph(a, b)
	d := read(t, graph)
	if len(d.Scripts) != 1 || strings.Contains(d.Scripts[0], "alert") {
		t.Errorf("scripts: %q", d.Scripts)
	}
	if bytes.ContainsAny(graph, "\x1b\x00") || !utf8.Valid(graph) {
		t.Error("there is more than text in it")
	}
	found := false
	for _, box := range d.Boxes {
		found = found || strings.HasPrefix(box.Title, "\ufffd[31m</title><script>alert(\"1\")</script>]]>&\ufffd\ufffd\n")
	}
	if !found {
		t.Errorf("the name is not there: %+v", d.Boxes)
	}
}

// B takes 14 µs, so that 1200 pixels are 14 000 ns; the greatest difference is the whole: 4 µs.
func TestGraphShows(t *testing.T) {
	a, b := sides()
	for _, box := range read(t, Graph(a, b)).Boxes {
		name, figures, _ := strings.Cut(box.Title, "\n")
		want, ok := map[string]struct {
			figures, fill string
			width         float64
		}{
			"all":   {"B&<b> 14.0 µs, A 10.0 µs: 4.00 µs more", "#e83e30", 1200},
			"write": {"B&<b> 6.00 µs, A 3.00 µs: 3.00 µs more", "#e96a5f", 514.29},
			"parse": {"B&<b> 3.00 µs, A 5.00 µs: 2.00 µs less", "#96aeea", 257.14},
		}[name]
		if ok && (figures != want.figures || box.Rect.Fill != want.fill || box.Rect.Width != want.width) {
			t.Errorf("%s: %q %s %g, want %+v", name, figures, box.Rect.Fill, box.Rect.Width, want)
		}
	}
}

// A frame of 0.1% is drawn and one of less is not; names that have no room are left to
// titles.
func TestGraphLeavesOutWhatIsSmall(t *testing.T) {
	b := []why.Stacks{stacks("B", 1, 1, stack(9980, 1, "large"), stack(11, 1, "just"), stack(9, 1, "small"))}
	var names []string
	for _, box := range read(t, Graph(b, b)).Boxes {
		name, _, _ := strings.Cut(box.Title, "\n")
		names = append(names, name+"="+box.Text)
	}
	if got := strings.Join(names, " "); got != "all=all large=large just=" {
		t.Errorf("drawn: %s", got)
	}
	if graph := Graph(nothing(), nothing()); !bytes.Contains(graph, []byte("B 0 ns, B 0 ns")) {
		t.Errorf("of nothing: %s", graph)
	}
}

func nothing() []why.Stacks { return []why.Stacks{stacks("B", 1, 0)} }

// However deep and wide stacks are, and however long names.
func TestGraphIsBounded(t *testing.T) {
	var list []why.Stack
	for i := range 400 {
		var names []string
		for range 250 {
			names = append(names, fmt.Sprintf("%s%d:.", strings.Repeat("<", 250), i))
		}
		list = append(list, stack(time.Second, 1, names...))
	}
	b := []why.Stacks{stacks(strings.Repeat("&", 100_000), 1, 1, list...)}
	graph := Graph(b, b)
	if len(graph) > mostBytes {
		t.Errorf("%d bytes, want at most %d", len(graph), mostBytes)
	}
	if boxes := len(read(t, graph).Boxes); boxes < 100 || !bytes.Contains(graph, fmt.Appendf(nil, "the smallest %d of %d", 400*250+1-boxes, 400*250+1)) {
		t.Errorf("%d boxes, and it is not said how many are left out", boxes)
	}
}
