package ws

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestParsePath(t *testing.T) {
	for text, want := range map[string]path{
		"$.id":              {{"id", -1}},
		"$.a.b":             {{"a", -1}, {"b", -1}},
		"$['a.b'][0].c":     {{"a.b", -1}, {"", 0}, {"c", -1}},
		`$["x"]['']`:        {{"x", -1}, {"", -1}},
		"$[12][2147483647]": {{"", 12}, {"", 2147483647}},
	} {
		got, err := parsePath(text)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: got %v, %v", text, got, err)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: got %v, want %v", text, got, want)
			}
		}
	}
	for _, text := range []string{"", "$", "id", ".id", "$id", "$.", "$..a", "$.*", "$[*]", "$[-1]", "$[", "$[1", "$['a]", "$.a[", "$[2147483648]"} {
		if got, err := parsePath(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestFind(t *testing.T) {
	const doc = ` { "a" : [ 1 , {"b":"x\"}"} , [] , {} ] , "\u0063" : null, "a": 2, "d":{"e":-1.5e3}}`
	for text, want := range map[string]string{
		"$.a[0]": "1", "$.a[1]": `{"b":"x\"}"}`, "$.a[1].b": `"x\"}"`, "$.a[2]": "[]", "$.a[3]": "{}",
		"$.c": "null", "$.d.e": "-1.5e3", "$.a[4]": "", "$.b": "", "$.a.b": "", "$.c.d": "", "$.a[2][0]": "", "$.a[3].x": "", "$[0]": "",
	} {
		p, err := parsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := p.find([]byte(doc)); string(got) != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v; want %q", text, got, ok, want)
		}
	}
}

// oracle finds what p leads to by encoding/json, the first member of a name.
func oracle(p path, doc []byte) (json.RawMessage, bool) {
	for _, s := range p {
		d := json.NewDecoder(bytes.NewReader(doc))
		open, _ := d.Token()
		if s.index >= 0 && open != json.Delim('[') || s.index < 0 && open != json.Delim('{') {
			return nil, false
		}
		found := false
		for i := 0; d.More() && !found; i++ {
			found = i == s.index
			if s.index < 0 {
				name, _ := d.Token()
				found = name == s.name
			}
			var value json.RawMessage
			if d.Decode(&value) != nil {
				return nil, false
			}
			if found {
				doc = value
			}
		}
		if !found {
			return nil, false
		}
	}
	return bytes.TrimSpace(doc), true
}

func FuzzFind(f *testing.F) {
	for _, seed := range []string{`{"id": 1}`, `{"a":[{"id":"7"}], "a":2}`, `[[],{},"\"",-1e5]`, `{"\u0061":[0,{"id":true}]}`, `{`, `[1,`, `{"a" 1}`, `"a`, ``, `}`} {
		f.Add([]byte(seed))
	}
	var paths []path
	for _, text := range []string{"$.id", "$.a", "$[0]", "$.a[1].id", "$[1].a", "$[2]"} {
		p, err := parsePath(text)
		if err != nil {
			f.Fatal(err)
		}
		paths = append(paths, p)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		valid := json.Valid(doc)
		for _, p := range paths {
			got, ok := p.find(doc)
			if !valid {
				continue // anything but a crash
			}
			want, found := oracle(p, doc)
			if ok != found || !bytes.Equal(got, want) {
				t.Errorf("%v in %q: got %q, %v; want %q, %v", p, doc, got, ok, want, found)
			}
			parseID(got)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"$.id", "$['a'][0]", `$["a"]`, "$.", "$[", "$[999999999999]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parsePath(text); err == nil && (len(p) == 0 || !strings.HasPrefix(text, "$")) {
			t.Errorf("%q: got %v", text, p)
		}
	})
}
