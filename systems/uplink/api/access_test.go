package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"contend/systems/uplink/table"
)

// A token that is missing, wrong or expired opens no call, not even one that does
// not exist, and the answers are all the same.
func TestUnauthorized(t *testing.T) {
	tab := openTable(t, table.Config{})
	lamps, _ := serve(t, Config{Table: tab})
	lamps.fill(1)
	calls := routes()
	calls = append(calls, route{path: "no/such/call", method: http.MethodGet}, route{path: "", method: http.MethodPost})
	var first answer
	for _, call := range calls {
		for _, token := range []string{"", "wrong", "old-token", "lamps-tokenx", "lamps"} {
			stranger := &client{t, lamps.url, token}
			a := stranger.do(call.method, call.path, `{"DevEUIs":["0000000000000001"]}`)
			a.fails(http.StatusUnauthorized, "Unauthorized")
			if a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: WWW-Authenticate %q", call.path, a.header.Get("WWW-Authenticate"))
			}
			if first.t == nil {
				first = a
			}
			sameAnswer(t, a, first)
		}
	}
	if tab.Len() != 1 {
		t.Errorf("%d devices are left, want 1", tab.Len())
	}
}

// Every call answers about a device or group of another customer exactly as about
// one that does not exist.
func TestNoLeak(t *testing.T) {
	const theirs, nobodys = "00000000000000ff", "00000000000000ee"
	tab := openTable(t, table.Config{DeviceLimit: 3})
	lamps, meters := serve(t, Config{Table: tab})
	lamps.fill(1)
	lamps.post(groups+"create", `{"addr":"00000001","name":""}`).ok(http.StatusCreated)
	meters.post("devices/insert", `{"DevEUI":"`+theirs+`","JoinEUI":"0000000000000005","DevAddr":"00000005","Details":"private"}`).
		ok(http.StatusCreated)
	meters.post(groups+"create", `{"addr":"`+theirs[8:]+`","name":"private"}`).ok(http.StatusCreated)
	meters.post(groups+"add-device", `{"addr":"`+theirs[8:]+`","dev_eui":"`+theirs+`"}`).ok(http.StatusOK)
	before := meters.get("devices/select").body + meters.post(groups+"get", "{}").body

	calls := []struct{ method, path, body string }{
		{http.MethodGet, "devices/select?DevEUIs=EUI", ""},
		{http.MethodPost, "devices/update", `{"DevEUI":"EUI","JoinEUI":"0000000000000005","ActiveDevAddr":"00000005"}`},
		{http.MethodPost, "devices/drop", `{"DevEUIs":["EUI"]}`},
		{http.MethodPost, groups + "get", `{"addrs":["ADDR"]}`},
		{http.MethodPost, groups + "update", `{"addr":"ADDR","update":{"name":"mine"}}`},
		{http.MethodPost, groups + "delete", `{"addrs":["ADDR"]}`},
		{http.MethodPost, groups + "add-device", `{"addr":"00000001","dev_eui":"EUI"}`},
		{http.MethodPost, groups + "add-device", `{"addr":"ADDR","dev_eui":"0000000000000001"}`},
		{http.MethodPost, groups + "remove-device", `{"addr":"00000001","dev_eui":"EUI"}`},
		{http.MethodPost, groups + "remove-device", `{"addr":"ADDR","dev_eui":"EUI"}`},
	}
	ask := func(method, path, body, eui string) answer {
		body = strings.NewReplacer(`"EUI"`, `"`+eui+`"`, `"ADDR"`, `"`+eui[8:]+`"`).Replace(body)
		a := lamps.do(method, strings.Replace(path, "=EUI", "="+eui, 1), body)
		a.body = strings.ReplaceAll(strings.ReplaceAll(a.body, eui, "EUI"), eui[8:], "ADDR")
		return a
	}
	for _, c := range calls {
		a, b := ask(c.method, c.path, c.body, theirs), ask(c.method, c.path, c.body, nobodys)
		t.Logf("%s: %d %s", c.path, a.status, a.body)
		sameAnswer(t, a, b)
	}
	lamps.post("devices/drop-all", "").ok(http.StatusOK)
	if after := meters.get("devices/select").body + meters.post(groups+"get", "{}").body; after != before {
		t.Errorf("the other customer's rows became %s, were %s", after, before)
	}
}

// A DevEUI that is taken is taken, whoever has it: the answer is the same and tells
// nothing else, at the limit of devices as well.
func TestInsertTellsNoOwner(t *testing.T) {
	lamps, meters := serve(t, Config{Table: openTable(t, table.Config{DeviceLimit: 2})})
	lamps.fill(1)
	meters.post("devices/insert", `{"DevEUI":"00000000000000ff","JoinEUI":"0000000000000005","DevAddr":"00000005","Details":"private"}`).
		ok(http.StatusCreated)
	insert := func(eui string) answer {
		a := lamps.post("devices/insert", `{"DevEUI":"`+eui+`","DevAddr":"00000001"}`)
		a.body = strings.ReplaceAll(a.body, eui, "EUI")
		return a
	}
	mine, theirs := insert("0000000000000001"), insert("00000000000000ff")
	if text := mine.fails(http.StatusConflict, "Device.AlreadyExists"); text != "the device exists already: DevEUI EUI" {
		t.Errorf("exists: %q", text)
	}
	sameAnswer(t, theirs, mine)
	insert("0000000000000002").ok(http.StatusCreated)
	insert("0000000000000003").fails(http.StatusForbidden, "Device.LimitExhausted")
	sameAnswer(t, insert("0000000000000001"), mine)
	sameAnswer(t, insert("00000000000000ff"), mine)
}

// sameAnswer compares everything but the date.
func sameAnswer(t *testing.T, a, b answer) {
	t.Helper()
	a.header, b.header = a.header.Clone(), b.header.Clone()
	a.header.Del("Date")
	b.header.Del("Date")
	if a.status != b.status || a.body != b.body || !maps.EqualFunc(a.header, b.header, slices.Equal) {
		t.Errorf("answers differ:\n%d %v %s\n%d %v %s", a.status, a.header, a.body, b.status, b.header, b.body)
	}
}

func TestPaths(t *testing.T) {
	type seen struct {
		call   string
		status int
	}
	var got []seen
	lamps, _ := serve(t, Config{Called: func(call string, status int) { got = append(got, seen{call, status}) }})
	old := &client{t, lamps.url + ".0", lamps.token} // /api/v1.0
	outside := &client{t, strings.TrimSuffix(lamps.url, "/v1"), lamps.token}
	tests := []struct {
		client       *client
		method, path string
		status       int
		call         string
	}{
		{lamps, "GET", "devices/select", 200, "devices/select"},
		{old, "GET", "devices/select", 200, "devices/select"},
		{lamps, "GET", "devices/select/", 200, "devices/select"},
		{old, "POST", "devices/drop-all/", 200, "devices/drop-all"},
		{lamps, "HEAD", "devices/select", 200, "devices/select"},
		{lamps, "POST", "devices/select", 405, "devices/select"},
		{lamps, "GET", "devices/insert", 405, "devices/insert"},
		{old, "PUT", groups + "create", 405, groups + "create"},
		{lamps, "DELETE", "openapi.yaml", 404, "other"},
		{lamps, "GET", "devices", 404, "other"},
		{lamps, "GET", "devices/select//", 404, "other"},
		{lamps, "GET", "Devices/Select", 404, "other"},
		{lamps, "GET", "devices/%2e%2e/devices/select", 404, "other"},
		{lamps, "GET", "", 404, "other"},
		{outside, "GET", "devices/select", 404, "other"},
		{outside, "GET", "v2/devices/select", 404, "other"},
	}
	for _, tt := range tests {
		a := tt.client.do(tt.method, tt.path, "")
		switch {
		case tt.method == "HEAD" && a.body != "":
			t.Errorf("HEAD has a body: %s", a.body)
		case tt.status >= 300:
			a.fails(tt.status, "Unknown")
		default:
			a.ok(tt.status)
		}
		if allow := a.header.Get("Allow"); (tt.status == 405) != (allow == "GET" || allow == "POST") {
			t.Errorf("%s %s: Allow %q", tt.method, tt.path, allow)
		}
		if want := (seen{tt.call, tt.status}); got[len(got)-1] != want {
			t.Errorf("%s %s: called %v, want %v", tt.method, tt.path, got[len(got)-1], want)
		}
	}
	if len(got) != len(tests) {
		t.Errorf("%d answers were told of, want %d", len(got), len(tests))
	}
}

// Many customers' calls at once: the two insert the same DevEUIs, and each has
// exactly one owner in the end.
func TestConcurrentUse(t *testing.T) {
	tab := openTable(t, table.Config{})
	lamps, meters := serve(t, Config{Table: tab})
	const n, callers = 40, 4
	won := make(chan int, 2*callers) // one send each
	for _, c := range []*client{lamps, meters} {
		for range callers {
			go func() { won <- insertAll(c, n) }()
		}
	}
	total := 0
	for range 2 * callers {
		total += <-won
	}
	a, b := lamps.get("devices/select").euis(), meters.get("devices/select").euis()
	if total != n || len(a)+len(b) != n || tab.Len() != n {
		t.Errorf("%d inserts succeeded, customers have %d and %d, the table %d; want %d", total, len(a), len(b), tab.Len(), n)
	}
	for _, eui := range a {
		if slices.Contains(b, eui) {
			t.Errorf("%x has two owners", eui)
		}
	}
}

// insertAll inserts and selects the devices 1 to n and returns how many were new.
func insertAll(c *client, n int) (won int) {
	for i := 1; i <= n; i++ {
		a := c.post("devices/insert", fmt.Sprintf(`{"DevEUI":"%016x","DevAddr":"00000001"}`, i))
		if a.status == http.StatusCreated {
			won++
		} else if a.status != http.StatusConflict {
			c.t.Errorf("insert: %d %s", a.status, a.body)
		}
		if a := c.get(fmt.Sprintf("devices/select?DevEUIs=%016x", i)); a.status != http.StatusOK {
			c.t.Errorf("select: %d %s", a.status, a.body)
		}
	}
	return won
}
