package history

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/history/change"
	"contend/internal/testenv"
)

var noon = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

// result is one of a commit, measured an hour after the one before, whose ratio to the anchor is in per cent.
func result(n int, anchor string, percent float64) Result {
	at := math.Log1p(percent / 100)
	return Result{Schema: Schema, Time: noon.Add(time.Duration(n) * time.Hour), Commit: fmt.Sprint("c", n), Anchor: anchor,
		Key: Key{Asked: "contend compare", CPU: "cpu", Kernel: "6.1"},
		Values: []Value{{Of: Of{Metric: "throughput_per_s", Concurrency: 20}, Primary: true, Value: 1000, Baseline: 1000,
			Rounds: []float64{at - 0.01, at, at + 0.01}, LogRatio: at, Low: at - 0.03, High: at + 0.03, Level: 0.05, Verdict: "EQUIVALENT"}}}
}

func add(t *testing.T, folder string, results ...Result) []string {
	t.Helper()
	s, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	names, err := s.Add(results...)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, folder string) ([]Stored, []Problem) {
	t.Helper()
	s, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	results, problems, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	return results, problems
}

func commits(points []Point) (list []string) {
	for _, p := range points {
		list = append(list, p.Commit)
	}
	return list
}

func TestStore(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	a, b := result(1, "c0", 0), result(2, "c0", 1)
	names := add(t, folder, b, a, a)
	if names[1] != names[2] || len(names[0]) != 64+len(suffix) {
		t.Errorf("names are %v", names)
	}
	results, problems := read(t, folder)
	if len(results) != 2 || problems != nil || !reflect.DeepEqual(results[0].Result, a) || !reflect.DeepEqual(results[1].Result, b) {
		t.Errorf("%+v, %v", results, problems)
	}
	if info, err := os.Stat(filepath.Join(folder, names[0])); err != nil || info.Size() > 1000 {
		t.Errorf("%v: %d bytes", err, info.Size())
	}
	s, _ := Open(folder)
	if err := s.SetAnchor("c0"); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(folder); err != nil || s.Anchor() != "c0" {
		t.Errorf("the anchor is %q: %v", s.Anchor(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".contend-*")); left != nil {
		t.Errorf("%v are left", left)
	}
	if _, err := s.Add(Result{Schema: Schema}); err == nil {
		t.Error("a result without a time was added")
	}
	testenv.Write(t, filepath.Join(folder, configFile), "{")
	if _, err := Open(folder); err == nil {
		t.Error("a damaged history.json is not reported")
	}
	if _, _, err := (&Store{folder: "none"}).Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is missing: %v", err)
	}
}

// Whatever is in the folder: what can be read is, the rest is said, and all files stay.
func TestDamage(t *testing.T) {
	folder := t.TempDir()
	names := add(t, folder, result(1, "c0", 0), result(2, "c0", 1), result(3, "c0", 2))
	cut, altered := names[0], names[1]
	testenv.Write(t, filepath.Join(folder, cut), string(testenv.Read(t, filepath.Join(folder, cut))[:100]))
	testenv.Write(t, filepath.Join(folder, altered), strings.Replace(string(testenv.Read(t, filepath.Join(folder, altered))), `"value":1000`, `"value":2000`, 1))
	for name, text := range map[string]string{"foreign.json": `{"name": "other"}`, "list.json": "[]", "empty.json": "", "newer.json": `{"schema":"contend-history/2"}`, "README.md": "#"} {
		testenv.Write(t, filepath.Join(folder, name), text)
	}
	if err := os.Mkdir(filepath.Join(folder, "folder.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	early := result(4, "c0", 3)
	early.Committed = early.Time.Add(time.Hour)
	late := add(t, folder, early)[0]
	before, _ := os.ReadDir(folder)
	results, problems := read(t, folder)
	if len(results) != 3 || !results[0].Altered || results[1].Altered || results[0].Values[0].Value != 2000 {
		t.Errorf("%+v", results)
	}
	said := map[string]string{}
	for _, p := range problems {
		said[p.Name] = p.Text
	}
	for name, want := range map[string]string{cut: "is damaged", altered: "has another content", "foreign.json": `has the schema ""`, "list.json": "no result",
		"empty.json": "is empty", "newer.json": `has the schema "contend-history/2"`, late: "a clock was wrong"} {
		if !strings.Contains(said[name], want) {
			t.Errorf("of %s %q is said, want %q", name, said[name], want)
		}
	}
	if len(said) != 7 {
		t.Errorf("%d problems: %v", len(said), problems)
	}
	if after, _ := os.ReadDir(folder); len(after) != len(before) {
		t.Errorf("%d files were there, now %d", len(before), len(after))
	}
	for _, p := range Lines(results, "c0", nil)[0].Points {
		if p.Linked == p.Altered {
			t.Errorf("altered: %v, linked: %v", p.Altered, p.Linked)
		}
	}
}

// Two branches that add results are merged by git without a conflict.
func TestGitMerges(t *testing.T) {
	testenv.Program(t, "git")
	folder := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "HOME="+folder, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
		return string(out)
	}
	store := filepath.Join(folder, "history")
	commit := func(results ...Result) {
		add(t, store, results...)
		git("add", "-A")
		git("commit", "-q", "-m", "results")
	}
	git("init", "-q", "-b", "main")
	s, _ := Open(store)
	if err := s.SetAnchor("c0"); err != nil {
		t.Fatal(err)
	}
	commit(result(1, "c0", 0))
	git("checkout", "-q", "-b", "other")
	commit(result(2, "c0", 1), result(3, "c0", 2))
	git("checkout", "-q", "main")
	commit(result(3, "c0", 2), result(4, "c0", 3))
	git("merge", "-q", "-m", "both", "other")
	results, problems := read(t, store)
	if len(results) != 4 || problems != nil || git("status", "--porcelain") != "" {
		t.Errorf("%d results, %v, %s", len(results), problems, git("status", "--porcelain"))
	}
}

func TestOrder(t *testing.T) {
	stored := func(names ...int) (list []Stored) {
		for _, n := range names {
			list = append(list, Stored{Result: result(n, "c0", 0)})
		}
		return list
	}
	for _, tt := range []struct {
		name  string
		give  []Stored
		order map[string]int
		want  []string
	}{
		{"by time without git", stored(3, 1, 2), nil, []string{"c1", "c2", "c3"}},
		{"by git, where a clock went back", stored(3, 1, 2), map[string]int{"c3": 0, "c1": 1, "c2": 2}, []string{"c3", "c1", "c2"}},
		{"a lost commit is where its time is", stored(1, 2, 3, 4), map[string]int{"c1": 0, "c3": 1}, []string{"c1", "c2", "c3", "c4"}},
		{"all lost", stored(2, 1), map[string]int{"c9": 0}, []string{"c1", "c2"}},
	} {
		points := Lines(tt.give, "c0", tt.order)[0].Points
		if got := commits(points); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		for _, p := range points {
			if _, known := tt.order[p.Commit]; p.Known != known {
				t.Errorf("%s: %s known: %v", tt.name, p.Commit, p.Known)
			}
		}
	}
}

// c2 was measured against the old anchor, c3 against the new one, and the new against the old.
func TestBridge(t *testing.T) {
	old, newer := result(2, "old", 10), result(3, "new", 5)
	bridge := result(1, "old", 20)
	bridge.Commit = "new"
	var stored []Stored
	for _, r := range []Result{old, newer, result(4, "elsewhere", 1)} {
		stored = append(stored, Stored{Result: r})
	}
	linked := func(l Line) (list []bool) {
		for _, p := range l.Points {
			list = append(list, p.Linked)
		}
		return list
	}
	if got := linked(Lines(stored, "new", nil)[0]); !slices.Equal(got, []bool{false, true, false}) {
		t.Errorf("without the bridge: %v", got)
	}
	stored = append(stored, Stored{Result: bridge})
	l := Lines(stored, "new", nil)[0]
	if got := linked(l); !slices.Equal(got, []bool{true, true, true, false}) {
		t.Fatalf("linked: %v", got)
	}
	// ln(1.1 ÷ 1.2), over a bridge as uncertain as itself; against itself the new anchor is 1.
	p := l.Points[1]
	if math.Abs(p.LogRatio-math.Log(1.1/1.2)) > 1e-12 || math.Abs(p.High-p.LogRatio-0.03*math.Sqrt2) > 1e-12 || !slices.Equal(p.Over, []string{"old"}) {
		t.Errorf("%+v", p)
	}
	if want := 0.01 / math.Sqrt(3) * math.Sqrt2; math.Abs(p.StandardError-want) > 1e-12 {
		t.Errorf("standard error %v, want %v", p.StandardError, want)
	}
	if math.Abs(l.Points[0].LogRatio) > 1e-12 || l.Points[2].Over != nil {
		t.Errorf("%+v", l.Points)
	}
}

// What cannot carry a claim is on the line, and is not linked.
func TestNotLinked(t *testing.T) {
	invalid, alone := result(1, "c0", 0), result(2, "", 0)
	invalid.Values[0].Verdict, invalid.Values[0].Reason = "INVALID", "errors"
	for _, r := range []Result{invalid, alone} {
		l := Lines([]Stored{{Result: r}}, "c0", nil)[0]
		if len(l.Points) != 1 || l.Points[0].Linked || l.Last() != nil {
			t.Errorf("%+v", l.Points)
		}
	}
	if l := Lines([]Stored{{Result: result(1, "c0", 0)}}, "", nil)[0]; l.Last() != nil {
		t.Error("a line without an anchor is linked")
	}
}

func TestEvents(t *testing.T) {
	var stored []Stored
	for i, anchor := range []float64{1000, 1010, 990, 700, 705, 695} {
		r := result(i, "c0", 0)
		r.Values[0].Baseline = anchor
		if i >= 3 {
			r.Key.Kernel = "6.8"
		}
		stored = append(stored, Stored{Result: r})
	}
	for i, p := range Lines(stored, "c0", nil)[0].Points {
		if moved := i == 3; moved != (p.Moved != 0) || moved && math.Abs(p.Moved-0.7) > 1e-9 {
			t.Errorf("%d: moved %v", i, p.Moved)
		}
		if changed := i == 3; changed != reflect.DeepEqual(p.Events, []Event{{"kernel", "6.1", "6.8"}}) {
			t.Errorf("%d: %v", i, p.Events)
		}
	}
}

func TestLinesAreSorted(t *testing.T) {
	old, newer := result(1, "c0", 0), result(2, "c0", 0)
	old.Key.Asked = "contend run"
	newer.Values = append([]Value{{Of: Of{Metric: "errors"}}}, newer.Values...)
	var got []string
	for _, l := range Lines([]Stored{{Result: old}, {Result: newer}}, "c0", nil) {
		got = append(got, l.Asked+" "+l.Metric)
	}
	if want := []string{"contend compare throughput_per_s", "contend compare errors", "contend run throughput_per_s"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestStandardError(t *testing.T) {
	for _, tt := range []struct {
		give Value
		want float64
	}{
		{Value{}, 0},
		{Value{Rounds: []float64{1, 2, 3}}, 1 / math.Sqrt(3)},                                           // standard deviation 1
		{Value{Rounds: []float64{1, 2, 3}, Weights: []float64{2, 2, 2}}, 1 / math.Sqrt(3)},              // as without weights
		{Value{Rounds: []float64{1, 3}, Weights: []float64{1, 3}}, math.Sqrt(2*(1*2.25+9*0.25)) / 4},    // mean 2.5
		{Value{Low: -1.959963984540054, High: 1.959963984540054, Level: 0.05, Rounds: []float64{0}}, 1}, // of its interval
	} {
		if got := tt.give.StandardError(); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%+v: %v, want %v", tt.give, got, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range []Result{result(1, "c0", 0), result(2, "", 3)} {
		data, err := Encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"schema":"contend-history/1","time":"2024-01-01T00:00:00Z","key":{"asked":"x"},"values":[{"metric":"m","value":-1}]}`))
	f.Add([]byte(`{"schema":"contend-history/1","time":"2024-01-01T00:00:00Z","key":{"asked":"x"},"values":[{"metric":"m","value":1,"others":{"f":-1}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Encode(r)
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", r, err)
		}
		other, err := Decode(again)
		if err != nil || len(other.Values) != len(r.Values) {
			t.Fatalf("%s: %v", again, err)
		}
		for _, l := range Lines([]Stored{{Result: r}, {Result: other}}, r.Anchor, nil) {
			for _, p := range l.Points {
				if math.IsNaN(p.LogRatio) || math.IsNaN(p.Moved) {
					t.Errorf("%+v", p)
				}
			}
		}
	})
}

// What a result does not name executes what it does in the anchor, if that is named by the other with the same one.
func TestBetween(t *testing.T) {
	point := func(anchor string, value float64, others map[string]float64, functions ...Function) Point {
		return Point{Stored: Stored{Result: Result{Anchor: anchor}}, Value: Value{Value: value, Functions: functions, Others: others}}
	}
	old := point("a", 10_000, map[string]float64{"main.parse": 5000, "main.serve": 4000})
	for _, tt := range []struct {
		name string
		old  Point
		new  Point
		want []Function
	}{
		{"nothing", old, old, nil},
		{"more than in the anchor", old, point("a", 10_400, map[string]float64{"main.serve": 4000}, Function{"main.parse", 5400, 5000}), []Function{{"main.parse", 5400, 5000}}},
		{"less than 0.05%", old, point("a", 10_000, map[string]float64{"main.serve": 4004}), nil},
		{"a new function", old, point("a", 10_700, nil, Function{"main.log", 700, 0}), []Function{{"main.log", 700, 0}}},
		{"another anchor", old, point("b", 10_700, map[string]float64{"main.parse": 6000}, Function{"main.log", 700, 0}), []Function{{"main.parse", 6000, 5000}}},
		{"no longer more than in the anchor", point("a", 10_400, nil, Function{"main.parse", 5400, 5000}), point("a", 10_000, nil), []Function{{"main.parse", 5000, 5400}}},
		{"the greater first", old, point("", 9000, map[string]float64{"main.parse": 4900, "main.serve": 3000}), []Function{{"main.serve", 3000, 4000}, {"main.parse", 4900, 5000}}},
	} {
		if got := Between(tt.old, tt.new); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A step is suspected, repeated and, once it is confirmed, not repeated again: the repetition in the folder is what is
// remembered of it, and no point of the line.
func TestStepsAreRepeatedOnce(t *testing.T) {
	var stored []Stored
	for i := range 12 {
		percent := 0.1 * float64(i%3)
		if i >= 8 {
			percent += 10
		}
		stored = append(stored, Stored{Result: result(i, "anchor", percent)})
	}
	next := func() (l Line, s change.Step, before, after int, ok bool) {
		l = Lines(stored, "anchor", nil)[0]
		s, before, after, ok = change.Next(l.Steps(), l.Known(), len(l.Series()))
		return l, s, before, after, ok
	}
	l, s, before, after, ok := next()
	if !ok || s.At != 8 || before != s.From-1 || after != s.To || len(l.Points) != 12 {
		t.Fatalf("%+v, %d and %d, %v", s, before, after, ok)
	}
	repeated := result(20, l.Series()[before].Commit, 10)
	repeated.Commit = l.Series()[after].Commit
	repeated.Repeats = &Repeats{From: l.Series()[s.From].Commit, To: l.Series()[s.To].Commit, Up: true, Points: 12, Build: s.Build}
	if c := l.Confirm(s, Point{Stored: Stored{Result: repeated}, Value: repeated.Values[0]}); !c.Confirmed || math.Abs(c.Size-math.Log(1.1)) > 1e-9 {
		t.Errorf("%+v", c)
	}
	data, err := Encode(repeated)
	if err != nil {
		t.Fatal(err)
	}
	if repeated, err = Decode(data); err != nil {
		t.Fatal(err)
	}
	stored = append(stored, Stored{Result: repeated})
	if l, s, _, _, ok = next(); ok || len(l.Points) != 12 || len(l.Repeated) != 1 {
		t.Errorf("%+v is repeated again, of %d points", s, len(l.Points))
	}
	// After a rebase the commits are others: what was confirmed of those that are lost is repeated.
	for i := range stored[:12] {
		stored[i].Commit = "rebased " + stored[i].Commit
	}
	if _, _, _, _, ok = next(); !ok {
		t.Error("a step of other commits counts as known")
	}
}
