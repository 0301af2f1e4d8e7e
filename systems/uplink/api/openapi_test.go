package api

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"contend/systems/uplink/table"
)

// readDescription also follows every reference.
func readDescription(t *testing.T) *openapi3.T {
	t.Helper()
	d, err := openapi3.NewLoader().LoadFromData([]byte(description))
	if err == nil {
		err = d.Validate(t.Context(), openapi3.EnableExamplesValidation())
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every described path is served, and every served path is described.
func TestDescriptionHasAllRoutes(t *testing.T) {
	d := readDescription(t)
	want := map[string]string{"/openapi.yaml": "GET"}
	for _, r := range routes() {
		want["/"+r.path] = r.method
		if item := d.Paths.Value("/" + r.path); item == nil || item.GetOperation(r.method).Responses.Status(r.status) == nil {
			t.Errorf("%s: success with %d is not described", r.path, r.status)
		}
	}
	got := make(map[string]string)
	for path, item := range d.Paths.Map() {
		got[path] = strings.Join(slices.Sorted(maps.Keys(item.Operations())), " ")
	}
	if !maps.Equal(got, want) {
		t.Errorf("described are %v, served %v", got, want)
	}
	var servers []string
	for _, s := range d.Servers {
		servers = append(servers, s.URL)
	}
	if !slices.Equal(servers, []string{"/api/v1", "/api/v1.0"}) {
		t.Errorf("servers %v", servers)
	}
}

func TestDescriptionHasAllCodes(t *testing.T) {
	got := readDescription(t).Components.Schemas["Error"].Value.Properties["detail"].Value.Properties["error_code"].Value.Enum
	want := []any{codeUnknown, codeUnauthorized, codeValidation, codeDeviceExists, codeDeviceLimit, codeNoDevice,
		codeGroupExists, codeNoGroup, codeGroupContains}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The numbers of a select, offset and limit, go as far as the service reads them.
func TestDescriptionHasMaximum(t *testing.T) {
	if n := strings.Count(description, "maximum: "+strconv.Itoa(math.MaxInt)); n != 2 {
		t.Errorf("it is there %d times", n)
	}
}

// Every component is referred to.
func TestDescriptionReferences(t *testing.T) {
	d := readDescription(t)
	for kind, names := range map[string][]string{
		"schemas": slices.Collect(maps.Keys(d.Components.Schemas)), "responses": slices.Collect(maps.Keys(d.Components.Responses)),
	} {
		for _, name := range names {
			if !strings.Contains(description, `"#/components/`+kind+"/"+name+`"`) {
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
		described := d.Paths.Value("/" + call).GetOperation(method).Responses.Status(a.status)
		if described == nil {
			t.Fatalf("%s: %d is not described", call, a.status)
		}
		var value any
		err := json.Unmarshal([]byte(a.body), &value)
		if err == nil {
			err = described.Value.Content["application/json"].Schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020())
		}
		if err != nil {
			t.Errorf("%s %d %s: %v", call, a.status, a.body, err)
		}
	}
	for _, call := range []string{"devices/insert", "devices/update", groups + "create", groups + "update", groups + "add-device",
		groups + "get", groups + "remove-device", groups + "delete", "devices/drop"} {
		body, err := json.Marshal(d.Paths.Value("/" + call).Post.RequestBody.Value.Content["application/json"].Example)
		if err != nil {
			t.Fatal(err)
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
