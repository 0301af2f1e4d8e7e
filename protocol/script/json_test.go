package script

import (
	"fmt"
	"strings"
	"testing"

	"github.com/grafana/sobek"
)

// parser makes what texts are compared by: as JSON.parse has them, and as valueOf does.
func parser() (compare func(text string) error) {
	v := &vu{rt: sobek.New()}
	_ = v.rt.Set("ours", v.valueOf)
	show, _ := sobek.AssertFunction(must(v.rt.RunString(`(text) => {
		const show = (v) => typeof v === 'object' && v !== null
			? (Array.isArray(v) ? '[' + v.map(show) + ']' : '{' + Object.keys(v).map((k) => JSON.stringify(k) + ':' + show(Object.getOwnPropertyDescriptor(v, k).value)) + '}')
			: Object.is(v, -0) ? '-0' : typeof v === 'string' ? JSON.stringify(v) : String(v);
		let want;
		try { want = show(JSON.parse(text)) } catch (e) { want = 'no JSON' }
		const got = ours(text);
		if (got === undefined || got === null && want !== 'null' || show(got) === want) return '';
		return want === 'no JSON' && show(got).includes('Infinity') ? '' : show(got) + ' and ' + want; // 1e400, which ECMAScript takes
	}`)))
	return func(text string) error {
		differ, err := show(sobek.Undefined(), v.rt.ToValue(text))
		if err == nil && differ.String() != "" {
			err = fmt.Errorf("%.100q is %v", text, differ)
		}
		return err
	}
}

func must(value sobek.Value, err error) sobek.Value {
	if err != nil {
		panic(err)
	}
	return value
}

var jsonTexts = []string{"", "null", "true", " [1, -0, 0.5, 1e400, 9007199254740993, -1E-7] ", `{"a": {"b": [{}, [], ""]}, "a": 2, "10": 1, "2": 0, "__proto__": {"x": 1}, "": 3}`,
	`"gr` + "\u00fc" + `n \n \" \/"`, `"\ud800"`, `{"a" 1}`, "[1,]", "nul", "01", "\xff", `"` + "\xff" + `"`, `"` + "\x01" + `"`, strings.Repeat("[", 100) + strings.Repeat("]", 100),
	strings.Repeat(`{"a":`, 501) + "1" + strings.Repeat("}", 501), "1 2", "\u00a01", "-", "[1}"}

func TestValueOf(t *testing.T) {
	compare := parser()
	for _, text := range jsonTexts {
		if err := compare(text); err != nil {
			t.Error(err)
		}
	}
	v := &vu{rt: sobek.New()}
	for text, made := range map[string]bool{`{"a": [1, "x"]}`: true, `"\u0041"`: false, "{": false, strings.Repeat("[", 600) + strings.Repeat("]", 600): false, strings.Repeat("[", 1e6): false} {
		if got := v.valueOf(text); (got != nil) != made {
			t.Errorf("%.40q: %v", text, got)
		}
	}
}

// Text that is nested too deep is refused before anything recurses into it; brackets within strings do not count.
func TestNested(t *testing.T) {
	v := &vu{rt: sobek.New()}
	v.functions.parse, _ = sobek.AssertFunction(v.rt.Get("JSON").ToObject(v.rt).Get("parse"))
	within := `"` + strings.Repeat(`[\"{`, mostNested) + `"`
	for text, want := range map[string]bool{strings.Repeat("[", 2*mostNested): false, strings.Repeat(`{"a":`, 2*mostNested): false, within: true, "[" + within + "]": true} {
		if _, err := v.parse(text); (err == nil) != want {
			t.Errorf("%.20s…: %v", text, err)
		}
	}
}

func FuzzValueOf(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add(text)
	}
	compare := parser()
	f.Fuzz(func(t *testing.T, text string) {
		if err := compare(text); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkValueOf(b *testing.B) {
	const text = `{"items":[{"id":11,"name":"one"},{"id":12,"name":"two"},{"id":13,"name":"three"}]}`
	v := &vu{rt: sobek.New()}
	parse, _ := sobek.AssertFunction(v.rt.Get("JSON").ToObject(v.rt).Get("parse"))
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			v.valueOf(text)
		}
	})
	b.Run("JSON.parse", func(b *testing.B) {
		for b.Loop() {
			must(parse(sobek.Undefined(), v.rt.ToValue(text)))
		}
	})
}
