package api

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/systems/uplink/table"
)

func TestInsert(t *testing.T) {
	lamps, _ := serve(t, Config{})
	tests := []struct {
		name, body           string
		join, active, detail any // nil: null
	}{
		{"joins", `{"DevEUI":"0000000000000001","JoinEUI":"00000000000000aa"}`, 0xaa, nil, nil},
		{"has an address", `{"DevEUI":"0000000000000002","DevAddr":"0000000b"}`, nil, 0xb, nil},
		{"both, as bridges do", `{"DevEUI":"0000000000000003","JoinEUI":"0000000000000003","DevAddr":"0000000b"}`, 3, 0xb, nil},
		{"null is as good as absent", `{"DevEUI":"0000000000000004","JoinEUI":null,"DevAddr":"0000000b","Details":null}`, nil, 0xb, nil},
		{"upper case", `{"DevEUI":"000000000000000A","JoinEUI":"00000000000000AA","DevAddr":"0000000B"}`, 0xaa, 0xb, nil},
		{"largest", `{"DevEUI":"ffffffffffffffff","JoinEUI":"ffffffffffffffff","DevAddr":"ffffffff"}`, uint64(1<<64 - 1), 1<<32 - 1, nil},
		{"smallest", `{"DevEUI":"0000000000000000","JoinEUI":"0000000000000000","DevAddr":"00000000"}`, 0, 0, nil},
		{"details", `{"DevEUI":"0000000000000005","DevAddr":"0000000b","Details":"{\"a\": \"\u00e9\\\"<\"}"}`, nil, 0xb, `{"a": "é\"<"}`},
		{"empty details", `{"DevEUI":"0000000000000006","DevAddr":"0000000b","Details":""}`, nil, 0xb, ""},
		{"longest details", `{"DevEUI":"0000000000000007","DevAddr":"0000000b","Details":"` + strings.Repeat(`\u0020`, 4096) + `"}`,
			nil, 0xb, strings.Repeat(" ", 4096)},
		{"unknown keys", `{"DevEUI":"0000000000000008","DevAddr":"0000000b","Colour":{"a":[1]},"deveui":1}`, nil, 0xb, nil},
		{"the last of two counts", `{"DevEUI":"zz","DevAddr":"0000000b","DevEUI":"0000000000000009"}`, nil, 0xb, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lamps := &client{t, lamps.url, lamps.token}
			d := lamps.post("devices/insert", tt.body).device(http.StatusCreated)
			for name, pair := range map[string][2]string{
				"JoinEUI":       {show(d.join), fmt.Sprint(tt.join)},
				"ActiveDevAddr": {show(d.active), fmt.Sprint(tt.active)},
				"TargetDevAddr": {show(d.target), "<nil>"},
				"Details":       {show(d.details), fmt.Sprint(tt.detail)},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s is %s, want %s", name, pair[0], pair[1])
				}
			}
			if time.Since(d.created).Abs() > time.Hour {
				t.Errorf("created at %v", d.created)
			}
			again := lamps.get(fmt.Sprintf("devices/select?DevEUIs=%016x", d.eui)).devices()
			if len(again) != 1 || !reflect.DeepEqual(again[0], d) {
				t.Errorf("selected %+v, inserted %+v", again, d)
			}
		})
	}
}

func show[T any](v *T) string {
	if v == nil {
		return "<nil>"
	}
	return fmt.Sprint(*v)
}

func TestSelect(t *testing.T) {
	lamps, _ := serve(t, Config{})
	if got := lamps.get("devices/select").ok(http.StatusOK); got != "[]" {
		t.Errorf("an empty table is %s", got)
	}
	lamps.fill(9)
	eui := func(list ...int) string {
		var q strings.Builder
		for _, n := range list {
			fmt.Fprintf(&q, "&DevEUIs=%016X", n) // upper case is read as well
		}
		return q.String()
	}
	tests := []struct {
		query string
		want  []uint64
	}{
		{"", []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"offset=0", []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"offset=7", []uint64{8, 9}},
		{"limit=2", []uint64{1, 2}},
		{"limit=0", nil},
		{"offset=2&limit=3", []uint64{3, 4, 5}},
		{"offset=8&limit=3", []uint64{9}},
		{"offset=9", nil},
		{"offset=9223372036854775807&limit=9223372036854775807", nil},
		{eui(5), []uint64{5}},
		{eui(7, 3, 5), []uint64{3, 5, 7}},                                 // in the order of the list
		{eui(3, 3), []uint64{3}},                                          // each once
		{eui(77), nil},                                                    // unknown
		{eui(77, 2), []uint64{2}},                                         //
		{eui(7, 3, 5, 77) + "&offset=1", []uint64{5, 7}},                  // after the filter
		{eui(7, 3, 5) + "&offset=1&limit=1", []uint64{5}},                 //
		{"DevEUIs=000000000000000%31", []uint64{1}},                       // escaped
		{"limit=5&limit=1", []uint64{1}},                                  // the last counts
		{"deveuis=1&Limit=1&colour", []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}}, // other parameters
		{"&&limit=1&", []uint64{1}},
	}
	for _, tt := range tests {
		if got := lamps.get("devices/select?" + tt.query).euis(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.query, got, tt.want)
		}
	}
}

func TestSelectInvalid(t *testing.T) {
	lamps, _ := serve(t, Config{})
	tests := []struct {
		query string
		want  []string
	}{
		{"offset=-1", []string{`query.offset: "-1" is not a whole number from 0 to 9223372036854775807`}},
		{"offset=9223372036854775808", []string{`query.offset: "9223372036854775808" is not a whole number from 0 to 9223372036854775807`}},
		{"limit=ten&offset=1.5", []string{
			`query.limit: "ten" is not a whole number from 0 to 9223372036854775807`, `query.offset: "1.5" is not a whole number from 0 to 9223372036854775807`}},
		{"limit=", []string{`query.limit: "" is not a whole number from 0 to 9223372036854775807`}},
		{"limit=9223372036854775808", []string{`query.limit: "9223372036854775808" is not a whole number from 0 to 9223372036854775807`}},
		{"DevEUIs=0000000000000001&DevEUIs=1", []string{`query.DevEUIs.1: "1" is not 16 hexadecimal digits`}},
		{"DevEUIs", []string{`query.DevEUIs.0: "" is not 16 hexadecimal digits`}},
		{"DevEUIs=%zz", []string{`query.DevEUIs.0: "%zz" is not 16 hexadecimal digits`}},
		{"DevEUIs=" + strings.Repeat("f", 1000),
			[]string{`query.DevEUIs.0: "` + strings.Repeat("f", 40) + `" is not 16 hexadecimal digits`}},
	}
	for _, tt := range tests {
		if got := lamps.get("devices/select?" + tt.query).invalidAt(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.query, got, tt.want)
		}
	}
}

// 10 485 DevEUIs of 25 bytes fill 256 KiB; net/url would read 10 000 parameters.
func TestSelectLongQuery(t *testing.T) {
	lamps, _ := serve(t, Config{})
	lamps.fill(3)
	var query strings.Builder
	n := 0
	for ; query.Len() < 256<<10; n++ {
		fmt.Fprintf(&query, "&DevEUIs=%016x", 1<<40+n)
	}
	if n != 10486 {
		t.Fatalf("%d DevEUIs", n)
	}
	got := lamps.get("devices/select?" + query.String() + "&DevEUIs=0000000000000002").euis()
	if !slices.Equal(got, []uint64{2}) {
		t.Errorf("got %v", got)
	}
}

// A list that is longer than a chunk arrives whole and in order.
func TestSelectLongList(t *testing.T) {
	tab := openTable(t, table.Config{})
	lamps, _ := serve(t, Config{Table: tab})
	const n = 1000 // 166 bytes each: 3 chunks
	lamps.fill(n)
	got := lamps.get("devices/select").euis()
	if len(got) != n || got[0] != 1 || got[n-1] != n || !slices.IsSorted(got) {
		t.Errorf("got %d devices, want 1 to %d", len(got), n)
	}
}

func TestUpdate(t *testing.T) {
	lamps, _ := serve(t, Config{})
	lamps.fill(1)
	lamps.post("devices/insert", `{"DevEUI":"0000000000000002","DevAddr":"0000000b"}`).ok(http.StatusCreated)
	const device = `{"DevEUI":"0000000000000001","JoinEUI":"0000000000000001",`
	steps := []struct{ body, active, target string }{
		{device + `"TargetDevAddr":"00000007"}`, "<nil>", "7"},
		{device + `"ActiveDevAddr":"00000005"}`, "5", "7"}, // what is left out stays
		{device + `"ActiveDevAddr":"00000007"}`, "7", "<nil>"},
		{device + `"ActiveDevAddr":"00000008","TargetDevAddr":"00000009"}`, "8", "9"},
		{device + `"ActiveDevAddr":"00000009","TargetDevAddr":"0000000a"}`, "9", "10"},
	}
	for _, tt := range steps {
		d := lamps.post("devices/update", tt.body).device(http.StatusOK)
		if show(d.active) != tt.active || show(d.target) != tt.target {
			t.Errorf("%s: active %s, target %s, want %s, %s", tt.body, show(d.active), show(d.target), tt.active, tt.target)
		}
		again := lamps.get("devices/select?DevEUIs=0000000000000001").devices()
		if len(again) != 1 || !reflect.DeepEqual(again[0], d) {
			t.Errorf("selected %+v, updated %+v", again, d)
		}
	}
	for name, body := range map[string]string{
		"no such device":      `{"DevEUI":"0000000000000009","JoinEUI":"0000000000000009","ActiveDevAddr":"00000005"}`,
		"another JoinEUI":     `{"DevEUI":"0000000000000001","JoinEUI":"0000000000000002","ActiveDevAddr":"00000005"}`,
		"does not join":       `{"DevEUI":"0000000000000002","JoinEUI":"0000000000000002","ActiveDevAddr":"00000005"}`,
		"does not join, zero": `{"DevEUI":"0000000000000002","JoinEUI":"0000000000000000","ActiveDevAddr":"00000005"}`,
	} {
		if text := lamps.post("devices/update", body).fails(http.StatusNotFound, "Device.NotFound"); !strings.Contains(text, body[11:27]) {
			t.Errorf("%s: %q does not name the device", name, text)
		}
	}
}

func TestDrop(t *testing.T) {
	lamps, _ := serve(t, Config{})
	lamps.fill(5)
	steps := []struct{ body, want string }{
		{`{"DevEUIs":["0000000000000002","0000000000000077"]}`, `{"deleted":1}`},
		{`{"DevEUIs":["0000000000000002"]}`, `{"deleted":0}`},
		{`{"DevEUIs":[]}`, `{"deleted":0}`},
		{`{"DevEUIs":["0000000000000003","0000000000000003"]}`, `{"deleted":1}`},
	}
	for _, tt := range steps {
		if got := lamps.post("devices/drop", tt.body).ok(http.StatusOK); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.body, got, tt.want)
		}
	}
	if got, want := lamps.get("devices/select").euis(), []uint64{1, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}
}

// The published client sends no JSON with this call.
func TestDropAll(t *testing.T) {
	lamps, meters := serve(t, Config{})
	meters.post("devices/insert", `{"DevEUI":"00000000000000ff","DevAddr":"00000001"}`).ok(http.StatusCreated)
	for _, body := range []string{"", "not JSON", `{"DevEUIs":[]}`} {
		lamps.fill(3)
		got := lamps.do(http.MethodPost, "devices/drop-all", body, "Content-Type", "application/octet-stream").ok(http.StatusOK)
		if got != `{"deleted":3}` {
			t.Errorf("body %q: got %s", body, got)
		}
	}
	if got := lamps.post("devices/drop-all", "").ok(http.StatusOK); got != `{"deleted":0}` {
		t.Errorf("without devices: %s", got)
	}
	if got := meters.get("devices/select").euis(); len(got) != 1 {
		t.Errorf("the other customer's devices are %v", got)
	}
}
