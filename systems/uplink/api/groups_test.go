package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"contend/systems/uplink/lorawan"
)

const groups = "multicast/multicast-groups/"

func (a answer) groups() []group {
	a.t.Helper()
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(a.ok(http.StatusOK)), &raw); err != nil || raw == nil {
		a.t.Fatalf("not a list: %s", a.body)
	}
	list := make([]group, len(raw))
	for i := range raw {
		list[i] = answer{a.t, a.status, a.header, string(raw[i])}.group(http.StatusOK)
	}
	return list
}

func (c *client) groupAddrs(body string) (addrs []lorawan.DevAddr) {
	c.t.Helper()
	for _, g := range c.post(groups+"get", body).groups() {
		addrs = append(addrs, g.Addr)
	}
	slices.Sort(addrs)
	return addrs
}

func TestGroupLife(t *testing.T) {
	lamps, _ := serve(t, Config{})
	lamps.fill(3)
	g := lamps.post(groups+"create", `{"name": "street lamps north", "addr": "0F41C7AA"}`).group(http.StatusCreated)
	if g.Name != "street lamps north" || g.Addr != 0x0f41c7aa || len(g.Devices) != 0 {
		t.Errorf("created %+v", g)
	}
	for _, eui := range []string{"0000000000000001", "0000000000000003"} {
		if got := lamps.post(groups+"add-device", `{"addr":"0f41c7aa","dev_eui":"`+eui+`"}`).ok(http.StatusOK); got != `{"is_added":true}` {
			t.Errorf("add-device: %s", got)
		}
	}
	g.Devices = []lorawan.EUI{1, 3}
	longest := strings.Repeat("é", 255)
	if got := lamps.post(groups+"get", `{"addrs":[]}`).groups(); !reflect.DeepEqual(got, []group{g}) {
		t.Errorf("got %+v, want %+v", got, g)
	}
	for _, tt := range []struct {
		update string
		name   string
		addr   lorawan.DevAddr
	}{
		{`{"addr":"0f41c7aa","update":{"name":"` + longest + `"}}`, longest, 0x0f41c7aa}, // by characters, not bytes
		{`{"addr":"0f41c7aa","update":{"addr":"0f41c7ab","name":null}}`, longest, 0x0f41c7ab},
		{`{"addr":"0f41c7ab","update":{"name":"","addr":"0f41c7ab"}}`, "", 0x0f41c7ab}, // its own address is not taken
		{`{"addr":"0f41c7ab","update":{"name":"both","addr":"0f41c7ac","x":1}}`, "both", 0x0f41c7ac},
	} {
		g.Name, g.Addr = tt.name, tt.addr
		if got := lamps.post(groups+"update", tt.update).group(http.StatusOK); !reflect.DeepEqual(got, g) {
			t.Errorf("%s: got %+v, want %+v", tt.update, got, g)
		}
	}
	if got := lamps.post(groups+"remove-device", `{"addr":"0f41c7ac","dev_eui":"0000000000000001"}`).ok(http.StatusOK); got != `{"is_removed":true}` {
		t.Errorf("remove-device: %s", got)
	}
	lamps.post("devices/drop", `{"DevEUIs":["0000000000000003"]}`).ok(http.StatusOK)
	g.Devices = []lorawan.EUI{}
	if got := lamps.post(groups+"get", `{"addrs":["0f41c7ac"]}`).groups(); !reflect.DeepEqual(got, []group{g}) {
		t.Errorf("after its devices went: got %+v, want %+v", got, g)
	}
	if got := lamps.post(groups+"delete", `{"addrs":["0f41c7ac","0f41c7aa"]}`).ok(http.StatusOK); got != `{"deleted":1}` {
		t.Errorf("delete: %s", got)
	}
	if got := lamps.post(groups+"get", `{}`).ok(http.StatusOK); got != "[]" {
		t.Errorf("without groups: %s", got)
	}
}

func TestGetAndDeleteGroups(t *testing.T) {
	lamps, meters := serve(t, Config{})
	for _, addr := range []string{"00000001", "00000002", "00000003"} {
		lamps.post(groups+"create", `{"addr":"`+addr+`","name":"a group"}`).group(http.StatusCreated)
	}
	// Addresses are unique per customer only.
	meters.post(groups+"create", `{"addr":"00000002","name":"another"}`).group(http.StatusCreated)
	for body, want := range map[string][]lorawan.DevAddr{
		`{}`:                                {1, 2, 3},
		`{"addrs":null}`:                    {1, 2, 3},
		`{"addrs":[]}`:                      {1, 2, 3},
		`{"addrs":["00000003","00000001"]}`: {1, 3},
		`{"addrs":["00000003","00000003"]}`: {3},
		`{"addrs":["00000077"]}`:            nil,
	} {
		if got := lamps.groupAddrs(body); !slices.Equal(got, want) {
			t.Errorf("get %s: got %v, want %v", body, got, want)
		}
	}
	for _, tt := range []struct{ body, want string }{
		{`{"addrs":[]}`, `{"deleted":0}`}, // of a delete, an empty list deletes nothing
		{`{"addrs":["00000077"]}`, `{"deleted":0}`},
		{`{"addrs":["00000002","00000002","00000003"]}`, `{"deleted":2}`},
	} {
		if got := lamps.post(groups+"delete", tt.body).ok(http.StatusOK); got != tt.want {
			t.Errorf("delete %s: got %s, want %s", tt.body, got, tt.want)
		}
	}
	if got := lamps.groupAddrs(`{}`); !slices.Equal(got, []lorawan.DevAddr{1}) {
		t.Errorf("left are %v", got)
	}
	if got := meters.groupAddrs(`{}`); !slices.Equal(got, []lorawan.DevAddr{2}) {
		t.Errorf("the other customer's are %v", got)
	}
}

func TestGroupErrors(t *testing.T) {
	lamps, meters := serve(t, Config{})
	lamps.fill(1)
	meters.post("devices/insert", `{"DevEUI":"00000000000000ff","DevAddr":"00000001"}`).ok(http.StatusCreated)
	for _, addr := range []string{"00000001", "00000002"} {
		lamps.post(groups+"create", `{"addr":"`+addr+`","name":"a group"}`).group(http.StatusCreated)
	}
	lamps.post(groups+"add-device", `{"addr":"00000001","dev_eui":"0000000000000001"}`).ok(http.StatusOK)
	tests := []struct {
		call, body string
		status     int
		code, text string
	}{
		{"create", `{"addr":"00000001","name":""}`, 409, "MulticastGroup.AlreadyExists",
			"the group exists already: addr 00000001"},
		{"update", `{"addr":"00000077","update":{"name":"x"}}`, 404, "MulticastGroup.NotFound",
			"no such group: addr 00000077"},
		{"update", `{"addr":"00000001","update":{"addr":"00000002"}}`, 409, "MulticastGroup.AlreadyExists",
			"the group exists already: addr 00000001 to 00000002"},
		{"add-device", `{"addr":"00000077","dev_eui":"0000000000000001"}`, 404, "MulticastGroup.NotFound",
			"no such group: addr 00000077, dev_eui 0000000000000001"},
		{"add-device", `{"addr":"00000077","dev_eui":"0000000000000077"}`, 404, "MulticastGroup.NotFound",
			"no such group: addr 00000077, dev_eui 0000000000000077"},
		{"add-device", `{"addr":"00000001","dev_eui":"0000000000000077"}`, 404, "Device.NotFound",
			"no such device in the routing table: addr 00000001, dev_eui 0000000000000077"},
		{"add-device", `{"addr":"00000001","dev_eui":"00000000000000ff"}`, 404, "Device.NotFound",
			"no such device in the routing table: addr 00000001, dev_eui 00000000000000ff"},
		{"add-device", `{"addr":"00000001","dev_eui":"0000000000000001"}`, 409, "MulticastGroup.AlreadyContainsTheDevice",
			"the group contains the device already: addr 00000001, dev_eui 0000000000000001"},
	}
	for _, tt := range tests {
		if text := lamps.post(groups+tt.call, tt.body).fails(tt.status, tt.code); text != tt.text {
			t.Errorf("%s %s: got %q, want %q", tt.call, tt.body, text, tt.text)
		}
	}
	// Removing a missing device is not an error.
	for _, body := range []string{
		`{"addr":"00000077","dev_eui":"0000000000000001"}`,
		`{"addr":"00000001","dev_eui":"0000000000000077"}`,
		`{"addr":"00000002","dev_eui":"0000000000000001"}`,
		`{"addr":"00000001","dev_eui":"00000000000000ff"}`,
	} {
		if got := lamps.post(groups+"remove-device", body).ok(http.StatusOK); got != `{"is_removed":false}` {
			t.Errorf("remove-device %s: %s", body, got)
		}
	}
}
