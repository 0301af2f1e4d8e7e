package jsonpath

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// lookup is what find must agree with.
func lookup(document []byte, p Path) (any, bool) {
	var value any
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	if !json.Valid(document) || d.Decode(&value) != nil {
		return nil, false
	}
	for _, s := range p {
		switch v := value.(type) {
		case map[string]any:
			member, ok := v[s.name]
			if s.index >= 0 || !ok {
				return nil, false
			}
			value = member
		case []any:
			if s.index < 0 || s.index >= len(v) {
				return nil, false
			}
			value = v[s.index]
		default:
			return nil, false
		}
	}
	return value, true
}

func agree(t interface{ Fatalf(string, ...any) }, document []byte, p Path) {
	want, wantFound := lookup(document, p)
	text, found := p.Find(document)
	if found != wantFound {
		t.Fatalf("%s at %v: found %v, encoding/json says %v", document, p, found, wantFound)
	}
	if !found {
		return
	}
	var got any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&got); err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Fatalf("%s at %v: got %s (%v), want %#v", document, p, text, err, want)
	}
}

// values makes JSON documents with few names, so that some occur twice.
func values(depth int) *rapid.Generator[string] {
	name := rapid.SampledFrom([]string{`"a"`, `"b"`, `"\u0061"`, `"a b"`, `""`})
	space := rapid.SampledFrom([]string{"", " ", "\n\t\r"})
	leaf := rapid.SampledFrom([]string{"1", "-0.5e+3", "0", "true", "false", "null", `"x"`, `"\n\"\u00e9\ud83d\ude00"`, "[]", "{ }"})
	if depth == 0 {
		return leaf
	}
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		if kind == 0 {
			return leaf.Draw(t, "leaf")
		}
		parts := rapid.SliceOfN(values(depth-1), 1, 4).Draw(t, "parts")
		for i := range parts {
			parts[i] = space.Draw(t, "space") + parts[i] + space.Draw(t, "space")
			if kind > 1 {
				parts[i] = name.Draw(t, "name") + space.Draw(t, "space") + ":" + parts[i]
			}
		}
		if kind > 1 {
			return "{" + strings.Join(parts, ", ") + "}"
		}
		return "[" + strings.Join(parts, ",") + "]"
	})
}

func TestFindAgreesWithEncodingJSON(t *testing.T) {
	steps := rapid.SliceOfN(rapid.SampledFrom([]step{{"a", -1}, {"b", -1}, {"a b", -1}, {"", -1}, {"", 0}, {"", 1}}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		agree(t, []byte(values(4).Draw(t, "document")), steps.Draw(t, "path"))
	})
}

func TestFindRefusesWhatIsNoJSON(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, give := range []string{
		"", " ", "{", "[1", "[1,]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, "01", "1.", "1e", "-", ".5", "+1", "tru",
		"truex", `"a`, `"\x"`, `"\u12"`, "\"\n\"", "1 2", "[1 2]", "NaN", "\ufeff1", `{"a":1}}`, deep(10001), "\"\\",
	} {
		if _, found := (Path{}).Find([]byte(give)); found || json.Valid([]byte(give)) {
			t.Errorf("%.20q is taken for JSON", give)
		}
	}
	if _, found := (Path{}).Find([]byte(deep(10000))); !found {
		t.Error("nesting of 10000 is refused")
	}
}

func FuzzFind(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,{"b":"c"}]}`, `{"a":1,"a":{"b":2}}`, `[[],[0]]`, `"\ud800"`, `{"\u0061":-0.0e-1}`, "[1,", `{"a":{"b":1},"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	paths := []Path{nil, {{"a", -1}}, {{"a", -1}, {"b", -1}}, {{"", 0}}, {{"", 1}, {"", 0}}, {{"a", -1}, {"", 1}}}
	f.Fuzz(func(t *testing.T, document []byte) {
		if len(document) > 1<<12 || !utf8.Valid(document) {
			return // encoding/json replaces what is not UTF-8, and the finder leaves it
		}
		for _, p := range paths {
			agree(t, document, p)
		}
	})
}

// BenchmarkFind can be compared with json.Valid, which reads as much and finds nothing.
func BenchmarkFind(b *testing.B) {
	item := `{"sku": "a-1", "name": "a longer text of some words", "price": 12.50, "tags": ["x", "y"], "left": true},`
	document := []byte(`{"items": [` + strings.Repeat(item, 1000) + `{}], "next": null}`)
	b.Run("find", func(b *testing.B) {
		b.SetBytes(int64(len(document)))
		b.ReportAllocs()
		p := Path{{"items", -1}, {"", 999}, {"price", -1}}
		for b.Loop() {
			if _, found := p.Find(document); !found {
				b.Fatal("not found")
			}
		}
	})
	b.Run("valid", func(b *testing.B) {
		b.SetBytes(int64(len(document)))
		for b.Loop() {
			json.Valid(document)
		}
	})
}
