package router_test

import (
	"encoding/binary"
	hexadecimal "encoding/hex"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"contend/internal/testenv"
	"contend/systems/uplink/router"
	"contend/systems/uplink/table/tabletest"
)

// The whole flow of a customer, from the first row to the last downlink, over both
// databases.
func TestContract(t *testing.T) {
	for name, url := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "table.db") },
		"postgres": func(t *testing.T) string { return tabletest.Shared(t).Fresh(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCustomer(t, url(t))
			d := &device{eui: 0x9c1f4a00d2e80b37, joinEUI: 0x4be6027755ad9013, addr: 0x26011bda}
			copy(d.key[:], "a key of a device")
			c.insert(d)
			c.up, c.down = c.open("upstream/", true), c.open("downstream", false)
			c.joins(d)
			c.trusted(d)
			c.suspendedAndLifted(d)
			c.connectedAgain(d)
			c.multicast(d)
			c.downlinks(d)
		})
	}
}

// newCustomer is that of a new router.
func newCustomer(t *testing.T, db string) *customer {
	t.Helper()
	address, redis := router.ServeContract(t, db)
	client, err := rueidis.NewClient(redis)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &customer{t: t, address: address, token: "acme-token-0001", redis: client}
}

// insert adds a device that joins. It cannot be added twice.
func (c *customer) insert(d *device) {
	c.t.Helper()
	new := map[string]string{"DevEUI": hex(d.eui), "JoinEUI": hex(d.joinEUI)}
	var r row
	c.call(http.MethodPost, "devices/insert", new, http.StatusCreated, &r)
	if created, err := time.Parse("2006-01-02T15:04:05.000000", r.CreatedAt); r.DevEUI != hex(d.eui) || err != nil ||
		time.Since(created).Abs() > time.Hour || r.is() != [3]string{hex(d.joinEUI)} {
		c.t.Fatalf("inserted %+v, %v", r, err)
	}
	var refused struct {
		Detail struct {
			Code string `json:"error_code"`
		} `json:"detail"`
	}
	c.call(http.MethodPost, "devices/insert", new, http.StatusConflict, &refused)
	if refused.Detail.Code != "Device.AlreadyExists" {
		c.t.Errorf("inserted again: %+v", refused)
	}
}

// joins has the device ask, the customer offer an address in a join accept, and the
// device use it. Before, it asks another network, and whoever answers has another key.
func (c *customer) joins(d *device) {
	c.t.Helper()
	elsewhere := *d
	elsewhere.joinEUI++
	c.heard(elsewhere.joinRequest(1))
	c.counted(`uplinks_total{fate="unroutable"}`, 1)
	c.heard(d.joinRequest(2))
	u, _ := c.next(d, 4096)
	c.ack(u, d, new(device).mic(bytesOf(u.PHYPayloadNoMIC)))
	c.counted(`answers_total{kind="wrong_mic"}`, 1)
	c.heard(d.joinRequest(3))
	u, mic := c.next(d, 4096)
	c.ack(u, d, mic)
	c.counted(`answers_total{kind="right_mic"}`, 1)
	mailbox := c.downlink(fmt.Sprintf(`"DevEUI": %d, "TargetDevAddr": %d`, d.eui, d.addr), `"Delay": 15`)
	if f := c.sent(mailbox); f["device"] != hex(d.eui) || f["target"] != hexAddr(d.addr) || f["delay"] != "15" || f["customer"] != "acme" || len(f["phy"]) != 12 {
		c.t.Errorf("the gateways are told %v", f)
	}
	c.tell(mailbox, 0, "sent")
	c.result(mailbox, "Success", "sent")
	if got, want := c.row(d).is(), [3]string{hex(d.joinEUI), "", hexAddr(d.addr)}; got != want {
		c.t.Errorf("after the join accept the row has %v, want %v", got, want)
	}
	c.heard(d.uplink())
	u, mic = c.next(d, 2048)
	c.ack(u, d, mic)
	testenv.Eventually(c.t, "the target is the active address", func() bool {
		return c.row(d).is() == [3]string{hex(d.joinEUI), hexAddr(d.addr), ""}
	})
}

// trusted has every answer change the length of the next challenge.
func (c *customer) trusted(d *device) {
	c.t.Helper()
	for _, step := range []struct {
		challenge int
		reject    string
		wrong     uint32 // what is added to the MIC
		kind      string
		counted   int // with those before
	}{
		{1024, "", 0, "right_mic", 3},
		{512, "MICFailed", 0, "mic_failed", 1},
		{512, "Other", 0, "other_reject", 1},
		{512, "", 1, "wrong_mic", 2},
		{2048, "", 0, "right_mic", 4},
	} {
		c.heard(d.uplink())
		u, mic := c.next(d, step.challenge)
		if step.reject != "" {
			c.reject(u, step.reject)
		} else {
			c.ack(u, d, mic+step.wrong)
		}
		c.counted(`answers_total{kind="`+step.kind+`"}`, step.counted)
	}
}

// suspendedAndLifted gives 51 wrong MICs for the device, which is once too often, and
// makes its row anew.
func (c *customer) suspendedAndLifted(d *device) {
	c.t.Helper()
	for i := range 51 {
		c.heard(d.uplink())
		u, mic := c.next(d, min(1024<<min(2*i, 2), 4096))
		c.ack(u, d, mic+1)
		c.counted(`answers_total{kind="wrong_mic"}`, 3+i) // with those before; the next challenge depends on it
	}
	c.counted("suspensions_total", 1)
	c.heard(d.uplink())
	testenv.Eventually(c.t, "it is dropped", func() bool { // as soon as the row says it, before it is a message
		return c.count(`uplinks_total{fate="suspended"}`)+c.count(`outcomes_total{outcome="dropped_suspended"}`) == 1
	})
	var gone struct{ Deleted int }
	c.call(http.MethodPost, "devices/drop", map[string][]string{"DevEUIs": {hex(d.eui), "0000000000000001"}}, http.StatusOK, &gone)
	if gone.Deleted != 1 {
		c.t.Errorf("dropped %d, want 1", gone.Deleted)
	}
	c.insert(d)
	var r row
	c.call(http.MethodPost, "devices/update", map[string]string{"DevEUI": hex(d.eui), "JoinEUI": hex(d.joinEUI), "ActiveDevAddr": hexAddr(d.addr)},
		http.StatusOK, &r)
	if got, want := r.is(), [3]string{hex(d.joinEUI), hexAddr(d.addr), ""}; got != want {
		c.t.Errorf("updated to %v, want %v", got, want)
	}
	c.heard(d.uplink())
	u, mic := c.next(d, 4096)
	c.ack(u, d, mic)
	c.counted(`answers_total{kind="right_mic"}`, 5)
}

// connectedAgain loses the upstream before an answer, and gets the same on another one.
func (c *customer) connectedAgain(d *device) {
	c.t.Helper()
	c.heard(d.uplink())
	before, _ := c.next(d, 2048)
	c.up.Close()
	c.up = c.open("upstream", true)
	u, mic := c.next(d, 2048)
	if u.TransactionID != before.TransactionID || !slices.Equal(u.MICChallenge, before.MICChallenge) || !slices.Equal(u.PHYPayloadNoMIC, before.PHYPayloadNoMIC) {
		c.t.Errorf("transaction %d came again as %d, or with other bytes", before.TransactionID, u.TransactionID)
	}
	c.ack(u, d, mic)
	c.counted(`answers_total{kind="right_mic"}`, 6)
}

// multicast has a group with two devices, removes one, and sends to the group once.
func (c *customer) multicast(d *device) {
	c.t.Helper()
	const addr = uint32(0x0f41c7aa)
	type group struct {
		Addr, Name string
		Devices    []string
	}
	second := &device{eui: d.eui + 3, joinEUI: d.joinEUI}
	c.insert(second)
	const groups = "multicast/multicast-groups/"
	var g group
	c.call(http.MethodPost, groups+"create", map[string]string{"name": "street lamps north", "addr": hexAddr(addr)}, http.StatusCreated, &g)
	change := func(call, did string, d *device) {
		c.t.Helper()
		var is map[string]bool
		c.call(http.MethodPost, groups+call, map[string]string{"addr": hexAddr(addr), "dev_eui": hex(d.eui)}, http.StatusOK, &is)
		if !is[did] {
			c.t.Errorf("%s of %x: %v", call, d.eui, is)
		}
	}
	has := func(devices ...string) {
		c.t.Helper()
		var list []group
		c.call(http.MethodPost, groups+"get", map[string][]string{"addrs": {}}, http.StatusOK, &list)
		if len(list) != 1 || list[0].Name != "street lamps north" || !slices.Equal(list[0].Devices, devices) {
			c.t.Errorf("groups %+v, want one of %v", list, devices)
		}
	}
	change("add-device", "is_added", d)
	change("add-device", "is_added", second)
	has(hex(d.eui), hex(second.eui))
	change("remove-device", "is_removed", second)
	has(hex(d.eui))
	to := fmt.Sprintf(`"Addr": %d`, addr)
	mailbox := c.downlink(to, `"Deadline": 1`)
	if f := c.sent(mailbox); f["group"] != hexAddr(addr) || f["device"] != "" || f["deadline"] != "1" {
		c.t.Errorf("the gateways are told %v", f)
	}
	c.tell(mailbox, 0, "sent")
	c.result(mailbox, "Success", "sent")
	change("remove-device", "is_removed", d)
	var gone struct{ Deleted int }
	c.call(http.MethodPost, groups+"delete", map[string][]string{"addrs": {hexAddr(addr)}}, http.StatusOK, &gone)
	if gone.Deleted != 1 {
		c.t.Errorf("deleted %d, want 1", gone.Deleted)
	}
	mailbox = c.downlink(to, `"Deadline": 1`)
	c.result(mailbox, "GatewayNotFound", "no multicast group "+hexAddr(addr))
}

// downlinks ends one with each result: by what the router knows, or a gateway tells.
func (c *customer) downlinks(d *device) {
	c.t.Helper()
	quiet := &device{eui: d.eui + 1, joinEUI: d.joinEUI}
	c.insert(quiet)
	to := func(eui uint64) string { return fmt.Sprintf(`"DevEUI": %d`, eui) }
	for _, step := range []struct {
		to, when string
		told     int // by a gateway; -1: none is asked
		code     string
		text     string
	}{
		{to(d.eui), `"Deadline": 1`, 0, "Success", "sent"},
		{to(d.eui), `"Delay": 15`, 1, "WindowNotFound", "no slot"},
		{to(quiet.eui), `"Delay": 1`, -1, "WindowNotFound", "no uplink"}, // it was never heard
		{to(d.eui), `"Deadline": 1`, 2, "GatewayNotFound", "out of reach"},
		{to(d.eui + 2), `"Deadline": 1`, -1, "GatewayNotFound", "no subscription"}, // nobody's
		{to(d.eui), `"TMMS": [1400000000000, 99000000000000]`, 3, "TooLate", "busy"},
		{to(d.eui), `"TMMS": [1000000000000]`, -1, "TooLate", ""}, // in 2011
		{to(d.eui), `"TMMS": [1, 2, 3, 4, 5, 6, 7, 8, 9]`, -1, "WindowNotFound", "TMMS has 9 moments; expected 1 to 8"},
		{to(d.eui), `"Deadline": 1`, 4, "NoAck", "silence"},
		{to(d.eui), `"Deadline": 1`, 5, "GatewayError", "TOO_EARLY"},
	} {
		mailbox := c.downlink(step.to, step.when)
		if step.told >= 0 {
			c.sent(mailbox)
			c.tell(mailbox, step.told, step.text)
		}
		c.result(mailbox, step.code, step.text)
	}
}

// The client computes what the contract's vectors say.
func TestContractVectors(t *testing.T) {
	t.Parallel()
	decode := func(text string) []byte {
		t.Helper()
		b, err := hexadecimal.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	rfc := decode("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
	for n, want := range map[int]string{0: "bb1d6929e95937287fa37d129b756746", 16: "070a16b46b4d4144f79bdd9dd04a287c",
		40: "dfa66747de9ae63030ca32611497c827", 64: "51f0bebf7e3b9d92fc49741779363cfe"} {
		if got := cmac([16]byte(decode("2b7e151628aed2a6abf7158809cf4f3c")), rfc[:n]); hexadecimal.EncodeToString(got[:]) != want {
			t.Errorf("CMAC of %d bytes: %x, want %s", n, got, want)
		}
	}
	for frame, key := range map[string]string{
		"40f17dbe4900020001954378762b11ff0d":             "44024241ed4ce9a68c6a8bc055233fd3",
		"40f17dbe49000300012a3518af":                     "44024241ed4ce9a68c6a8bc055233fd3",
		"00dc0000d07ed5b3701e6fedf57ceeaf00c886030af2c9": "b6b53f4a168a7a88bdf7ea135ce9cfca",
	} {
		phy, d := decode(frame), &device{key: [16]byte(decode(key))}
		if got, want := d.mic(phy[:len(phy)-4]), binary.BigEndian.Uint32(phy[len(phy)-4:]); got != want {
			t.Errorf("%s: MIC %08x, want %08x", frame, got, want)
		}
	}
}
