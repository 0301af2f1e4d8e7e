package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"contend/systems/uplink/table"

	"github.com/goccy/go-yaml"
)

// A document is an OpenAPI description, as far as the tests look at it.
type document map[string]any

func readDescription(t *testing.T) document {
	t.Helper()
	var d document
	if err := yaml.UnmarshalWithOptions([]byte(description), &d, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	return d
}

// at follows keys and references.
func (d document) at(v any, keys ...string) any {
	for {
		m, _ := v.(map[string]any)
		if ref, ok := m["$ref"].(string); ok {
			v = d.at(map[string]any(d), strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
			continue
		}
		if len(keys) == 0 {
			return v
		}
		v, keys = m[keys[0]], keys[1:]
	}
}

func (d document) schema(path, method, status string) any {
	method = strings.ToLower(method)
	return d.at(map[string]any(d), "paths", "/"+path, method, "responses", status, "content", "application/json", "schema")
}

// conforms returns what of a value does not conform to a schema. It knows the words
// that the description uses, and no others.
func (d document) conforms(schema, value any, where string) (wrong []string) {
	s, ok := d.at(schema).(map[string]any)
	if !ok {
		return []string{where + ": no schema"}
	}
	fail := func(format string, args ...any) {
		wrong = append(wrong, where+": "+fmt.Sprintf(format, args...))
	}
	for word, want := range s {
		switch word {
		case "type":
			if !slices.Contains(typesOf(want), typeOf(value)) {
				fail("%v is not of type %v", value, want)
			}
		case "pattern":
			if text, ok := value.(string); ok && !regexp.MustCompile(want.(string)).MatchString(text) {
				fail("%q does not match %s", text, want)
			}
		case "enum":
			if !slices.Contains(want.([]any), value) {
				fail("%v is none of %v", value, want)
			}
		case "const":
			if value != want {
				fail("%v is not %v", value, want)
			}
		case "maxLength":
			if text, ok := value.(string); ok && utf8.RuneCountInString(text) > int(want.(uint64)) {
				fail("longer than %v", want)
			}
		case "minimum":
			if n, ok := value.(float64); ok && n < float64(want.(uint64)) {
				fail("%v is less than %v", n, want)
			}
		case "minProperties":
			if m, ok := value.(map[string]any); ok && len(m) < int(want.(uint64)) {
				fail("fewer than %v keys", want)
			}
		case "items":
			list, _ := value.([]any)
			for i, item := range list {
				wrong = append(wrong, d.conforms(want, item, fmt.Sprintf("%s.%d", where, i))...)
			}
		case "required":
			for _, key := range want.([]any) {
				if _, ok := value.(map[string]any)[key.(string)]; !ok {
					fail("no %s", key)
				}
			}
		case "properties":
			m, _ := value.(map[string]any)
			for key, inner := range want.(map[string]any) {
				if v, ok := m[key]; ok {
					wrong = append(wrong, d.conforms(inner, v, where+"."+key)...)
				}
			}
		case "anyOf":
			if !slices.ContainsFunc(want.([]any), func(s any) bool { return d.conforms(s, value, where) == nil }) {
				fail("conforms to none of %v", want)
			}
		case "description", "default":
		default:
			fail("the test does not know %q", word)
		}
	}
	return wrong
}

func typesOf(want any) []string {
	if list, ok := want.([]any); ok {
		var names []string
		for _, name := range list {
			names = append(names, name.(string))
		}
		return names
	}
	return []string{want.(string)}
}

func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	}
	return "unknown"
}

// Every described path is served, and every served path is described.
func TestDescriptionHasAllRoutes(t *testing.T) {
	d := readDescription(t)
	want := map[string]string{"/openapi.yaml": "get"}
	for _, r := range routes() {
		want["/"+r.path] = strings.ToLower(r.method)
		if _, ok := d.at(map[string]any(d), "paths", "/"+r.path, strings.ToLower(r.method), "responses",
			strconv.Itoa(r.status)).(map[string]any); !ok {
			t.Errorf("%s: success with %d is not described", r.path, r.status)
		}
	}
	got := make(map[string]string)
	for path, item := range d["paths"].(map[string]any) {
		got[path] = strings.Join(slices.Sorted(maps.Keys(item.(map[string]any))), " ")
	}
	if !maps.Equal(got, want) {
		t.Errorf("described are %v, served %v", got, want)
	}
	var servers []string
	for _, s := range d["servers"].([]any) {
		servers = append(servers, s.(map[string]any)["url"].(string))
	}
	if !slices.Equal(servers, []string{"/api/v1", "/api/v1.0"}) {
		t.Errorf("servers %v", servers)
	}
}

func TestDescriptionHasAllCodes(t *testing.T) {
	d := readDescription(t)
	var got []string
	for _, code := range d.at(map[string]any(d), "components", "schemas", "Error", "properties", "detail", "properties",
		"error_code", "enum").([]any) {
		got = append(got, code.(string))
	}
	want := []string{codeUnknown, codeUnauthorized, codeValidation, codeDeviceExists, codeDeviceLimit, codeNoDevice,
		codeGroupExists, codeNoGroup, codeGroupContains}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The numbers of a select go as far as the service reads them.
func TestDescriptionHasMaximum(t *testing.T) {
	d := readDescription(t)
	maxima := map[string]any{}
	for _, p := range d.at(map[string]any(d), "paths", "/devices/select", "get", "parameters").([]any) {
		maxima[d.at(p, "name").(string)] = d.at(p, "schema", "maximum")
	}
	for _, name := range []string{"offset", "limit"} {
		if maxima[name] != uint64(math.MaxInt) {
			t.Errorf("%s: %v", name, maxima[name])
		}
	}
}

// Every reference leads somewhere, and every component is referred to.
func TestDescriptionReferences(t *testing.T) {
	d := readDescription(t)
	used := make(map[string]bool)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				used[ref] = true
				if d.at(v) == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(map[string]any(d))
	for _, kind := range []string{"schemas", "responses"} {
		for name := range d.at(map[string]any(d), "components", kind).(map[string]any) {
			if !used["#/components/"+kind+"/"+name] {
				t.Errorf("nobody refers to %s", name)
			}
		}
	}
}

// The examples of the description work, in their order, and real answers, good and
// bad, have the shape and the status that is described.
func TestAnswersConform(t *testing.T) {
	d := readDescription(t)
	lamps, _ := serve(t, Config{Table: openTable(t, table.Config{DeviceLimit: 1})})
	check := func(call string, a answer) {
		t.Helper()
		method := http.MethodPost
		if strings.HasPrefix(call, "devices/select") {
			call, method = "devices/select", http.MethodGet
		}
		var value any
		if err := json.Unmarshal([]byte(a.body), &value); err != nil {
			t.Errorf("%s: %v", call, err)
		}
		for _, wrong := range d.conforms(d.schema(call, method, strconv.Itoa(a.status)), value, fmt.Sprintf("%s %d", call, a.status)) {
			t.Error(wrong)
		}
	}
	for _, call := range []string{"devices/insert", "devices/update", groups + "create", groups + "update", groups + "add-device",
		groups + "get", groups + "remove-device", groups + "delete", "devices/drop"} {
		content := d.at(map[string]any(d), "paths", "/"+call, "post", "requestBody", "content", "application/json").(map[string]any)
		body, err := json.Marshal(content["example"])
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(body, &value); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range d.conforms(content["schema"], value, call) {
			t.Error(wrong)
		}
		a := lamps.post(call, string(body))
		if a.status >= 300 {
			t.Errorf("the example of %s gave %d %s", call, a.status, a.body)
		}
		check(call, a)
		if call != groups+"delete" && call != "devices/drop" { // which leave nothing to fail on
			check(call, lamps.post(call, string(body)))
		}
		check(call, lamps.post(call, `{}`))
		check(call, lamps.post(call, strings.Repeat(" ", maxList+1)))
		check(call, (&client{t, lamps.url, ""}).post(call, string(body)))
		check("devices/select", lamps.get("devices/select"))
	}
	one := `{"DevEUI":"0000000000000001","DevAddr":"00000001"}`
	check("devices/insert", lamps.post("devices/insert", one))
	check("devices/insert", lamps.post("devices/insert", strings.Replace(one, "01", "02", 1)))
	check("devices/update", lamps.post("devices/update", `{"DevEUI":"0000000000000001","JoinEUI":"0000000000000001","ActiveDevAddr":"00000001"}`))
	check(groups+"update", lamps.post(groups+"update", `{"addr":"00000001","update":{"name":"x"}}`))
	check(groups+"add-device", lamps.post(groups+"add-device", `{"addr":"00000001","dev_eui":"0000000000000001"}`))
	check("devices/select", lamps.get("devices/select?limit=x"))
	check("devices/drop-all", lamps.post("devices/drop-all", ""))
}

// The description needs no token.
func TestDescriptionIsServed(t *testing.T) {
	lamps, _ := serve(t, Config{})
	for _, url := range []string{lamps.url, lamps.url + ".0"} {
		a := (&client{t, url, ""}).get("openapi.yaml")
		if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/yaml" || a.body != description {
			t.Errorf("%s: %d %s, %d bytes", url, a.status, a.header.Get("Content-Type"), len(a.body))
		}
	}
}

// The check of shapes finds what it is there for.
func TestConformsFinds(t *testing.T) {
	d := readDescription(t)
	good := `{"addr":"0f41c7aa","name":"x","created_at":"2025-03-09T21:20:00.000417","devices":["9c1f4a00d2e80b37"]}`
	tests := map[string]string{
		good:                                    "",
		strings.Replace(good, `"x"`, `null`, 1): "name: <nil> is not of type string",
		strings.Replace(good, `000417`, `417`, 1):                         "created_at: ",
		strings.Replace(good, `"devices"`, `"Devices"`, 1):                "no devices",
		strings.Replace(good, `"9c1f4a00d2e80b37"`, `"9c1f"`, 1):          "devices.0: ",
		strings.Replace(good, `["9c1f4a00d2e80b37"]`, `null`, 1):          "devices: <nil> is not of type array",
		strings.Replace(good, `"x"`, `"`+strings.Repeat("x", 256)+`"`, 1): "name: longer than 255",
	}
	for body, want := range tests {
		var value any
		if err := json.Unmarshal([]byte(body), &value); err != nil {
			t.Fatal(err)
		}
		wrong := d.conforms(map[string]any{"$ref": "#/components/schemas/Group"}, value, "group")
		if (want == "") != (len(wrong) == 0) || len(wrong) > 0 && !strings.Contains(wrong[0], want) {
			t.Errorf("%s: got %q, want %q", body, wrong, want)
		}
	}
}
