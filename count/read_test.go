package count

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"contend/internal/testenv"
)

// What versions of cachegrind write: 3.19 counts nothing but instructions without caches; with caches there are more events, and
// a dot for what was not counted; from 3.21 on counts at the end of a line may be missing, and descriptions have other words.
func TestRead(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]int64
	}{
		{"3.19", "desc: I1 cache:         32768 B, 64 B, 8-way associative\ncmd: ./srv -listen 127.0.0.1:8000\nevents: Ir \nfl=/src/main.go\nfn=main.spin\n70 5\n71 6000\nfl=/src/log.go\nfn=log.Printf\n9 47\nfl=???\nfn=???\n0 3\nsummary: 6055 \n",
			map[string]int64{"main.spin": 6005, "log.Printf": 47, "???": 3}},
		{"with caches", "events: Ir I1mr ILmr Dr\nfl=a.c\nfn=main\n1 10 1 . 4\n2 20 . . .\nsummary: 30 1 0 4\n", map[string]int64{"main": 30}},
		{"another order", "events: Dr Ir\nfl=a.c\nfn=main\n1 4 10\n2 . 20\nsummary: 4 30\n", map[string]int64{"main": 30}},
		{"3.22", "desc: --cache-sim=no\ndesc: version 2\nevents: Ir\nfl=a.c\nfn=main\n1 10\n2\n\n# a comment\nsummary: 10\n", map[string]int64{"main": 10}},
		{"one function in several files", "events: Ir\nfl=a.c\nfn=f\n1 1\nfl=inline.h\nfn=f\n7 2\nfn=g\n1 4\nfi=b.h\n2 8\nfe=a.c\n3 16\nsummary: 31\n", map[string]int64{"f": 3, "g": 28}},
		{"names with anything in them", "events: Ir\nfl=a\nfn=operator()(int)::fn=x y\n1 1\nfn=\n2 2\nsummary: 3\n", map[string]int64{"operator()(int)::fn=x y": 1, "": 2}},
		{"line ends of Windows", "events: Ir\r\nfl=a\r\nfn=f\r\n1 1\r\nsummary: 1\r\n", map[string]int64{"f": 1}},
		{"nothing was executed", "events: Ir\nsummary: 0\n", map[string]int64{}},
	}
	for _, tt := range tests {
		got, err := read(strings.NewReader(tt.text))
		if err != nil || !maps.Equal(got.own, tt.want) {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
}

// Lines are of the function and the file that come before them; code without a line has none.
func TestReadLines(t *testing.T) {
	got, err := read(strings.NewReader("events: Ir\nfl=/src/a.c\nfn=f\n1 1\n7 2\n1 4\n9 0\nfl=/src/b.h\nfn=f\n7 8\nfl=???\nfn=g\n0 16\nsummary: 31\n"))
	want := map[line]int64{{"f", "/src/a.c", 1}: 5, {"f", "/src/a.c", 7}: 2, {"f", "/src/b.h", 7}: 8}
	if err != nil || !maps.Equal(got.lines, want) {
		t.Errorf("%v, %v", got.lines, err)
	}
}

func TestReadRejects(t *testing.T) {
	head := "events: Ir\nfl=a\nfn=f\n"
	for name, text := range map[string]string{
		"nothing":                     "",
		"cut off":                     head + "1 10\n",
		"another sum":                 head + "1 10\nsummary: 11\n",
		"no number":                   head + "1 1x\nsummary: 1\n",
		"a negative number":           head + "1 -1\nsummary: 1\n",
		"a number beyond all":         head + "1 99999999999999999999\nsummary: 1\n",
		"a sum beyond all":            head + "1 9223372036854775807\n2 1\nsummary: 1\n",
		"no instructions":             "events: Dr\nfl=a\nfn=f\n1 1\nsummary: 1\n",
		"no events":                   "fl=a\nfn=f\n1 1\nsummary: 1\n",
		"a summary before all":        "summary: 1\n",
		"no function":                 "events: Ir\n1 1\nsummary: 1\n",
		"a line that is no number":    head + "1a 1\nsummary: 1\n",
		"something else":              head + "1 1\nwhat is this\nsummary: 1\n",
		"more after the summary":      head + "1 1\nsummary: 1\n2 2\n",
		"a line that does not end":    head + strings.Repeat("x", longestLine+1),
		"a name of a line's whole":    "events: Ir\nfl=a\nfn=" + strings.Repeat("x", longestLine),
		"functions of another format": "version: 1\ncreator: callgrind\nevents: Ir\nfn=(1) f\n+1 5\nsummary: 5\n",
	} {
		if got, err := read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: read as %v", name, got)
		}
	}
}

// An endless file costs no more memory than the limits allow.
func TestReadIsBounded(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("events: Ir\nfl=a\n"), &repeated{text: []byte("fn=" + strings.Repeat("x", 1<<19))})
	var err error
	if used := testenv.Allocated(func() { _, err = read(endless) }); err == nil || used > 4*mostNames {
		t.Errorf("%d bytes, and %v", used, err)
	}
}

// repeated is a line with another number at its end each time, for ever.
type repeated struct {
	text []byte
	n    int
	left []byte
}

func (r *repeated) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		r.n++
		r.left = append(append([]byte{}, r.text...), []byte(strings.Repeat("y", r.n%1000)+"\n")...)
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// What is read adds up to the summary, whatever the input.
func FuzzRead(f *testing.F) {
	f.Add([]byte("events: Ir\nfl=a\nfn=f\n1 2\nfn=g\n1 .\n2\nsummary: 2\n"))
	f.Add([]byte("desc: x\ncmd: y\nevents: Dr Ir\nfi=a\nfn=f\n1 2 3\nsummary: 2 3\n"))
	f.Add([]byte("events: Ir\nfn=f\n1 9223372036854775807\n1 1\nsummary: 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := read(bytes.NewReader(text))
		if err != nil {
			return
		}
		for name, n := range p.own {
			if n < 0 || strings.Contains(name, "\n") {
				t.Errorf("%q has %d", name, n)
			}
		}
		if !bytes.Contains(text, []byte("summary:")) {
			t.Error("there is no summary")
		}
	})
}

// The files of the valgrind that is installed: of a shell, and of what it starts.
func TestReadReal(t *testing.T) {
	testenv.Program(t, "valgrind")
	tool, err := Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	command := tool.under(folder)
	out, err := exec.CommandContext(t.Context(), command[0], append(command[1:], "/bin/sh", "-c", "/bin/true; (exit 0) & wait")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sum, processes, err := collect(folder)
	if err != nil || processes < 3 { // the shell, true, and the shell in the background
		t.Fatalf("%d processes, %v", processes, err)
	}
	if sum.total() < 50_000 || len(sum.own) < 20 {
		t.Errorf("%s: %d instructions of %d functions", tool.Version, sum.total(), len(sum.own))
	}
}

// A folder may be called like a place for a process' number.
func TestUnderKeepsPercentSigns(t *testing.T) {
	last := Tool{Path: "valgrind"}.under("/tmp/100%pure")
	if got, want := last[len(last)-1], "--cachegrind-out-file="+filepath.Join("/tmp/100%%pure", "counts.%p"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFindSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(t.Context()); err == nil || !errors.Is(err, exec.ErrNotFound) && !strings.Contains(err.Error(), "valgrind") {
		t.Error(err)
	}
}
