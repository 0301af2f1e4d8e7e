package experiment

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"contend/guard"
	"contend/internal/testenv"
	"contend/metric"
	"contend/protocol"
	"contend/setting"
	"contend/trial"
)

// orders is a valid file, which tests make mistakes in.
const orders = `id: orders
title: orders service, lock against queue
subjects:
  lock: {command: "./orders -mode lock -listen {{addr}}", ready: {http: /health}}
  queue: {command: "./orders -mode queue -listen {{addr}}"}
target: {url: "http://{{addr}}/orders", method: POST, data: '{"id": 1}', expect_status: [201]}
load: {vus: [1, 10, 50], duration: 2s, warmup: 1s}
compare: {baseline: lock, metrics: [throughput_per_s, response_p99_ns], margin: 2%}
expect: ["queue.throughput_per_s >= 0.98 * lock.throughput_per_s", "errors == 0"]
`

func TestParse(t *testing.T) {
	f, err := Parse("orders.yaml", []byte(orders))
	if err != nil {
		t.Fatal(err)
	}
	if f.ID != "orders" || f.Target.Get("method") != "POST" || f.Target.Get("expect_status") != "201" {
		t.Errorf("got %+v", f)
	}
	p, want := f.Experiment("").Parts[0], trial.NewDesign()
	want.Levels, want.Block, want.Warmup = []int{1, 10, 50}, 2*time.Second, time.Second
	want.Metrics, want.Margin = []metric.Name{"throughput_per_s", "response_p99_ns"}, new(0.02)
	if !reflect.DeepEqual(p.Design, want) || p.Baseline != "lock" || p.Swept {
		t.Errorf("design is %+v against %s, want %+v", p.Design, p.Baseline, want)
	}
}

func TestParseReadsPlainValues(t *testing.T) {
	text := strings.Replace(orders, "vus: [1, 10, 50]", "vus: 50, rate: 5000", 1) + `published:
  - title: theirs
    environment: elsewhere
    columns: [arm, vus, response_p99_ns, throughput_per_s]
    rows:
      - [lock, 10, 719.94µs, ~]
      - [queue, 10, 1.0, 1e3]
      - [queue, 50, null, "7"]
`
	f, err := Parse("orders.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if p := f.Experiment("").Parts[0]; !reflect.DeepEqual(p.Design.Levels, []int{50}) || p.Plan.Pacer.String() != "constant:5000" {
		t.Errorf("part is %+v, want a list of one level and a constant rate", p)
	}
	want := []Row{{"lock", "10", "719.94µs", "~"}, {"queue", "10", "1.0", "1e3"}, {"queue", "50", "~", "7"}}
	if !reflect.DeepEqual(f.Published[0].Rows, want) {
		t.Errorf("rows are %q, want %q: cells as they are written", f.Published[0].Rows, want)
	}
}

// A length of time is more than nothing, with its unit.
func TestStopTimeout(t *testing.T) {
	const ready = "ready: {http: /health}"
	for given, want := range map[string]string{"2m": "", "0s": "is \"0s\"; expected a duration above 0s, such as 10s", "5": "is \"5\"; expected a duration above 0s, such as 10s"} {
		f, err := Parse("orders.yaml", []byte(strings.Replace(orders, ready, "stop_timeout: "+given, 1)))
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", given, err, want)
		case want == "" && (err != nil || f.Subjects["lock"].StopTimeout != 2*time.Minute):
			t.Errorf("%s: %v", given, err)
		}
	}
}

// Every mistake of a mistyped file is reported, with its line.
func TestMistypedFile(t *testing.T) {
	path := filepath.Join("testdata", "mistyped.yaml")
	text := testenv.Read(t, path)
	_, err := Parse("mistyped.yaml", text)
	if err == nil {
		t.Fatal("no mistake was found")
	}
	testenv.Golden(t, filepath.Join("testdata", "mistyped.golden"), named(err.Error())+"\n")
}

// named replaces each list of what is allowed that another table holds by its name,
// so that a new row there leaves the golden file as it is.
func named(text string) string {
	allowed := func(err error) string { return setting.Mistakes(err)[0].Allowed }
	var fields, designs []string
	for _, s := range protocol.Settings() {
		fields = append(fields, s.Path)
	}
	for _, d := range guard.Designs() {
		designs = append(designs, d.Name)
	}
	return strings.NewReplacer(
		allowed(metric.Name("").Check()), "«the metrics»",
		allowed(protocol.At("").Validate()), "«the schemes»",
		strings.Join(fields, ", "), "«the fields of a target»",
		strings.Join(sectionNames("compare"), ", "), "«the fields of a comparison»",
		strings.Join(designs, ", "), "«the designs»",
	).Replace(text)
}

// In testdata/mistyped.yaml each line with a mistake ends in a comment with #!.
func TestMistypedFileHasNoFalseAlarm(t *testing.T) {
	text := testenv.Read(t, filepath.Join("testdata", "mistyped.yaml"))
	marked, found := map[int]bool{}, map[int]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "#!") {
			marked[i+1] = true
		}
	}
	m := newMistakes("mistyped.yaml")
	f := new(File)
	newDecoder(m, reflect.TypeFor[File]()).decode(m.document(text, ""), f)
	f.validate(m)
	for _, one := range m.list {
		found[one.At.Line] = true
	}
	if !reflect.DeepEqual(found, marked) {
		t.Errorf("mistakes were found on lines %v, they are on %v", found, marked)
	}
}

func TestMistakesOfForm(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "x.yaml:1:1: the file is empty"},
		"only a comment":   {"# nothing\n", "x.yaml:1:1: the file is empty"},
		"a list":           {"- a\n- b\n", "x.yaml:1:1: is a list; expected a mapping"},
		"a word":           {"orders\n", "x.yaml:1:1: is a single value; expected a mapping"},
		"bracket":          {"id: a\ntitle: [b\n", "x.yaml:2:8: the bracket [ is not closed"},
		"brace":            {"id: a\nload: {vus: 1\nexpect: []\n", "x.yaml:3:1: the brace { is not closed, or its content needs quotes"},
		"addr in braces":   {"subjects:\n  a: {command: ./s -l {{addr}}}\n", "x.yaml:2:23: the brace { is not closed, or its content needs quotes"},
		"addr":             {"subjects:\n  a:\n    command: {{addr}}\n", "x.yaml:3:15: a name is missing after the brace { or the comma"},
		"quote":            {"id: a\ntitle: 'b\nload:\n", "x.yaml:2:8: the quote is not closed"},
		"no colon":         {"id: a\ntitle t\nload:\n", "x.yaml:2:1: this is not a field: it has no colon followed by a blank; expected NAME: VALUE"},
		"no colon above":   {"id: a\nload\n  vus: 1\n", "x.yaml:2:1: this is not a field"},
		"no colon below":   {"id: a\nload:\n  vus 1\n", "x.yaml:3:3: load is a single value; expected a mapping, as in NAME: VALUE with a colon and a blank"},
		"no blank":         {"id: a\nload:\n  vus: 1\n  rate:5\n", "x.yaml:4:3: this is not a field"},
		"two colons":       {"id: a\ntitle: t: u\n", "x.yaml:2:8: the value contains a colon and a blank"},
		"further in":       {"id: a\nload:\n  vus: 1\n\n   timeout: 2s\n", "x.yaml:5:4: the indentation is wrong"},
		"further out":      {"id: a\nload:\n  vus: 1\n timeout: 2s\n", "x.yaml:4:2: the indentation is wrong"},
		"between":          {"subjects:\n  a:\n    command: x\n   b:\n    command: y\n", "x.yaml:4:4: the indentation is wrong"},
		"reserved":         {"id: a\ntitle: @x\n", "x.yaml:2:8: a value that begins so is no text to YAML"},
		"other syntax":     {"{\"id\": \"a\",\n\"title\": \"b\",,}\n", "x.yaml:2:14: is no YAML here: "},
		"tab":              {"id: a\nload:\n\tvus: 1\n", "x.yaml:3:1: the line begins with a tab; expected spaces"},
		"not UTF-8":        {"id: a\ntitle: \xff\n", "x.yaml:2:8: the text is not UTF-8"},
		"control":          {"id: a\x00\n", "x.yaml:1:6: the text is not UTF-8, or has control characters"},
		"too large":        {"title: " + strings.Repeat("a", maxBytes), "x.yaml:1:1: the file has 65543 bytes; expected at most 65536"},
		"deep brackets":    {"id: " + strings.Repeat("[", maxDepth+1), "x.yaml:1:37: nested more than 32 levels deep"}, // 4 + 33
		"deep entries":     {strings.Repeat("- ", maxDepth+1), "x.yaml:1:65: nested more than 32 levels deep"},         // 2·32 + 1
		"two documents":    {orders + "---\nid: b\n", "x.yaml:10:1: a second document begins here"},
		"directive":        {"%YAML 1.2\n---\nid: a\n", "x.yaml:1:1: YAML directives are not allowed"},
		"anchor":           {orders + "analyses: &a [little]\n", "x.yaml:10:11: analyses: anchors, aliases and tags are not allowed"},
		"alias":            {orders + "analyses: *a\n", "x.yaml:10:11: analyses: anchors, aliases and tags are not allowed"},
		"tag":              {orders + "analyses: !!seq [little]\n", "x.yaml:10:11: analyses: anchors, aliases and tags"},
		"merge key":        {orders + "<<: {status: planned}\n", `x.yaml:10:1: the key "<<" is not allowed`},
		"complex key":      {orders + "? status\n: planned\n", `x.yaml:10:1: the key "?" is not allowed`},
		"twice":            {orders + "title: again\n", "x.yaml:10:1: title is given twice, first on line 2"},
		"twice in braces":  {orders + "profiles: {quick: {load: {vus: 1, vus: 2}}}\n", "profiles.quick.load.vus is given twice, first on line 10"},
		"no value":         {orders + "analyses:\n", "analyses has no value"},
		"unknown":          {orders + "analysis: little\n", `x.yaml:10:1: analysis: unknown field; expected id, title`},
		"elsewhere":        {orders + "duration: 1s\n", "x.yaml:10:1: duration: unknown field here; it belongs in load"},
		"at the top":       {orders + "parts: [{analyses: [little]}]\n", "parts[0].analyses: unknown field here; it belongs at the top"},
		"mapping for list": {orders + "analyses: {a: b}\n", "x.yaml:10:12: analyses is a mapping; expected a list"},
		"list for value":   {orders + "question: [why]\n", "x.yaml:10:11: question is a list; expected a single value"},
		"value for object": {orders + "profiles: quick\n", "x.yaml:10:11: profiles is a single value; expected a mapping"},
		"no number":        {orders + "profiles: {quick: {load: {vus: [1, ten]}}}\n", `x.yaml:10:36: profiles.quick.load.vus[1] is "ten"; expected 1 to 1000000 (a whole number)`},
		"no unit":          {orders + "profiles: {quick: {load: {warmup: 2}}}\n", `load.warmup is "2"; expected 0s to 720h (a duration with a unit`},
		"no per cent":      {orders + "profiles: {quick: {compare: {margin: 0.02}}}\n", `compare.margin is "0.02"; expected at least 0% and less than 100% (a percentage, as in 2%)`},
		"no truth":         {orders + "arms: {lock: {target: {insecure: yes}}, queue: {}}\n", `insecure is "yes"; expected true or false`},
		"row is a value":   {orders + "published: [{rows: [1]}]\n", "published[0].rows[0] is a single value; expected a list with a value for each column"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

// The decoder can read the type of every field of a file.
func TestEveryFieldCanBeRead(t *testing.T) {
	var walk func(path string, of reflect.Type)
	walk = func(path string, of reflect.Type) {
		switch kind := of.Kind(); {
		case isSection(of): // whose settings package setting reads
		case kind == reflect.Struct:
			for _, f := range fieldsOf(of) {
				walk(path+"."+f.name, f.Type)
			}
		case kind == reflect.Slice || kind == reflect.Map:
			walk(path, of.Elem())
		case kind == reflect.String || kind == reflect.Int || kind == reflect.Bool:
		default:
			if of != reflect.TypeFor[time.Duration]() {
				t.Errorf("%s has the type %v, which the decoder cannot read", path, of)
			}
		}
	}
	walk("", reflect.TypeFor[File]())
}
