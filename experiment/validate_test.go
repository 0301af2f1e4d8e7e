package experiment

import (
	"strings"
	"testing"
	"time"

	"contend/protocol"
)

const table = "published: [{title: t, environment: e, columns: [arm, vus, response_p99_ns], rows: [[lock, 1, 5ms]]}]\n"

// mistakesOfSense each make one mistake in a valid file by replacing a text.
var mistakesOfSense = []struct{ old, new, want string }{
	{"id: orders", "id: -orders", `id: "-orders" is not allowed: lower-case letters and digits`},
	{"id: orders\n", "", "id: is missing"},
	{"title: orders service, lock against queue\n", "", "title: is missing"},
	{"id: orders", "id: orders\nstatus: ready", `status: "ready" is not known`},
	{`queue: {command: "./orders -mode queue -listen {{addr}}"}`, "queue: {dir: /tmp}", "subjects.queue: is missing: one of command, serve and url"},
	{"-mode queue", "-mode {{port.http}} {{name}}", "the placeholder {{name}} is not known: allowed are {{addr}}"},
	{"queue -listen {{addr}}", "queue", `the command has neither {{addr}} nor {{port}}, so the arm queue cannot be reached`},
	{`"./orders -mode queue -listen {{addr}}"`, `" "`, `subjects.queue.command: " " has no words`},
	{"{http: /health}", "{http: health}", `ready.http: "health" is not allowed: a path such as /ready`},
	{"{http: /health}", "{http: '/{{adr}}'}", "ready.http: the placeholder {{adr}} is not known"},
	{`command: "./orders -mode queue -listen {{addr}}"`, "url: localhost:1, dir: x", "subjects.queue: ready, env, dir and files do not apply to url"},
	{"queue: {", "queue: {os: plan9, ", `subjects.queue.os: "plan9" is not known: allowed are linux, darwin, windows`},
	{"http://{{addr}}/orders", "http://{{port}}/orders", "target.url: the placeholder {{port}} is not known: allowed are {{addr}}"},
	{`url: "http://{{addr}}/orders", `, "", "target.url: is missing: the arm lock has no url to drive"},
	{"method: POST", "method: POST, data_file: x", "target.data_file: is set beside data: give one of them"},
	{"vus: [1, 10, 50], ", "", "load.vus: is missing: the levels of concurrency"},
	{"vus: [1, 10, 50]", "vus: []", "load.vus: is missing"},
	{"vus: [1, 10, 50]", "vus: 1000001", "x.yaml:7:13: load.vus[0]: 1000001 is not allowed: 1 to 1000000"},
	{"duration: 2s, ", "", "load.duration: is missing"},
	{"duration: 2s", "duration: 0s", "load.duration: 0s is not allowed: 1ms to 720h0m0s"},
	{"duration: 2s", "duration: 721h", "load.duration: 721h0m0s is not allowed"},
	{"duration: 2s", "duration: 2s, timeout: -1s", "load.timeout: -1s is not allowed: 0s to"},
	{"duration: 2s", "duration: 2s, rate: poison:5", `kind "poison" is not one of constant`},
	{"duration: 2s", "duration: 2s, rate: 5, think: 1s", `load.think: 1s does not go with rate "5"`},
	{"baseline: lock, ", "", "compare.baseline: is missing: the arm that the others are compared with"},
	{"baseline: lock", "baseline: lokc", `compare.baseline: "lokc" is no arm: did you mean "lock"?`},
	{"margin: 2%", "margin: 0%", "compare.margin: 0% is not allowed: more than 0% and less than 100%"},
	{"margin: 2%", "margin: NaN%", "compare.margin: NaN% is not allowed"},
	{"margin: 2%", "rounds: 1001, pairs: -1", "compare.rounds: 1001 is not allowed: 1 to 1000"},
	{"margin: 2%", "rounds: 1001, pairs: -1", "compare.pairs: -1 is not allowed: 1 to 10000"},
	{"load:", "sweep: {visits: 1001, extend_to: -1}\nload:", "sweep.visits: 1001 is not allowed: 1 to 1000"},
	{"load:", "sweep: {visits: 1001, extend_to: -1}\nload:", "sweep.extend_to: -1 is not allowed: 1 to 1000000"},
	{"response_p99_ns]", "throughput_per_s]", `compare.metrics[1]: "throughput_per_s" is given twice`},
	{"[throughput_per_s, response_p99_ns]", "[]", "compare.metrics: is missing: an empty list has no primary metric"},
	{"0.98 * lock.", "0.98 * lok.", `expect[0]: "lok" is no arm: did you mean "lock"?`},
	{`"errors == 0"`, `"0 == errors"`, "expect[1]: expectation \"0 == errors\": a metric must stand on the left"},
	{"load:", "arms: {lock: {subject: lock}}\nload:", "arms: a comparison needs at least 2 arms, or subjects in their place: there are 1"},
	{"load:", "arms: {lock: {}, queue: {subject: queue}}\nload:", "has {{addr}}, but the arm lock names no subject"},
	{"load:", "arms: {lock: {document: 'uplink demo \"'}, queue: {document: uplink demo}}\nload:", `arms.lock.document: "uplink demo \"" is not allowed: the words`},
	{"load:", "arms: {lock: {document: uplink demo, subject: lock}, queue: {document: uplink demo}}\nload:", "arms.lock: subject, target and guard do not apply"},
	{"load:", "arms: {lock: {document: uplink demo}, queue: {subject: queue}}\nload:", "arms.queue.document: is missing: the other arms have one"},
	{"load:", "arms: {lock: {document: uplink demo}, queue: {document: uplink demo}}\nsweep: {visits: 3}\nload:", "sweep: arms with a document measure by themselves"},
	{"load:", "arms: {lock: {guard: mutx}, queue: {}}\nload:", `arms.lock.guard: guard: design is "mutx"; allowed: mutex`},
	{"load:", "profiles: {quick: {load: {warmup: 0s}}}\nload:", "profiles.quick.load.warmup: an empty value does not override 1s"},
	{"load:", "profiles: {quick: {compare: {baseline: none}}}\nload:", `profiles.quick.compare.baseline: "none" is no arm`},
	{"load:", "parts: [{name: a, target: {data_file: x}}]\nload:", "parts[0].target.data_file: is set beside data"},
	{"load:", "parts: [{name: a b}]\nload:", `parts[0].name: "a b" is not allowed`},
	{"load:", "parts: [{name: a, expect: [x.errors == 0]}]\nload:", `parts[0].expect[0]: "x" is no arm of part a`},
	{"load:", "analyses: [little]\nload:", "analyses[0]: little reads a published table with the columns arm, vus, throughput_per_s"},
	{"load:", "analyses: [guard_bound]\nload:", "analyses[0]: guard_bound needs a part whose baseline and another arm name different guards"},
	{"load:", strings.Replace(table, "title: t, ", "", 1) + "load:", "published[0].title: is missing"},
	{"load:", strings.Replace(table, "environment: e", "environment: ''", 1) + "load:", "published[0].environment: is missing"},
	{"load:", strings.Replace(table, "title: t", "title: t, part: b", 1) + "load:", `published[0].part: "b" is no part: there are none`},
	{"load:", "parts: [{name: a}]\n" + table + "load:", "published[0].part: is missing: the part that the figures belong to: allowed are a"},
	{"load:", strings.Replace(table, "[arm, vus", "[arm, arm", 1) + "load:", `published[0].columns[1]: "arm" is given twice`},
	{"load:", strings.Replace(table, "vus, resp", "allocs, resp", 1) + "load:", `published[0].columns[1]: "allocs" is neither arm, vus nor a name of extra`},
	{"load:", strings.Replace(table, "title: t", "title: t, extra: [vus]", 1) + "load:", `published[0].extra[0]: "vus" can be a column without being named here`},
	{"load:", strings.Replace(table, "title: t", "title: t, extra: [B/op]", 1) + "load:", `published[0].extra[0]: "B/op" is not allowed`},
	{"load:", strings.Replace(table, "title: t", "title: t, extra: [allocs]", 1) + "load:", `published[0].extra[0]: "allocs" is none of the columns`},
	{"load:", strings.Replace(table, "title: t", "title: t, notes: [{because: b}]", 1) + "load:", "published[0].notes[0].comparable: is missing: true or false"},
	{"load:", strings.Replace(table, "title: t", "title: t, notes: [{metrics: [x], comparable: true, because: b}]", 1) + "load:", `published[0].notes[0].metrics[0]: metric is "x"; allowed: `},
	{"load:", strings.Replace(table, "[[lock, 1, 5ms]]", "[]", 1) + "load:", "published[0].rows: is missing"},
	{"load:", strings.Replace(table, "lock, 1", "lokc, 1", 1) + "load:", `published[0].rows[0][0]: "lokc" is no arm: did you mean "lock"?`},
	{"load:", strings.Replace(table, "lock, 1", "lock, 1.5", 1) + "load:", `published[0].rows[0][1]: "1.5" is no number of virtual users`},
	{"load:", strings.Replace(table, "5ms", "5 ms", 1) + "load:", `published[0].rows[0][2]: response_p99_ns: "5 ms" is neither a number nor a duration`},
	{"load:", strings.Replace(table, ", 5ms", "", 1) + "load:", "published[0].rows[0]: 2 cells for 3 columns"},
}

func TestMistakesOfSense(t *testing.T) {
	for _, c := range mistakesOfSense {
		t.Run(c.want, func(t *testing.T) {
			text := strings.Replace(orders, c.old, c.new, 1)
			if text == orders {
				t.Fatalf("%q is not in the file", c.old)
			}
			_, err := Parse("x.yaml", []byte(text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

// A mistake of form is not said again as what follows from it.
func TestOneMistakeIsSaidOnce(t *testing.T) {
	for _, c := range []struct{ old, new string }{
		{"vus: [1, 10, 50]", "vsu: [1, 10, 50]"},
		{"vus: [1, 10, 50]", "vus: {}"},
		{"duration: 2s", "duration: two"},
		{"load: {vus: [1, 10, 50], duration: 2s, warmup: 1s}", "load: 5"},
		{"baseline: lock", "base_line: lock"},
		{"baseline: lock", "baseline: look"},
		{"title:", "titel:"},
		{"command: \"./orders -mode queue", "comand: \"./orders -mode queue"},
		{"queue: {command: \"./orders -mode queue -listen {{addr}}\"}", "queue: ./orders"},
		{"url:", "ulr:"},
		{"margin: 2%", "margin: 2"},
		{"load:", "parts: [{name: a}, {name: b}]\nexpect_: []\nload:"},
		{"load:", "parts: [{name: a}, {name: b, compare: {baseline: x}}]\nload:"},
		{"load:", "arms: [lock, queue]\nload:"},
	} {
		_, err := Parse("x.yaml", []byte(strings.Replace(orders, c.old, c.new, 1)))
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: want one mistake, got %v", c.new, err)
		}
	}
}

// A file made in memory, as compare makes it.
func TestValidateWithoutText(t *testing.T) {
	f := &File{ID: "compare", Title: "b against a"}
	f.Load = Load{VUs: []int{50}, Duration: time.Second}
	f.Compare = Compare{Baseline: "A", Margin: 0.02}
	f.Arms = map[string]Arm{"A": {Target: protocol.At("http://localhost:1/")}, "B": {Target: protocol.At("http://localhost:2/")}}
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	f.Load.VUs[0] = 0
	f.Compare.Metrics = append(f.Compare.Metrics, "speed")
	f.Arms["B"] = Arm{Target: protocol.At("./server")}
	err := f.Validate()
	for _, want := range []string{
		"experiment: load.vus[0]: 0 is not allowed: 1 to 1000000",
		`experiment: compare.metrics[0]: metric is "speed"; allowed: `,
		`experiment: arms.B.target.url: "./server" has no scheme, as in`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

func TestPlannedFileNeedsLittle(t *testing.T) {
	if _, err := Parse("x.yaml", []byte("id: a\ntitle: b\nstatus: planned\n")); err != nil {
		t.Error(err)
	}
	_, err := Parse("x.yaml", []byte("id: a\ntitle: b\nstatus: planned\nload: {vus: 0}\n"))
	if err == nil || !strings.Contains(err.Error(), "x.yaml:4:13: load.vus[0]: 0 is not allowed") {
		t.Errorf("got %v: what a planned file holds must be right", err)
	}
}

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		give string
		want []string
	}{
		{"a b", []string{"a", "b"}},
		{" a\t b \n", []string{"a", "b"}},
		{`a 'b c' "d 'e'"`, []string{"a", "b c", "d 'e'"}},
		{`a="b c"d`, []string{"a=b cd"}}, // quotes may stand inside a word
		{`''`, []string{""}},
		{"", nil},
	} {
		got, err := splitWords(c.give)
		if err != nil || strings.Join(got, "|") != strings.Join(c.want, "|") || len(got) != len(c.want) {
			t.Errorf("splitWords(%q) = %q, %v, want %q", c.give, got, err, c.want)
		}
	}
	if _, err := splitWords(`a "b`); err == nil {
		t.Error("an open quote was accepted")
	}
}
