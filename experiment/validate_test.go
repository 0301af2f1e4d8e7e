package experiment

import (
	"slices"
	"strings"
	"testing"

	"contend/metric"
	"contend/protocol"
	"contend/trial"
)

const table = "published: [{title: t, environment: e, columns: [arm, vus, response_p99_ns], rows: [[lock, 1, 5ms]]}]\n"

// mistakesOfSense each make one mistake in a valid file by replacing a text.
var mistakesOfSense = []struct{ old, new, want string }{
	{"id: orders", "id: -orders", `id is "-orders"; expected lower-case letters and digits, with single hyphens between them`},
	{"id: orders\n", "", "id is missing: lower-case letters, digits and hyphens, as in orders-lock"},
	{"title: orders service, lock against queue\n", "", "title is missing: what is compared, in a few words"},
	{"id: orders", "id: orders\nstatus: ready", `status is "ready"; expected planned, or nothing for an experiment that runs`},
	{`queue: {command: "./orders -mode queue -listen {{addr}}"}`, "queue: {dir: /tmp}", "subjects.queue is missing: one of command, serve and url"},
	{"-mode queue", "-mode {{port.http}} {{name}}", "subjects.queue.command has the placeholder {{name}}; expected {{addr}}, {{port}}, {{host}}, {{addr.NAME}}, {{p"},
	{`command: "./orders -mode queue -listen {{addr}}"`, "serve: counter", `the command has neither {{addr}} nor {{port}}, so the variant queue cannot be reached`},
	{`queue -listen {{addr}}"`, `queue", env: [A=1, PORT=80]`, `the command has neither {{addr}} nor {{port}}, and its environment sets PORT to something else, so the variant queue`},
	{`"./orders -mode queue -listen {{addr}}"`, `"A=1 PORT=80 ./orders"`, `the command has neither {{addr}} nor {{port}}, and its environment sets PORT to something else, so the variant queue`},
	{`"./orders -mode queue -listen {{addr}}"`, `" "`, `subjects.queue.command is " "; expected a program`},
	{"{http: /health}", "{http: health}", `subjects.lock.ready.http is "health"; expected a path such as /ready, or an http:// URL`},
	{"{http: /health}", "{http: '/{{adr}}'}", "subjects.lock.ready.http has the placeholder {{adr}}; expected {{addr}}, {{port}}, {{host}}, {{addr.NAME}}, {{"},
	{`command: "./orders -mode queue -listen {{addr}}"`, "url: localhost:1, dir: x", "subjects.queue: ready, env, dir, files and stop_timeout do not apply to url"},
	{"queue: {", "queue: {os: plan9, ", `subjects.queue.os is "plan9"; expected linux, darwin, windows`},
	{"http://{{addr}}/orders", "http://{{port}}/orders", "target.url has the placeholder {{port}}; expected {{addr}}, {{port}} as the port, the values of docs/data-and-checks.md, and "},
	{`url: "http://{{addr}}/orders", `, "", "target.url is missing: the variant lock has no url to drive"},
	{"http://{{addr}}/orders", "guard:mutex?batch=0", "target.url: batch is 0; expected 1 to 1000000"},
	{"http://{{addr}}/orders", "guard:mutex?bach=5", `target.url: bach is not known; expected kind, batch, seed, section (did you mean "batch"?)`},
	{"method: POST", "method: POST, data_file: x", "target.data_file cannot be combined with data; use one of them"},
	{"vus: [1, 10, 50], ", "", "load.vus is missing: number of callers; several numbers are levels, each compared separately, as in [1"},
	{"vus: [1, 10, 50]", "concurrency: [1, 10, 50]", `did you mean "vus"?`},
	{"vus: [1, 10, 50]", "vus: []", "load.vus is empty; expected at least one value"},
	{"vus: [1, 10, 50]", "vus: 1000001", "x.yaml:7:13: load.vus[0] is 1000001; expected 1 to 1000000"},
	{"margin: 2%", "block: -1s", "compare.block is -1s; expected 0s to 720h"},
	{"duration: 2s", "duration: -1s", "load.duration is -1s; expected 0s to 720h"},
	{"duration: 2s", "duration: 721h", "load.duration is 721h; expected 0s to 720h"},
	{"duration: 2s", "duration: 2s, timeout: -1s", "load.timeout is -1s; expected 0s to 720h"},
	{"duration: 2s", "duration: 2s, rate: poison:5", `kind of pacer is "poison"; expected constant`},
	{"duration: 2s", "duration: 2s, rate: 5, think: 1s", "load.think is 1s, but arrivals of an open model do not wait: drop it or the rate"},
	{"baseline: lock, ", "", "compare.baseline is missing: the variant to compare all others with, as in lock"},
	{"baseline: lock", "baseline: lokc", `compare.baseline is "lokc", which is not a variant; expected lock, queue (did you mean "lock"?)`},
	{"margin: 2%", "margin: -1%", "compare.margin is -1%; expected at least 0% and less than 100%"},
	{"margin: 2%", "margin: NaN%", "compare.margin is NaN%; expected at least 0% and less than 100%"},
	{"margin: 2%", "rounds: 1001, pairs: -1", "compare.rounds is 1001; expected 0 to 1000"},
	{"margin: 2%", "rounds: 1001, pairs: -1", "compare.pairs is -1; expected 1 to 10000"},
	{"load:", "sweep: {visits: 1001, extend_to: -1}\nload:", "sweep.visits is 1001; expected 0 to 1000"},
	{"load:", "sweep: {visits: 1001, extend_to: -1}\nload:", "sweep.extend_to is -1; expected 0 to 1000000"},
	{"response_p99_ns]", "throughput_per_s]", `compare.metrics[1] is "throughput_per_s", given twice`},
	{"[throughput_per_s, response_p99_ns]", "[]", "compare.metrics is empty; expected at least one value"},
	{"0.98 * lock.", "0.98 * lok.", `expect[0] names "lok", which is not a variant; expected lock, queue (did you mean "lock"?)`},
	{`"errors == 0"`, `"0 == errors"`, "expect[1]: expectation \"0 == errors\": a metric must stand on the left"},
	{"load:", "arms: {lock: {subject: lock}}\nload:", "arms has 1; expected at least 2 servers (key subjects) or variants (key arms) to compare"},
	{"load:", "arms: {lock: {}, queue: {subject: queue}}\nload:", "has {{addr}} or {{port}}, but the variant lock names no server"},
	{"load:", "arms: {lock: {document: 'uplink demo \"'}, queue: {document: uplink demo}}\nload:", `arms.lock.document is "uplink demo \""; expected the words of a contend command, quotes in pairs`},
	{"load:", "arms: {lock: {document: uplink demo, subject: lock}, queue: {document: uplink demo}}\nload:", "arms.lock: the keys subject, target and guard do not apply"},
	{"load:", "arms: {lock: {document: uplink demo}, queue: {subject: queue}}\nload:", "arms.queue.document is missing: the other variants have one, and all or none do"},
	{"load:", "arms: {lock: {document: uplink demo}, queue: {document: uplink demo}}\nsweep: {visits: 3}\nload:", "sweep: variants with a document measure by themselves"},
	{"load:", "arms: {lock: {guard: mutx}, queue: {}}\nload:", `arms.lock.guard is "mutx"; expected mutex`},
	{"load:", "profiles: {quick: {compare: {baseline: none}}}\nload:", `profiles.quick.compare.baseline is "none", which is not a variant; expected lock, queue`},
	{"load:", "parts: [{name: a, target: {data_file: x}}]\nload:", "parts[0].target.data_file cannot be combined with data; use one of them"},
	{"load:", "parts: [{name: a b}]\nload:", `parts[0].name is "a b"; expected letters and digits with . _ - between them`},
	{"load:", "parts: [{name: a, expect: [x.errors == 0]}]\nload:", `parts[0].expect[0] names "x", which is not a variant of part a; expected lock, queue`},
	{"load:", "answer: {parts: [a]}\nload:", `answer.parts[0] is "a"; expected none`},
	{"load:", "parts: [{name: a}]\nanswer: {parts: [b]}\nload:", `answer.parts[0] is "b"; expected a`},
	{"load:", "parts: [{name: a}]\nanswer: {parts: [a], figures: [{part: a, arm: lock, metric: errors}]}\nload:", "answer.figures: use either figures or parts to answer the question, not both"},
	{"load:", "answer: {figures: [{arm: lokc, metric: errors}]}\nload:", `answer.figures[0].arm is "lokc", which is not a variant; expected lock, queue (did you mean "lock"?)`},
	{"load:", "answer: {figures: [{arm: lock, metric: speed}]}\nload:", `answer.figures[0].metric: metric is "speed"; expected `},
	{"load:", "parts: [{name: a}]\nanswer: {figures: [{arm: lock, metric: errors}]}\nload:", "answer.figures[0].part is missing: the part that the figures belong to; expected a"},
	{"load:", "analyses: [little]\nload:", "analyses[0]: little reads a published table with the columns arm, vus, throughput_per_s"},
	{"load:", "analyses: [guard_bound]\nload:", "analyses[0]: guard_bound needs a part whose baseline and another variant name different guards"},
	{"load:", strings.Replace(table, "title: t, ", "", 1) + "load:", "published[0].title is missing: what the table shows"},
	{"load:", strings.Replace(table, "environment: e", "environment: ''", 1) + "load:", "published[0].environment is missing: the machine and the tool that the figures come from"},
	{"load:", strings.Replace(table, "title: t", "title: t, part: b", 1) + "load:", `published[0].part is "b"; expected none`},
	{"load:", "parts: [{name: a}]\n" + table + "load:", "published[0].part is missing: the part that the figures belong to; expected a"},
	{"load:", strings.Replace(table, "[arm, vus", "[arm, arm", 1) + "load:", `published[0].columns[1] is "arm" for the second time`},
	{"load:", strings.Replace(table, "vus, resp", "allocs, resp", 1) + "load:", `published[0].columns[1] is "allocs", neither arm, vus nor a name of extra, and `},
	{"load:", strings.Replace(table, "title: t", "title: t, extra: [vus]", 1) + "load:", `published[0].extra[0] is "vus", which can be a column without being named here`},
	{"load:", strings.Replace(table, "title: t", "title: t, extra: [B/op]", 1) + "load:", `published[0].extra[0] is "B/op"; expected lower-case letters and digits joined by _, as in allocs_per_op`},
	{"load:", strings.Replace(table, "title: t", "title: t, extra: [allocs]", 1) + "load:", `published[0].extra[0] is "allocs", none of the columns; expected arm, vus, response_p99_ns`},
	{"load:", strings.Replace(table, "title: t", "title: t, notes: [{because: b}]", 1) + "load:", "published[0].notes[0].comparable is missing: true or false"},
	{"load:", strings.Replace(table, "title: t", "title: t, notes: [{metrics: [x], comparable: true, because: b}]", 1) + "load:", `published[0].notes[0].metrics[0]: metric is "x"; expected `},
	{"load:", strings.Replace(table, "[[lock, 1, 5ms]]", "[]", 1) + "load:", "published[0].rows is missing: at least one row of figures"},
	{"load:", strings.Replace(table, "lock, 1", "lokc, 1", 1) + "load:", `published[0].rows[0][0] is "lokc", which is not a variant; expected lock, queue (did you mean "lock"?)`},
	{"load:", strings.Replace(table, "lock, 1", "lock, 1.5", 1) + "load:", `published[0].rows[0][1] is "1.5"; expected a concurrency, 1 or more, or ~`},
	{"load:", strings.Replace(table, "5ms", "5 ms", 1) + "load:", `published[0].rows[0][2]: response_p99_ns: "5 ms" is neither a number nor a duration`},
	{"load:", strings.Replace(table, ", 5ms", "", 1) + "load:", "published[0].rows[0] has 2 values for 3 columns (arm, vus, response_p99_ns)"},
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
		{"vus: [1, 10, 50]", "concurrency: [1, 10, 50]"},
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

// A mistake hides no other: only a target that could not be read as a whole is not
// examined further.
func TestEveryMistakeIsSaid(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"method: POST", "method: POST, data_file: x", "target.data_file cannot be combined with data"},
		{"method: POST", "http: 4", "target.http is"},
		{"method: POST", "method: 'G@T'", `target.method is "G@T"; expected letters, digits and `},
		{"[201]", "two", `target.expect_status[0] is "two"`},
		{"[201]", "[99]", "target.expect_status[0] is 99"},
		{"method: POST", "data_file: x, proto_: y", "target.proto_: unknown field"},
		{"method: POST", "data_file: x, insecure: maybe", "target.insecure is"},
	} {
		text := strings.NewReplacer(c.old, c.new, "vus: [1, 10, 50]", "vus: 0").Replace(orders)
		_, err := Parse("x.yaml", []byte(text))
		said := strings.Split(err.Error(), "\n")
		if len(said) != 2 || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "load.vus[0] is 0; expected 1 to 1000000") {
			t.Errorf("%s: got %v, want what is wrong with load.vus and %q", c.new, err, c.want)
		}
	}
}

// What a command line asks for is checked in the same way, arm by arm.
func TestValidateExperiment(t *testing.T) {
	e := OfSubjects(protocol.At("http://{{addr}}/"), map[string]Subject{"A": {Command: "a {{addr}}"}, "B": {Command: "b {{addr}}"}})
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	e.Parts[0].Design.Levels[0] = 0
	e.Parts[0].Design.Metrics = []metric.Name{"speed"}
	e.Subjects["A"] = Subject{Command: "a", Env: []string{"PORT=1"}}
	e.Parts[0].Arms["B"] = Arm{Target: protocol.At("./server")}
	err := e.Validate()
	for _, want := range []string{
		"levels is 0; expected 1 to 1000000", `metrics is "speed"`,
		"A: the command has neither {{addr}} nor {{port}}", `B: target "./server" has no scheme`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

// A command without a placeholder may read PORT, and one with it has the address; of
// neither use is a URL that has no place for it.
func TestCheckAddress(t *testing.T) {
	for _, c := range []struct {
		url, want string
		subject   Subject
	}{
		{"http://{{addr}}/", "", Subject{Command: "a"}},
		{"https://localhost:{{port}}/", "", Subject{Command: "a"}},
		{"http://{{addr}}/", "", Subject{Command: "a", Env: []string{"PORT=1{{port}}"}}},
		{"http://{{addr}}/", "", Subject{Command: "a", Env: []string{"PORT=1"}, Files: map[string]string{"conf": "listen {{addr}}"}}},
		{"http://{{addr}}/", "the command has neither {{addr}} nor {{port}}", Subject{Serve: "counter"}},
		{"http://{{addr}}:99/", "in the URL a port follows {{addr}}, which already has one", Subject{Command: "a {{addr}}"}},
		{"http://{{addr}}/a?of={{addr}}:99", "", Subject{Command: "a {{addr}}"}},
		{"http://{{addr}}/", "the command has neither {{addr}} nor {{port}}, and its environment sets PORT to something else", Subject{Command: "a", Env: []string{"PORT=1"}}},
		{"http://example.com/?p={{port}}", `target is "http://example.com/?p={{port}}", which has no {{addr}} or {{port}} for the address of the command`, Subject{Command: "a {{addr}}"}},
	} {
		got := ""
		if err := c.subject.CheckAddress(protocol.At(c.url)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s, %+v: %q, want %q", c.url, c.subject, got, c.want)
		}
	}
}

// What a subject's address becomes in a URL.
func TestAddressInURL(t *testing.T) {
	for _, c := range []struct {
		url   string
		moved bool
		want  string
	}{
		{"http://{{addr}}/{{port}}", false, "http://127.0.0.1:80/{{port}}"}, // there it is a column of rows
		{"grpc://localhost:{{port}}/p.S/M", false, "grpc://localhost:80/p.S/M"},
		{"http://localhost:{{port}}/{{port}}?{{addr}}", false, "http://localhost:80/{{port}}?127.0.0.1:80"},
		{"http://localhost:8080/x", false, "http://localhost:8080/x"},
		{"http://localhost:8080/x", true, "http://127.0.0.1:80/x"},
		{"http://localhost:8080/a%2fb|{{id}}?q={{id}}", true, "http://127.0.0.1:80/a%2fb|{{id}}?q={{id}}"},
	} {
		if got := (started{addr: "127.0.0.1:80", moved: c.moved}).at(c.url); got != c.want {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
	}
}

// A server that insists on its port needs no address on the loopback.
func TestFixedPortNeedsNoAddress(t *testing.T) {
	for url, valid := range map[string]bool{
		"http://localhost:8080/": true, "http://127.0.0.1:8080/x": true, "grpc://[::1]:50055/p.S/M": true, "http://localhost/": true,
		"http://example.com:8080/": false, "http://192.0.2.1:8080/": false,
	} {
		e := OfSubjects(protocol.At(url), map[string]Subject{"A": {Command: "a"}})
		if ok := e.Validate() == nil; ok != valid {
			t.Errorf("%s: valid is %v", url, ok)
		}
	}
}

func TestPlannedFileNeedsLittle(t *testing.T) {
	if _, err := Parse("x.yaml", []byte("id: a\ntitle: b\nstatus: planned\n")); err != nil {
		t.Error(err)
	}
	_, err := Parse("x.yaml", []byte("id: a\ntitle: b\nstatus: planned\nload: {vus: 0}\n"))
	if err == nil || !strings.Contains(err.Error(), "x.yaml:4:13: load.vus[0] is 0; expected 1 to") {
		t.Errorf("got %v: what a planned file holds must be right", err)
	}
}

// What only a shell understands is distinguished from the same in quotes, and from what looks like it.
func TestShellSign(t *testing.T) {
	for command, want := range map[string]string{
		"./a &": "&", "./a | cat": "|", "./a > log": ">", "./a 2>&1": "2>&1", "./a </dev/null": "</dev/null", "cd x && ./a": "&&", "cd x; ./a": "x;",
		"./a '|' \"> log\" -x=1 A=1 a&b http://h/?a=1&b=2": "", `sh -c "PORT=1 ./a > log"`: "", "./a -- -; ": "-;", "./a {{addr}}": "", "PORT=1 ./a": "",
	} {
		if got := shellSign(command); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// What a command begins with in the form NAME=VALUE is of its environment, as in a shell.
func TestAssigned(t *testing.T) {
	for give, want := range map[string][2]string{
		"./server -a":              {"", "./server|-a"},
		"A=1 B='x y' ./server C=2": {"A=1|B=x y", "./server|C=2"},
		"env A=1 ./server":         {"", "env|A=1|./server"},
		"_a1=  ./server":           {"_a1=", "./server"},
		"1A=2 x":                   {"", "1A=2|x"},
		"A=1":                      {"A=1", ""},
	} {
		words, err := SplitWords(give)
		env, command := Assigned(words)
		if got := [2]string{strings.Join(env, "|"), strings.Join(command, "|")}; err != nil || got != want {
			t.Errorf("%q is %q, %v, want %q", give, got, err, want)
		}
	}
	s := Subject{Command: "PORT={{port}} MODE=b ./server", Env: []string{"MODE=a"}}
	cfg, err := s.process("b", nil, trial.Setup{Padding: 1})
	if want := []string{"MODE=a", "CONTEND_PADDING=x", "PORT={{port}}", "MODE=b"}; err != nil || !slices.Equal(cfg.Env, want) || !slices.Equal(cfg.Command, []string{"./server"}) {
		t.Errorf("%q with %q, %v, want %q", cfg.Command, cfg.Env, err, want)
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
		{`a="b c"d`, []string{"a=b cd"}}, // quotes may be inside a word
		{`''`, []string{""}},
		{"", nil},
	} {
		got, err := SplitWords(c.give)
		if err != nil || strings.Join(got, "|") != strings.Join(c.want, "|") || len(got) != len(c.want) {
			t.Errorf("SplitWords(%q) = %q, %v, want %q", c.give, got, err, c.want)
		}
	}
	if _, err := SplitWords(`a "b`); err == nil {
		t.Error("an open quote was accepted")
	}
}
