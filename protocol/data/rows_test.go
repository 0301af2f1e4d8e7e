package data_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"contend/internal/testenv"
	"contend/protocol/data"
)

// rendered returns what a text template makes of each row.
func rendered(t *testing.T, rows *data.Rows, text string) []string {
	t.Helper()
	template, err := data.ParseTemplate(data.Text, text, rows)
	testenv.Must(t, err)
	source := &data.Source{Rows: rows}
	cursor, err := source.Cursor(0)
	testenv.Must(t, err)
	var got []string
	for range rows.Len() {
		cursor.Next()
		got = append(got, string(template.AppendTo(nil, cursor)))
	}
	return got
}

func TestParseRows(t *testing.T) {
	for _, tt := range []struct {
		name, file, give string
		names, template  string
		want             []string
	}{
		{"plain", "a.csv", "id,name\n1,Ann\n2,Bob\n", "id name", "{{id}}{{name}}", []string{"1Ann", "2Bob"}},
		{"mark, CRLF, no last line end", "a.csv", "\ufeffid,name\r\n1,Ann\r\n2,Bob", "id name", "{{id}}{{name}}", []string{"1Ann", "2Bob"}},
		{"quotes", "A.CSV", "a,b\n\"x,\"\"y\"\"\nz\",\n", "a b", "{{a}}|{{b}}", []string{"x,\"y\"\nz|"}},
		{"blank lines, spaces in names", "a.csv", "\n first name ,b\n\n1,2\n\n", "first name b", "{{first name}}{{b}}", []string{"12"}},
		{"umlauts", "a.csv", "größe\nü\n", "größe", "{{größe}}", []string{"ü"}},
		{"objects", "a.jsonl", `{"id": 1, "user": {"name": "Ann\n", "tags": ["a", 1]}}` + "\r\n\n" + `{"id":1.50,"user":{"name":null,"tags":[]}}`,
			"id user user.name user.tags", "{{id}} {{user.name}} {{user.tags}}", []string{"1 Ann\n [\"a\", 1]", "1.50 null []"}},
		{"whole objects", "a.ndjson", `{"u": {"id": true}}`, "u u.id", "{{u}} {{u.id}}", []string{`{"id": true} true`}},
		{"names that not all have", "a.jsonl", "{\"a\":1}\n{\"a\":2,\"b\":3}\n{\"a\":4}", "a b", "{{a}}", []string{"1", "2", "4"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows, err := data.ParseRows(tt.file, []byte(tt.give))
			testenv.Must(t, err)
			if got := strings.Join(rows.Names(), " "); got != tt.names {
				t.Errorf("names %q, want %q", got, tt.names)
			}
			if got := rendered(t, rows, tt.template); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// names returns the header line of n columns.
func names(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ",n%d", i)
	}
	return b.String()[1:] + "\n"
}

func TestParseRowsMistakes(t *testing.T) {
	for _, tt := range []struct {
		name, file, give string
		want             []string
	}{
		{"ending", "a.txt", "a\n1", []string{`ending is ".txt"; expected .csv, .jsonl, .ndjson`}},
		{"empty", "a.csv", "", []string{"a.csv has no rows"}},
		{"header only", "a.csv", "a,b\n", []string{"a.csv has no rows"}},
		{"blank", "a.jsonl", "\n \n", []string{"a.jsonl has no rows"}},
		{"ragged", "a.csv", "a,b\n1\n1,2\n1,2,3\n", []string{"a.csv:2: has 1 values but the header names 2", "a.csv:4: has 3 values"}},
		{"names", "a.csv", "a,,a\n1,2,3\n", []string{"a.csv:1: column 2 has no name", `a.csv:1: column 3 has the name "a"`}},
		{"quote", "a.csv", "a\n\"x\ny\n", []string{"a.csv:2: in line 3, column 3: extraneous or missing \" in quoted-field"}},
		{"quote within", "a.csv", "a\nx\"y\nz\n", []string{"a.csv:2: column 2: bare \""}},
		{"encoding", "a.csv", "a\nx\n\xff\n", []string{"a.csv:3: is not UTF-8"}},
		{"syntax", "a.jsonl", "{\"a\":1}\n{\"a\":}\n[1]\nnull\n7 8\n", []string{
			"a.jsonl:2: is not JSON at byte 6", "a.jsonl:3: is not a JSON object", "a.jsonl:4: is not a JSON object", "a.jsonl:5: is not JSON"}},
		{"two of a name", "a.jsonl", `{"a.b":1,"a":{"b":2}}`, []string{`a.jsonl:1: there are two values of the name "a.b"`}},
		{"columns", "a.csv", names(1001), []string{"a.csv:1: names 1001 columns; expected at most 1000"}},
		{"many", "a.jsonl", strings.Repeat("x\n", 1000), []string{"a.jsonl:20: is not JSON", "has more mistakes"}},
		{"values", "a.csv", names(1000) + strings.Repeat(strings.Repeat(",", 999)+"\n", 4<<20/1000+1), []string{"there are more than 4194304 values"}},
		{"length", "a.csv", strings.Repeat("a", 64<<20+1), []string{"is longer than 64 MiB"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := data.ParseRows(tt.file, []byte(tt.give))
			testenv.Says(t, err, tt.want...)
			if err != nil && strings.Count(err.Error(), "\n") > 20 {
				t.Error("more than 21 lines of mistakes")
			}
		})
	}
}

func TestParseRowsOfManyNames(t *testing.T) {
	var b strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&b, "{\"n%d\": 1}\n", i)
	}
	_, err := data.ParseRows("a.jsonl", []byte(b.String()))
	testenv.Says(t, err, "a.jsonl:1001: there are more than 1000 names")
}

func TestReadRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	if _, err := data.ReadRows(path); err == nil || !strings.Contains(err.Error(), `a.csv", which cannot be read: `) {
		t.Errorf("got %v", err)
	}
	testenv.Must(t, os.WriteFile(path, []byte("a\n1\n"), 0o600))
	rows, err := data.ReadRows(path)
	if err != nil || rows.Len() != 1 {
		t.Errorf("got %d rows, %v", rows.Len(), err)
	}
}

// What encoding/csv and encoding/json write is read back.
func TestRowsRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfN(rapid.StringMatching(`[a-z," ü\n\\]{0,8}`), 1, 20).Draw(rt, "values")
		var asCSV, asJSON bytes.Buffer
		w := csv.NewWriter(&asCSV)
		lines := json.NewEncoder(&asJSON)
		check := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		check(w.Write([]string{"other", "value"}))
		for _, value := range want {
			check(w.Write([]string{"x", value}))
			check(lines.Encode(map[string]any{"in": map[string]string{"value": value}}))
		}
		w.Flush()
		fromCSV, err := data.ParseRows("a.csv", asCSV.Bytes())
		check(err)
		fromJSON, err := data.ParseRows("a.jsonl", asJSON.Bytes())
		check(err)
		if got := rendered(t, fromCSV, "{{value}}"); !slices.Equal(got, want) {
			rt.Errorf("CSV: got %q, want %q", got, want)
		}
		if got := rendered(t, fromJSON, "{{in.value}}"); !slices.Equal(got, want) {
			rt.Errorf("JSONL: got %q, want %q", got, want)
		}
	})
}

func FuzzParseRows(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "\ufeffa\r\n\"x\"\"\"\r\n", "{\"a\":{\"b\":[1]}}\n{\"a\":null}", "{}", "a\n\"", "{\"a\":\"\\ud800\"}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 1<<12 {
			return
		}
		for _, name := range []string{"a.csv", "a.jsonl"} {
			rows, err := data.ParseRows(name, content)
			if (err == nil) != (rows.Len() > 0) {
				t.Fatalf("%s: %d rows, %v", name, rows.Len(), err)
			}
			if err != nil {
				continue
			}
			for _, column := range rows.Names() {
				template, err := data.ParseTemplate(data.Text, "{{"+column+"}}", rows)
				if err != nil {
					continue // absent in a row, or a name with braces
				}
				cursor, err := (&data.Source{Rows: rows}).Cursor(0)
				testenv.Must(t, err)
				cursor.Next()
				template.AppendTo(nil, cursor)
			}
		}
	})
}
