package jsonpath

import (
	"reflect"
	"strings"
	"testing"

	"contend/internal/testenv"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Path{
		"$":                 nil,
		"$.id":              {{"id", -1}},
		"$.a.b":             {{"a", -1}, {"b", -1}},
		"$['a.b'][0].c":     {{"a.b", -1}, {"", 0}, {"c", -1}},
		`$["x"]['']["\""]`:  {{"x", -1}, {"", -1}, {`"`, -1}},
		"$[12][2147483647]": {{"", 12}, {"", 2147483647}},
	} {
		if got, err := Parse(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":              "position 1: a JSON path begins with $",
		"id":            "position 1: a JSON path begins with $",
		"$id":           `position 2: "i" cannot follow here`,
		"$.":            "position 3: there is no name after the point",
		"$..a":          "position 3: there is no name after the point",
		"$.*":           "position 3: there is no name after the point",
		"$.a*":          `position 4: "*" cannot follow here`,
		"$[":            "position 3: there is no index",
		"$[*]":          "position 3: there is no index",
		"$[-1]":         "position 3: there is no index",
		"$[2147483648]": "position 3: there is no index",
		"$[1":           "position 4: a closing ] is missing",
		"$['a]":         "position 3: the string has no closing quote",
		"$.a[":          "position 5: there is no index",
		"$.a b":         `position 4: " b" is too much`,
		"$.a==1":        `position 4: "==1" is too much`,
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"$.a == 1": " == 1", "$.a==1": "==1", "$<1": "<1", "$['a b']!=1": "!=1", "$.a": ""} {
		if p, rest, err := Cut(text); err != nil || rest != want {
			t.Errorf("%q: got %v, %q, %v, want the rest %q", text, p, rest, err, want)
		}
	}
}

func TestFind(t *testing.T) {
	const doc = ` { "a":0, "a" : [ 1 , {"b":"x\"}"} , [] , {} ] , "\u0063" : null, "d":{"e":-1.5e3}, "d":{}}`
	for text, want := range map[string]string{
		"$.a[0]": "1", "$.a[1]": `{"b":"x\"}"}`, "$.a[1].b": `"x\"}"`, "$.a[2]": "[]", "$.a[3]": "{}", "$.c": "null",
		"$.d": "{}", "$.d.e": "", // the last of equal names counts, even if it lacks the rest of the path
		"$.a[4]": "", "$.b": "", "$.a.b": "", "$.c.d": "", "$.a[2][0]": "", "$.a[3].x": "", "$[0]": "",
	} {
		p, err := Parse(text)
		testenv.Must(t, err)
		if got, ok := p.Find([]byte(doc)); string(got) != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", text, got, ok, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"$.id", "$['a'][0]", `$["a\n"]`, "$.", "$[", "$[999999999999]", "$.a == 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, rest, err := Cut(text)
		if err != nil {
			if wrong := err.(*SyntaxError); wrong.Offset < 0 || wrong.Offset > len(text) {
				t.Errorf("%q: a mistake at %d", text, wrong.Offset)
			}
			return
		}
		whole := strings.TrimSuffix(text, rest)
		again, err := Parse(whole)
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%q: got %v and by itself %v, %v", text, p, again, err)
		}
	})
}
