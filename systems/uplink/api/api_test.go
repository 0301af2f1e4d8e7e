package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"contend/systems/uplink/table"
)

// The tests speak to a real server on loopback, over a real table.

const tokenFile = `
lamps  lamps-token
meters meters-token
lamps  old-token 2020-01-01T00:00:00Z
`

func openTable(t testing.TB, config table.Config) *table.Table {
	t.Helper()
	config.URL = "sqlite::memory:"
	tab, err := table.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tab.Close(); err != nil {
			t.Error(err)
		}
	})
	return tab
}

func newAPI(t testing.TB, config Config) http.Handler {
	t.Helper()
	tokens, err := ParseTokens(strings.NewReader(tokenFile))
	if err != nil {
		t.Fatal(err)
	}
	config.Tokens = tokens
	if config.Table == nil {
		config.Table = openTable(t, table.Config{})
	}
	return New(config)
}

// A client is one customer's.
type client struct {
	t     testing.TB
	url   string // ends in /api/v1
	token string
}

// serve starts a server and returns its customers' clients.
func serve(t testing.TB, config Config) (lamps, meters *client) {
	t.Helper()
	server := httptest.NewUnstartedServer(newAPI(t, config))
	server.Config.MaxHeaderBytes = MaxHeaderBytes
	server.Start()
	t.Cleanup(server.Close)
	return &client{t, server.URL + "/api/v1", "lamps-token"}, &client{t, server.URL + "/api/v1", "meters-token"}
}

type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

func (c *client) do(method, path, body string, header ...string) answer {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+"/"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{c.t, resp.StatusCode, resp.Header, string(text)}
}

func (c *client) get(path string) answer { c.t.Helper(); return c.do(http.MethodGet, path, "") }
func (c *client) post(path, body string) answer {
	c.t.Helper()
	return c.do(http.MethodPost, path, body)
}

// ok checks an answer as the published client does and returns its body.
func (a answer) ok(status int) string {
	a.t.Helper()
	if a.status != status || a.header.Get("Content-Type") != "application/json" {
		a.t.Fatalf("got %d %s %s, want %d application/json", a.status, a.header.Get("Content-Type"), a.body, status)
	}
	return a.body
}

// fails checks that the published client raises the exception of a code, and
// returns the description.
func (a answer) fails(status int, code string) string {
	a.t.Helper()
	got, description, _ := exception(a)
	if a.status != status || got != code {
		a.t.Fatalf("got %d %s, want %d %s", a.status, a.body, status, code)
	}
	return description
}

// invalidAt checks a ValidationFailed and returns "loc: msg" of each problem.
func (a answer) invalidAt() []string {
	a.t.Helper()
	a.fails(http.StatusUnprocessableEntity, "ValidationFailed")
	_, _, detail := exception(a)
	var list []string
	for _, p := range detail {
		var loc []string
		for _, l := range p.Loc {
			loc = append(loc, fmt.Sprint(l))
		}
		list = append(list, strings.Join(loc, ".")+": "+p.Msg)
	}
	return list
}

// exception is what the published client makes of an error: the code, "Unknown"
// for whatever it does not understand.
func exception(a answer) (code, description string, detail []problem) {
	known := []string{"Unknown", "Unauthorized", "ValidationFailed", "Device.AlreadyExists", "Device.LimitExhausted",
		"Device.NotFound", "MulticastGroup.AlreadyExists", "MulticastGroup.NotFound",
		"MulticastGroup.AlreadyContainsTheDevice"}
	var e struct {
		Detail struct {
			Code        string    `json:"error_code"`
			Description string    `json:"error_description"`
			Detail      []problem `json:"error_detail"`
		} `json:"detail"`
	}
	if a.status < 400 || a.status > 499 || a.header.Get("Content-Type") != "application/json" ||
		json.Unmarshal([]byte(a.body), &e) != nil {
		return "not understood", "", nil
	}
	for _, k := range known {
		if e.Detail.Code == k {
			return k, e.Detail.Description, e.Detail.Detail
		}
	}
	return "not understood", "", nil
}

// A parsedDevice is what the published client makes of a device.
type parsedDevice struct {
	created              time.Time
	eui                  uint64
	join, active, target *uint64
	details              *string
}

// parseDevice reads a device as strictly as the published client: all keys, hex
// strings, not both JoinEUI and ActiveDevAddr null, and the moment in the only
// form that its oldest Python reads with a fraction.
func parseDevice(body []byte) (parsedDevice, error) {
	var m map[string]*string
	if err := json.Unmarshal(body, &m); err != nil {
		return parsedDevice{}, err
	}
	for _, key := range []string{"CreatedAt", "DevEUI", "JoinEUI", "ActiveDevAddr", "TargetDevAddr", "Details"} {
		if _, ok := m[key]; !ok {
			return parsedDevice{}, fmt.Errorf("no %s in %s", key, body)
		}
	}
	if len(m) != 6 || m["DevEUI"] == nil || m["CreatedAt"] == nil || m["JoinEUI"] == nil && m["ActiveDevAddr"] == nil {
		return parsedDevice{}, fmt.Errorf("not a device: %s", body)
	}
	created, err := time.Parse("2006-01-02T15:04:05.999999", *m["CreatedAt"])
	if err != nil || len(*m["CreatedAt"]) != len("2006-01-02T15:04:05.123456") {
		return parsedDevice{}, fmt.Errorf("CreatedAt %q", *m["CreatedAt"])
	}
	d := parsedDevice{created: created, details: m["Details"]}
	eui, err := parseHexDigits(m["DevEUI"], 16, err)
	d.eui = *eui
	d.join, err = parseHexDigits(m["JoinEUI"], 16, err)
	d.active, err = parseHexDigits(m["ActiveDevAddr"], 8, err)
	d.target, err = parseHexDigits(m["TargetDevAddr"], 8, err)
	return d, err
}

// parseHexDigits wants lower case and zeros in front, which the bridges compare as
// strings. It passes on an earlier error.
func parseHexDigits(text *string, digits int, earlier error) (*uint64, error) {
	if text == nil {
		return nil, earlier
	}
	n, err := strconv.ParseUint(*text, 16, 64)
	if err != nil || len(*text) != digits || *text != strings.ToLower(*text) {
		return new(uint64), fmt.Errorf("%q is not %d digits in lower case", *text, digits)
	}
	return &n, earlier
}

func (a answer) device(status int) parsedDevice {
	a.t.Helper()
	d, err := parseDevice([]byte(a.ok(status)))
	if err != nil {
		a.t.Fatal(err)
	}
	return d
}

func (a answer) devices() []parsedDevice {
	a.t.Helper()
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(a.ok(http.StatusOK)), &raw); err != nil || raw == nil {
		a.t.Fatalf("not a list: %s", a.body)
	}
	list := make([]parsedDevice, len(raw))
	for i := range raw {
		var err error
		if list[i], err = parseDevice(raw[i]); err != nil {
			a.t.Fatal(err)
		}
	}
	return list
}

// euis returns the DevEUIs of a select, in its order.
func (a answer) euis() (list []uint64) {
	a.t.Helper()
	for _, d := range a.devices() {
		list = append(list, d.eui)
	}
	return list
}

func (a answer) group(status int) group {
	a.t.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(a.ok(status))))
	dec.DisallowUnknownFields()
	var g group
	if err := dec.Decode(&g); err != nil || g.Devices == nil {
		a.t.Fatalf("not a group: %s %v", a.body, err)
	}
	if _, err := time.Parse(timeForm, g.Created); err != nil || len(g.Created) != len(timeForm) {
		a.t.Fatalf("created_at %q", g.Created)
	}
	return g
}

// fill inserts the devices 1 to n, each with its DevEUI as JoinEUI, as bridges do.
func (c *client) fill(n int) {
	c.t.Helper()
	for i := 1; i <= n; i++ {
		c.post("devices/insert", fmt.Sprintf(`{"DevEUI":"%016x","JoinEUI":"%016x"}`, i, i)).ok(http.StatusCreated)
	}
}

// The check of devices finds what it is there for.
func TestParseDeviceFinds(t *testing.T) {
	good := `{"CreatedAt":"2025-03-09T21:14:07.350012","DevEUI":"9c1f4a00d2e80b37","JoinEUI":"4be6027755ad9013",` +
		`"ActiveDevAddr":null,"TargetDevAddr":null,"Details":null}`
	if _, err := parseDevice([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"Details":null`, `"details":null`},
		{`"4be6027755ad9013"`, `null`},
		{`"9c1f4a00d2e80b37"`, `"9C1F4A00D2E80B37"`},
		{`"9c1f4a00d2e80b37"`, `"1"`},
		{`350012`, `35`},
		{`350012`, `350012Z`},
		{`"TargetDevAddr":null`, `"TargetDevAddr":"1"`},
	} {
		if _, err := parseDevice([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%s for %s was not found", change[1], change[0])
		}
	}
}
