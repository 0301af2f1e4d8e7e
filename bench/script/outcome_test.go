package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func asked(vu string, lines ...string) map[string][]request {
	users := map[string][]request{}
	for _, line := range lines {
		users[vu] = append(users[vu], request{VU: vu, Line: line})
	}
	return users
}

func TestDifferences(t *testing.T) {
	plain := func() outcome {
		return outcome{Exit: done, Iterations: 4, Requests: asked("1", "GET /a", "GET /b"),
			Checks: map[string]tally{"c": {3, 1}}, Thresholds: map[string]bool{"m count>1": true}}
	}
	for _, test := range []struct {
		change func(*outcome)
		spread int64
		want   []string // how each of the differences begins
	}{
		{func(*outcome) {}, 0, nil},
		{func(o *outcome) { o.Code = 4 }, 0, nil}, // only its class counts
		{func(o *outcome) { o.Exit = crossed }, 0, []string{"exit: done and thresholds"}},
		{func(o *outcome) { o.Iterations = 5 }, 0, []string{"iterations: 4 and 5"}},
		{func(o *outcome) { o.Iterations = 5 }, 1, nil},
		{func(o *outcome) { o.Iterations = 2 }, 1, []string{"iterations: 4 and 2"}},
		{func(o *outcome) { o.Requests = asked("1", "GET /b", "GET /a") }, 0, []string{`requests: VU "1", number 1: GET /a and GET /b`}},
		{func(o *outcome) { o.Requests = asked("1", "GET /b", "GET /a", "GET /a") }, 1, nil},
		{func(o *outcome) { o.Requests = asked("1", "GET /b") }, 1, []string{`requests: VU "any", number 1: GET /a and GET /b`}},
		{func(o *outcome) { o.Requests = asked("2", "GET /a", "GET /b") }, 0, []string{`requests: VU "1", number 1: GET /a and none`}},
		{func(o *outcome) { o.Requests["1"][1].Body = "x" }, 0, []string{`requests: VU "1", number 2: GET /b and GET /b | x`}},
		{func(o *outcome) { o.Checks["c"] = tally{4, 1} }, 0, []string{`check "c": {3 1} and {4 1}`}},
		{func(o *outcome) { o.Checks["c"] = tally{4, 1} }, 2, nil},
		{func(o *outcome) { o.Checks["c"] = tally{4, 0} }, 2, []string{`check "c"`}},
		{func(o *outcome) { o.Checks["d"] = tally{1, 0} }, 0, []string{`check "d": only in one`}},
		{func(o *outcome) { o.Checks, o.Thresholds = nil, nil }, 0, nil}, // not known
		{func(o *outcome) { o.Thresholds["m count>1"] = false }, 0, []string{`threshold "m count>1": true and false`}},
		{func(o *outcome) { o.Said = "x" }, 0, []string{`summary: "" and "x"`}},
	} {
		other := plain()
		test.change(&other)
		got := differences(plain(), other, test.spread)
		if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestReadDocuments(t *testing.T) {
	var theirs, ours outcome
	export := `{"root_group": {"checks": {"a": {"path": "::a", "passes": 2, "fails": 1}},
		"groups": {"g": {"checks": {"b": {"path": "::g::b", "passes": 0, "fails": 3}}, "groups": {}}}},
		"metrics": {"iterations": {"count": 3, "thresholds": {"count>5": true}}, "checks": {"value": 0.3, "thresholds": {"rate>0": false}}}}`
	if err := theirs.readK6([]byte(export)); err != nil {
		t.Fatal(err)
	}
	if want := map[string]tally{"a": {2, 1}, "g::b": {0, 3}}; theirs.Iterations != 3 || !maps.Equal(theirs.Checks, want) {
		t.Errorf("%+v", theirs)
	}
	if want := map[string]bool{"iterations count>5": false, "checks rate>0": true}; !maps.Equal(theirs.Thresholds, want) { // true in it is: crossed
		t.Errorf("thresholds %v", theirs.Thresholds)
	}
	if err := ours.readContend([]byte(`{"results": [{"completed": 2, "failed": 1, "errored": {"script": 4}}]}`)); err != nil || ours.Iterations != 7 { // 2 + 1 + 4
		t.Errorf("%+v, %v", ours, err)
	}
}

func TestNewScript(t *testing.T) {
	s, err := newScript("x.js", "// about: a thing: and more\n// flags: -e A=b -i 3\n// spread: 2\nimport x from 'y';\n// not: read\n")
	if err != nil || s.About != "a thing: and more" || !slices.Equal(s.Flags, []string{"-e", "A=b", "-i", "3"}) || s.Spread != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, text := range []string{"import x from 'y';\n", "// about: a\n// spred: 2\n", "// about: a\n// spread: two\n"} {
		if _, err := newScript("x.js", text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestScripts(t *testing.T) {
	all, err := scripts("testdata", nil)
	if err != nil || len(all) < 40 {
		t.Errorf("%d scripts, %v", len(all), err)
	}
	if _, err := scripts("testdata", []string{"login", "nobody"}); err == nil {
		t.Error("a script that is not there is taken")
	}
}

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"a.js:3: no such thing\nand more\n": "a.js:3: no such thing",
		`time="x" level=warning msg="w"` + "\n" + `time="x" level=error msg="say \"a\"\n\tat b"`: `say \"a\"`,
	} {
		if got := firstLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
