package data_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"contend/internal/testenv"
	"contend/protocol/data"
)

func table(tb testing.TB) *data.Rows {
	tb.Helper()
	rows, err := data.ParseRows("rows.csv", []byte("id,name,path,vu,json,line break\n"+
		"7,\"A \"\"B\"\"/ü&=\\\",/a/b?c=1,column,\"[1, \"\"x\"\"]\",\"x\r\ny\"\n"))
	testenv.Must(tb, err)
	return rows
}

func begun(tb testing.TB, rows *data.Rows) *data.Cursor {
	tb.Helper()
	cursor, err := (&data.Source{Rows: rows}).Cursor(3)
	testenv.Must(tb, err)
	cursor.Next()
	return cursor
}

func TestAppendTo(t *testing.T) {
	rows := table(t)
	for _, tt := range []struct {
		place      data.Place
		give, want string
	}{
		{data.Text, "", ""},
		{data.Text, "plain } text }}", "plain } text }}"},
		{data.Text, "{{id}}-{{ id }}-{{name}}", `7-7-A "B"/ü&=\`},
		{data.Text, "{{iteration}} {{row}} {{random 5 5}} {{random -3 -3}}", "0 1 5 -3"},
		{data.Text, "{{vu}}", "column"}, // a column goes before what is built in
		{data.Text, `{{"{{"}}id{{ "}}\n" }}`, "{{id}}\n"},
		{data.URL, "/u/{{name}}?q={{name}}", `/u/A%20%22B%22%2F%C3%BC%26%3D%5C?q=A%20%22B%22%2F%C3%BC%26%3D%5C`},
		{data.URL, "{{raw path}}&id={{id}}", "/a/b?c=1&id=7"},
		{data.URL, "/x{{path}}", "/x%2Fa%2Fb%3Fc%3D1"},
		{data.URL, "/a%2fb|ü c{{id}}|?d|ü e{{id}}|", "/a%2fb%7C%C3%BC%20c7%7C?d|%C3%BC%20e7|"},
		{data.Form, "a={{name}}&b={{line break}}", `a=A%20%22B%22%2F%C3%BC%26%3D%5C&b=x%0Ay`},
		{data.Header, "Bearer {{name}}", `Bearer A "B"/ü&=\`},
		{data.JSON, `{"id":{{id}},"name":"{{name}}"}`, `{"id":7,"name":"A \"B\"/ü&=\\"}`},
		{data.JSON, `{"a":"x\"{{json}}","b":{{json}}}`, `{"a":"x\"[1, \"x\"]","b":[1, "x"]}`},
		{data.JSON, `{"u":{"id":{{id}}}}`, `{"u":{"id":7}}`},
		{data.JSON, `"{{line break}}"`, `"x\u000ay"`}, // CSV reads CRLF within quotes as LF
		{data.JSON, `{{raw name}}`, `A "B"/ü&=\`},
	} {
		template, err := data.ParseTemplate(tt.place, tt.give, rows)
		if err != nil {
			t.Errorf("%s: %v", tt.give, err)
			continue
		}
		if got := string(template.AppendTo([]byte("> "), begun(t, rows))); got != "> "+tt.want {
			t.Errorf("%s: got %s, want %s", tt.give, got, tt.want)
		}
	}
}

func TestBuiltIns(t *testing.T) {
	template, err := data.ParseTemplate(data.Text, "{{vu}} {{iteration}} {{uuid}} {{uuid}} {{random 1 3}}", nil)
	testenv.Must(t, err)
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	cursor, err := (&data.Source{}).Cursor(3)
	testenv.Must(t, err)
	seen := map[string]bool{}
	for i := range 100 {
		cursor.Next()
		got := strings.Fields(string(template.AppendTo(nil, cursor)))
		if got[0] != "3" || got[1] != strconv.Itoa(i) || !form.MatchString(got[2]) || !form.MatchString(got[3]) {
			t.Fatalf("iteration %d: got %s", i, got)
		}
		seen[got[2]], seen[got[3]], seen[got[4]] = true, true, true
	}
	// 200 UUIDs and the numbers 1, 2, 3: (2/3)^100 is the chance to miss one.
	if len(seen) != 203 || !seen["1"] || !seen["2"] || !seen["3"] {
		t.Errorf("%d different values", len(seen))
	}
}

func TestLiteral(t *testing.T) {
	for give, want := range map[string]bool{"": true, "/a": true, `/a{{"b"}}c`: true, "/{{vu}}": false, "{{vu}}": false} {
		template, err := data.ParseTemplate(data.Text, give, nil)
		testenv.Must(t, err)
		text, ok := template.Literal()
		if ok != want || ok && text != strings.NewReplacer(`{{"`, "", `"}}`, "").Replace(give) {
			t.Errorf("%s: got %q, %v", give, text, ok)
		}
	}
}

func TestTemplateMistakes(t *testing.T) {
	rows := table(t)
	absent, err := data.ParseRows("a.jsonl", []byte("{\"a\":1,\"b\":1}\n\n{\"a\":1}\n"))
	testenv.Must(t, err)
	for _, tt := range []struct {
		place data.Place
		rows  *data.Rows
		give  string
		want  []string
	}{
		{data.Text, rows, "{{nmae}}{{uid}}", []string{
			`text: {{nmae}}: "nmae" is not known; `, `"uid" is not known; did you mean`,
			`(columns are id, name, path, vu, json, line break; built in are vu, iteration, row, uuid, random FROM TO and "text")`}},
		{data.Text, rows, "{{naem}} {{names}}", []string{"did you mean name?"}},
		{data.Text, nil, "{{id}}", []string{"there are no rows; built in are"}},
		{data.Text, nil, "{{row}}", []string{"{{row}}: there are no rows"}},
		{data.Text, nil, "{{}}", []string{`"" is not known`}},
		{data.Text, nil, "{{vu 1}}", []string{`"vu 1" is not known`}},
		{data.Text, rows, "{{raw pth}}", []string{"did you mean path?"}},
		{data.Text, rows, "a {{id b", []string{`{{id b has no closing }}`}},
		{data.Text, rows, "{{random 1}}", []string{"write {{random FROM TO}} with two whole numbers"}},
		{data.Text, rows, "{{random 2 1}}", []string{"FROM not above TO"}},
		{data.Text, rows, "{{random -9223372036854775808 9223372036854775807}}", []string{"less than 2^63-1 below"}},
		{data.Text, absent, "{{b}}", []string{"{{b}}: a.jsonl has no b in row 2 (line 3)"}},
		{data.URL, rows, "/a b#c", []string{`URL: "/a b#c" holds a # or a control character`}},
		{data.URL, rows, "{{id}}/x", []string{"{{id}} stands where the path begins"}},
		{data.URL, rows, "{{uuid}}", []string{"{{uuid}} stands where the path begins"}},
		{data.URL, rows, "{{raw id}}", []string{"column id, row 1 (line 2): does not begin with a slash"}},
		{data.URL, rows, "/{{raw name}}", []string{"rows.csv, column name, row 1 (line 2): holds a space"}},
		{data.Header, rows, "a\r\nb", []string{"header: ", "holds a line break"}},
		{data.Header, rows, "x {{line break}}", []string{"column line break, row 1 (line 2): holds a line break"}},
		{data.Header, rows, "x {{raw line break}}", []string{"column line break, row 1 (line 2): holds a line break"}},
		{data.JSON, rows, `{"a":{{name}}}`, []string{"JSON body: {{name}}: rows.csv, column name, row 1 (line 2): is ", "which is not JSON: put the placeholder in quotes"}},
		{data.JSON, rows, `{"a":{{uuid}}}`, []string{"put it in quotes"}},
	} {
		_, err := data.ParseTemplate(tt.place, tt.give, tt.rows)
		testenv.Says(t, err, tt.want...)
	}
}

func TestBodyPlace(t *testing.T) {
	for _, tt := range []struct {
		contentType, body string
		want              data.Place
	}{
		{"application/json; charset=utf-8", "x", data.JSON},
		{"application/problem+JSON", "x", data.JSON},
		{"application/x-ndjson", "x", data.JSON},
		{"application/x-www-form-urlencoded", "[", data.Form},
		{"text/plain", "{}", data.Text},
		{"", " {}", data.JSON},
		{"", "[]", data.JSON},
		{"", "{{id}}", data.Text},
		{"", "", data.Text},
	} {
		if got := data.BodyPlace(tt.contentType, tt.body); got != tt.want {
			t.Errorf("%s, %s: got %v, want %v", tt.contentType, tt.body, got, tt.want)
		}
	}
}

// Whatever the values, a template renders as replacing would, and what is
// escaped is read back by net/url and encoding/json.
func TestTemplateEqualsReplacing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := rapid.String().Draw(rt, "a"), rapid.String().Draw(rt, "b")
		line, err := json.Marshal(map[string]string{"a": a, "b": b})
		if err != nil {
			rt.Fatal(err)
		}
		rows, err := data.ParseRows("a.jsonl", line)
		if err != nil {
			rt.Fatal(err)
		}
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{"{{a}}", "{{b}}", "{", "}", "x", " ", "ü"})).Draw(rt, "pieces")
		text := strings.Join(pieces, "|") // no braces arise between pieces
		want := strings.NewReplacer("{{a}}", a, "{{b}}", b).Replace(text)
		if got := rendered(t, rows, text); !slices.Equal(got, []string{want}) {
			rt.Errorf("%q: got %q, want %q", text, got, want)
		}
		sent := func(place data.Place, text string) string {
			template, err := data.ParseTemplate(place, text, rows)
			if err != nil {
				rt.Fatal(err)
			}
			return string(template.AppendTo(nil, begun(t, rows)))
		}
		u, err := url.ParseRequestURI(sent(data.URL, "/x/{{a}}?v={{b}}&w={{a}}"))
		if err != nil || u.Path != "/x/"+a || u.Query().Get("v") != b || u.Query().Get("w") != a {
			rt.Errorf("URL of %q, %q: %v, %v", a, b, u, err)
		}
		form, err := url.ParseQuery(sent(data.Form, "v={{a}}&w={{b}}"))
		if err != nil || form.Get("v") != a || form.Get("w") != b {
			rt.Errorf("form of %q, %q: %v, %v", a, b, form, err)
		}
		var got [2]string
		if err := json.Unmarshal([]byte(sent(data.JSON, `["{{a}}", "{{b}}"]`)), &got); err != nil || got != [2]string{a, b} {
			rt.Errorf("JSON of %q, %q: %q, %v", a, b, got, err)
		}
	})
}

func TestAppendToDoesNotAllocate(t *testing.T) {
	template, err := data.ParseTemplate(data.JSON, `{"n":{{n}},"id":"{{uuid}}","vu":{{vu}},"i":{{iteration}},"r":{{random 1 100}},"row":{{row}}}`, numbered(t, 10))
	testenv.Must(t, err)
	for _, order := range []data.Order{data.Sequential, data.PerVU, data.Random} {
		cursor, err := (&data.Source{Rows: numbered(t, 10), Order: order, VUs: 1}).Cursor(0)
		testenv.Must(t, err)
		buffer := make([]byte, 0, 256)
		n := testing.AllocsPerRun(100, func() {
			cursor.Next()
			buffer = template.AppendTo(buffer[:0], cursor)
		})
		if n != 0 {
			t.Errorf("%v: %v allocations", order, n)
		}
	}
}

func FuzzParseTemplate(f *testing.F) {
	for _, seed := range []string{"{{id}}", "/{{raw path}}", `{"a":"{{name}}"}`, `{{"{{"}}`, "{{random 1 2}}{{uuid}}", "{{{{}}", "{{\"", "{{raw"} {
		f.Add(seed)
	}
	rows := table(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		for _, place := range []data.Place{data.Text, data.URL, data.Header, data.JSON, data.Form} {
			template, err := data.ParseTemplate(place, text, rows)
			if err != nil {
				continue
			}
			got := string(template.AppendTo(nil, begun(t, rows)))
			if place == data.Header && strings.ContainsAny(got, "\r\n\x00") {
				t.Errorf("%q: header %q", text, got)
			}
			if place == data.URL && strings.ContainsAny(got, "\r\n #") {
				t.Errorf("%q: URL %q", text, got)
			}
		}
	})
}

func BenchmarkAppendTo(b *testing.B) {
	rows := table(b)
	for name, text := range map[string]string{
		"column": `{"id":{{id}},"name":"{{name}}"}`, "uuid": `"{{uuid}}"`, "random": "{{random 1 100}}",
	} {
		b.Run(name, func(b *testing.B) {
			template, err := data.ParseTemplate(data.JSON, text, rows)
			testenv.Must(b, err)
			cursor := begun(b, rows)
			var buffer []byte
			b.ReportAllocs()
			for b.Loop() {
				buffer = template.AppendTo(buffer[:0], cursor)
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	rows := numbered(b, 1000)
	for _, order := range []data.Order{data.Sequential, data.PerVU, data.Random} {
		b.Run(order.String(), func(b *testing.B) {
			cursor, err := (&data.Source{Rows: rows, Order: order, VUs: 2}).Cursor(0)
			testenv.Must(b, err)
			b.ReportAllocs()
			for b.Loop() {
				cursor.Next()
			}
		})
	}
}

// What would be filled is distinguished from braces that mean something else.
func TestPlaceholder(t *testing.T) {
	for text, want := range map[string]string{
		`{"id": "{{id}}"}`: "{{id}}", "{{ raw user.name }}": "{{ raw user.name }}", "a{{random 1 100}}b{{uuid}}": "{{random 1 100}}",
		"": "", "{a}": "", "{{}}": "", `{"a": {"b": {}}}`: "", "{{#each x}}": "", "}}id{{": "",
	} {
		if got := data.Placeholder(text); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
}
