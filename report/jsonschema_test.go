package report_test

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"contend/hist"
	"contend/internal/testenv"
	"contend/load"
	"contend/report"
	"contend/trial"
)

const publishedSchema = "../docs/report-schema.json"

// object is one of JSON.
type object = map[string]any

// A schemaMaker makes the JSON Schema of types, with those of structs as definitions.
type schemaMaker struct {
	meanings    map[string]string // of keys that have one meaning only
	definitions object
	closed      bool // no other keys are allowed
}

func (m *schemaMaker) document() object {
	m.definitions = object{}
	root := m.of(reflect.TypeFor[report.Document]())
	m.property("report.Document", "schema")["const"] = report.Schema
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "The document of contend: docs/report-schema.md"
	root["$defs"] = m.definitions
	return root
}

func (m *schemaMaker) property(definition, key string) object {
	return m.definitions[definition].(object)["properties"].(object)[key].(object)
}

// of returns the schema of a type as encoding/json writes it.
func (m *schemaMaker) of(typ reflect.Type) object {
	switch {
	case typ.Kind() == reflect.Pointer:
		return m.of(typ.Elem())
	case typ == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case typ == reflect.TypeFor[hist.Histogram]():
		return m.define("hist.Histogram", func() object {
			return m.like(spread(3, 1, hist.Highest+1), "count")
		})
	case typ == reflect.TypeFor[hist.Sketch]():
		return m.define("hist.Sketch", func() object {
			number := object{"type": "number"}
			return object{"type": "object", "required": []string{"count", "sum", "min", "max"}, "properties": object{
				"count": object{"type": "integer"}, "sum": number, "min": number, "max": number,
				"exact":   object{"type": "array", "items": object{"type": "array", "items": number}},
				"buckets": object{"type": "string"},
			}}
		})
	case typ == reflect.TypeFor[trial.Blocks]():
		return object{"type": "array", "items": m.define("trial.Block", m.block)}
	case reflect.PointerTo(typ).Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	case typ.Kind() == reflect.Struct:
		return m.define(path.Base(typ.PkgPath())+"."+typ.Name(), func() object {
			s := object{"type": "object", "properties": object{}, "required": []string{}}
			m.fields(s, typ)
			return s
		})
	case typ.Kind() == reflect.Slice:
		return object{"type": "array", "items": m.of(typ.Elem())}
	case typ.Kind() == reflect.Map:
		return object{"type": "object", "additionalProperties": m.of(typ.Elem())}
	}
	return object{"type": nameOf(typ.Kind())}
}

func nameOf(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Float64:
		return "number"
	}
	if kind >= reflect.Int && kind <= reflect.Uint64 {
		return "integer"
	}
	panic("no schema of " + kind.String())
}

// define makes a definition once and refers to it.
func (m *schemaMaker) define(name string, schema func() object) object {
	if _, known := m.definitions[name]; !known {
		m.definitions[name] = object{} // it may refer to itself
		s := schema()
		if m.closed {
			s["additionalProperties"] = false
		}
		m.definitions[name] = s
	}
	return object{"$ref": "#/$defs/" + name}
}

// fields adds those of a struct, its own before those of embedded ones, which they hide.
func (m *schemaMaker) fields(s object, typ reflect.Type) {
	properties := s["properties"].(object)
	for _, embedded := range []bool{false, true} {
		for i := range typ.NumField() {
			field := typ.Field(i)
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch inline := field.Anonymous && name == ""; {
			case inline != embedded || name == "-" || !field.IsExported() && !field.Anonymous:
			case inline && field.Type.Kind() == reflect.Pointer:
				m.fields(s, field.Type.Elem())
			case inline:
				m.fields(s, field.Type)
			case properties[name] == nil:
				properties[name] = m.described(name, m.of(field.Type))
				if options == "" && field.Type.Kind() == reflect.Slice && field.Type != reflect.TypeFor[trial.Blocks]() {
					properties[name].(object)["type"] = []string{"array", "null"} // without entries
				}
				if options == "" {
					s["required"] = append(s["required"].([]string), name)
				}
			}
		}
	}
}

func (m *schemaMaker) described(key string, s object) object {
	if text := m.meanings[key]; text != "" {
		s["description"] = text
	}
	return s
}

// block is the row of one, which package trial alone knows.
func (m *schemaMaker) block() object {
	cell := trial.Cell{Result: closedResult("", 1, 1)}
	cell.Server = &load.Usage{CPUSec: 1}
	row := m.like(trial.Blocks{cell}, "arm", "concurrency", "round", "pair", "order", "stretch", "duration_ns",
		"completed", "failed", "errored", "ops", "throughput_per_s", "generator_cpu_s")
	row["properties"].(object)["counted"] = m.of(reflect.TypeFor[load.Counted]())
	return row
}

// like is the schema of an example whose values are numbers and texts.
func (m *schemaMaker) like(example any, required ...string) object {
	data, err := json.Marshal(example)
	if err != nil {
		panic(err)
	}
	var values map[string]any
	if err := json.Unmarshal(bytes.Trim(data, "[]"), &values); err != nil {
		panic(err)
	}
	properties := object{}
	for key, value := range values {
		kind := "number"
		if _, isText := value.(string); isText {
			kind = "string"
		}
		properties[key] = m.described(key, object{"type": kind})
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// meanings are the words of docs/report-schema.md for keys that occur there once.
func meanings(t *testing.T) map[string]string {
	t.Helper()
	page := testenv.Read(t, "../docs/report-schema.md")
	words, times := map[string]string{}, map[string]int{}
	plain := strings.NewReplacer("`", "")
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\| (.+) \\|$").FindAllStringSubmatch(string(page), -1) {
		text := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(row[2], "$1")
		for _, key := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(row[1], -1) {
			words[key[1]] = plain.Replace(text)
			times[key[1]]++
		}
	}
	maps.DeleteFunc(words, func(key, _ string) bool { return times[key] > 1 })
	return words
}

func compiled(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := cmp.Or(err, c.AddResource("document.json", parsed)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("document.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// docs/report-schema.json is what the types and docs/report-schema.md say (-update writes it), and
// every document keeps to it; none has a key that it does not name.
func TestJSONSchema(t *testing.T) {
	generated := func(closed bool) []byte {
		m := &schemaMaker{meanings: meanings(t), closed: closed}
		data, err := json.MarshalIndent(m.document(), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return append(data, '\n')
	}
	open := generated(false)
	if *testenv.Update {
		testenv.Write(t, publishedSchema, open)
	}
	if stored, err := os.ReadFile(publishedSchema); err != nil || !bytes.Equal(stored, open) {
		t.Errorf("%s is not what the types say: go test ./report -run JSONSchema -update rewrites it (%v)", publishedSchema, err)
	}
	schema := compiled(t, generated(true))
	documents := maps.Clone(allDocuments())
	maps.Copy(documents, smallDocuments())
	for name, d := range documents {
		stored, _ := written(t, d)
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(stored))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(parsed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Anything other than a document is refused.
func TestJSONSchemaRefuses(t *testing.T) {
	published := testenv.Read(t, publishedSchema)
	schema := compiled(t, published)
	stored := smallStored()["compared"]
	for _, change := range [][2]string{
		{"", ""}, {`"contend/2"`, `"contend/1"`}, {`"verdict":`, `"verdict_":`}, {`"hdr": "`, `"hdr": 0, "x": "`},
		{`"concurrency": 10`, `"concurrency": 1.5`}, {`"started": "2024`, `"started": "today`},
	} {
		text := string(stored)
		if change[0] != "" {
			text = strings.ReplaceAll(text, change[0], change[1])
		}
		parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(parsed); (err == nil) != (change[0] == "") {
			t.Errorf("%q: %v", change, err)
		}
	}
}
