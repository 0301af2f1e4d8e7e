package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Every mistake of a body is named, with its place.
func TestInvalidBodies(t *testing.T) {
	lamps, _ := serve(t, Config{})
	deep := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	const eui, addr = `"DevEUI":"0000000000000001"`, `"addr":"00000001"`
	tests := []struct {
		name, call, body string
		want             []string
	}{
		{"empty", "devices/insert", ``, []string{"body: not JSON: unexpected end of JSON input"}},
		{"no JSON", "devices/insert", `DevEUI=1`, []string{"body: not JSON: invalid character 'D' looking for beginning of value"}},
		{"cut off", "devices/insert", `{"DevEUI":"00000`, []string{"body: not JSON: unexpected end of JSON input"}},
		{"more behind it", "devices/insert", `{} {}`, []string{"body: not JSON: invalid character '{' after top-level value"}},
		{"deep", "devices/insert", `{"DevEUI":` + deep + `}`, []string{"body: not JSON: invalid character '[' exceeded max depth"}},
		{"not UTF-8", "devices/insert", "{\"Details\":\"\xff\"}", []string{"body: not UTF-8"}},
		{"null", "devices/insert", `null`, []string{"body: expected an object"}},
		{"array", "devices/insert", `[{}]`, []string{"body: expected an object"}},
		{"text", "devices/update", `"DevEUI"`, []string{"body: expected an object"}},
		{"number", "devices/drop", `1e999`, []string{"body: expected an object"}},
		{"many keys", "devices/insert", `{` + manyKeys(33) + `}`, []string{"body: more than 32 keys"}},

		{"insert nothing", "devices/insert", `{}`, []string{"body.DevEUI: missing"}},
		{"insert null", "devices/insert", `{"DevEUI":null}`, []string{"body.DevEUI: must not be null"}},
		{"insert neither", "devices/insert", `{` + eui + `}`, []string{"body: JoinEUI, DevAddr or both must be there"}},
		{"insert neither, null", "devices/insert", `{` + eui + `,"JoinEUI":null,"DevAddr":null}`,
			[]string{"body: JoinEUI, DevAddr or both must be there"}},
		{"insert all wrong", "devices/insert", `{"DevEUI":1,"JoinEUI":"0x00000000000000","DevAddr":["00000001"],"Details":{}}`, []string{
			"body.DevEUI: expected a string of hexadecimal digits", `body.JoinEUI: "0x00000000000000" is not 16 hexadecimal digits`,
			"body.DevAddr: expected a string of hexadecimal digits", "body.Details: expected a string"}},
		{"insert, signs and spaces", "devices/insert", `{"DevEUI":"+000000000000001","JoinEUI":" 000000000000001","DevAddr":"-0000001"}`, []string{
			`body.DevEUI: "+000000000000001" is not 16 hexadecimal digits`, `body.JoinEUI: " 000000000000001" is not 16 hexadecimal digits`,
			`body.DevAddr: "-0000001" is not 8 hexadecimal digits`}},
		{"insert, digits of other scripts", "devices/insert", `{"DevEUI":"٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠١"}`,
			[]string{`body.DevEUI: "٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠١" is not 16 hexadecimal digits`}},
		{"insert, keys in another case", "devices/insert", `{"deveui":"0000000000000001","DEVADDR":"00000001"}`, []string{"body.DevEUI: missing"}},
		{"insert, long details", "devices/insert", `{` + eui + `,"DevAddr":"00000001","Details":"` + strings.Repeat("é", 2049) + `"}`,
			[]string{"body.Details: longer than 4096"}},
		{"insert, zero byte", "devices/insert", `{` + eui + `,"DevAddr":"00000001","Details":"a\u0000b"}`,
			[]string{`body.Details: must not contain \u0000`}},

		{"update nothing", "devices/update", `{}`, []string{"body.DevEUI: missing", "body.JoinEUI: missing"}},
		{"update no address", "devices/update", `{` + eui + `,"JoinEUI":"0000000000000001"}`,
			[]string{"body: ActiveDevAddr, TargetDevAddr or both must be there"}},
		{"update null", "devices/update", `{` + eui + `,"JoinEUI":"0000000000000001","ActiveDevAddr":"00000001","TargetDevAddr":null}`,
			[]string{"body.TargetDevAddr: must not be null"}},
		{"update all null", "devices/update", `{"DevEUI":null,"JoinEUI":null,"ActiveDevAddr":null,"TargetDevAddr":null}`, []string{
			"body.DevEUI: must not be null", "body.JoinEUI: must not be null",
			"body.ActiveDevAddr: must not be null", "body.TargetDevAddr: must not be null"}},

		{"drop nothing", "devices/drop", `{}`, []string{"body.DevEUIs: missing"}},
		{"drop null", "devices/drop", `{"DevEUIs":null}`, []string{"body.DevEUIs: must not be null"}},
		{"drop no list", "devices/drop", `{"DevEUIs":"0000000000000001"}`, []string{"body.DevEUIs: expected an array of strings"}},
		{"drop an object", "devices/drop", `{"DevEUIs":{"0":"0000000000000001"}}`, []string{"body.DevEUIs: expected an array of strings"}},
		{"drop some wrong", "devices/drop", `{"DevEUIs":["0000000000000001","1","0000000000000002",""]}`, []string{
			`body.DevEUIs.1: "1" is not 16 hexadecimal digits`, `body.DevEUIs.3: "" is not 16 hexadecimal digits`}},
		{"drop a number", "devices/drop", `{"DevEUIs":["0000000000000001",2]}`, []string{"body.DevEUIs.1: expected an array of strings"}},
		{"drop a list in the list", "devices/drop", `{"DevEUIs":[["0000000000000001"]]}`, []string{"body.DevEUIs.0: expected an array of strings"}},
		{"drop null in the list", "devices/drop", `{"DevEUIs":[null]}`, []string{"body.DevEUIs.0: expected an array of strings"}},

		{"create nothing", groups + "create", `{}`, []string{"body.addr: missing", "body.name: missing"}},
		{"create null", groups + "create", `{"name":null,"addr":null}`, []string{"body.addr: must not be null", "body.name: must not be null"}},
		{"create wrong", groups + "create", `{"name":5,"addr":"0000000000000001"}`, []string{
			`body.addr: "0000000000000001" is not 8 hexadecimal digits`, "body.name: expected a string"}},
		{"create, long name", groups + "create", `{` + addr + `,"name":"` + strings.Repeat("é", 256) + `"}`, []string{"body.name: longer than 255"}},
		{"create, zero byte", groups + "create", `{` + addr + `,"name":"\u0000"}`, []string{`body.name: must not contain \u0000`}},
		{"update group, nothing", groups + "update", `{}`, []string{"body.addr: missing", "body.update: missing"}},
		{"update group, empty", groups + "update", `{` + addr + `,"update":{}}`, []string{"body.update: name, addr or both must be there"}},
		{"update group, null", groups + "update", `{` + addr + `,"update":{"name":null,"addr":null}}`,
			[]string{"body.update: name, addr or both must be there"}},
		{"update group, no object", groups + "update", `{` + addr + `,"update":["name"]}`, []string{"body.update: expected an object"}},
		{"update group, wrong", groups + "update", `{"addr":1,"update":{"name":1,"addr":1}}`, []string{
			"body.addr: expected a string of hexadecimal digits", "body.update.addr: expected a string of hexadecimal digits",
			"body.update.name: expected a string"}},
		{"get, no list", groups + "get", `{"addrs":"00000001"}`, []string{"body.addrs: expected an array of strings"}},
		{"get wrong", groups + "get", `{"addrs":["0000000000000001"]}`, []string{`body.addrs.0: "0000000000000001" is not 8 hexadecimal digits`}},
		{"delete nothing", groups + "delete", `{}`, []string{"body.addrs: missing"}},
		{"delete null", groups + "delete", `{"addrs":null}`, []string{"body.addrs: must not be null"}},
		{"add nothing", groups + "add-device", `{}`, []string{"body.addr: missing", "body.dev_eui: missing"}},
		{"add wrong", groups + "add-device", `{"addr":"x","dev_eui":"00000001"}`, []string{
			`body.addr: "x" is not 8 hexadecimal digits`, `body.dev_eui: "00000001" is not 16 hexadecimal digits`}},
		{"remove nothing", groups + "remove-device", `{}`, []string{"body.addr: missing", "body.dev_eui: missing"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lamps := &client{t, lamps.url, lamps.token}
			if got := lamps.post(tt.call, tt.body).invalidAt(); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := lamps.get("devices/select").euis(); len(got) != 0 {
		t.Errorf("devices came from it: %v", got)
	}
	if got := lamps.groupAddrs(`{}`); len(got) != 0 {
		t.Errorf("groups came from it: %v", got)
	}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = `"` + strings.Repeat("k", i) + `":` + `[0]`
	}
	return strings.Join(keys, ",")
}

// However much is wrong, the answer stays short.
func TestProblemsAreBounded(t *testing.T) {
	lamps, _ := serve(t, Config{})
	wrong := strings.Repeat("z", 10000)
	bodies := lamps.post("devices/drop", `{"DevEUIs":["`+strings.Repeat(wrong+`","`, 400)+`"]}`)
	query := lamps.get("devices/select?" + strings.Repeat("&DevEUIs="+wrong[:1000], 200))
	for _, a := range []answer{bodies, query} {
		if got := a.invalidAt(); len(got) != maxProblems || len(a.body) > 8<<10 {
			t.Errorf("%d problems, %d bytes", len(got), len(a.body))
		}
	}
}

func TestBodyLimits(t *testing.T) {
	lamps, _ := serve(t, Config{})
	pad := func(body string, n int) string { return body + strings.Repeat(" ", n-len(body)) }
	for _, tt := range []struct {
		call, body string
		limit      int
	}{
		{"devices/insert", `{"DevEUI":"0000000000000001","DevAddr":"00000001"}`, maxBody},
		{"devices/drop", `{"DevEUIs":[]}`, maxList},
		{groups + "create", `{"addr":"00000001","name":""}`, maxBody},
		{groups + "get", `{}`, maxList},
	} {
		if a := lamps.post(tt.call, pad(tt.body, tt.limit)); a.status >= 300 {
			t.Errorf("%s: %d bytes gave %d %s", tt.call, tt.limit, a.status, a.body)
		}
		a := lamps.post(tt.call, pad(tt.body, tt.limit+1))
		a.fails(http.StatusRequestEntityTooLarge, "ValidationFailed")
		if _, _, detail := exception(a); len(detail) != 1 || detail[0].Loc[0] != "body" {
			t.Errorf("%s: detail %v", tt.call, detail)
		}
	}
}

// 200 000 DevEUIs fit a drop.
func TestLargestDrop(t *testing.T) {
	lamps, _ := serve(t, Config{})
	lamps.fill(1)
	body := `{"DevEUIs":["0000000000000001"` + strings.Repeat(`,"00000000000000ff"`, 200_000) + `]}`
	if got := lamps.post("devices/drop", body).ok(http.StatusOK); got != `{"deleted":1}` {
		t.Errorf("got %s", got)
	}
}
