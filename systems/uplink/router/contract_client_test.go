package router_test

// This file is a customer's client and a gateway, written from the contract and from
// nothing else: it shares no code with the router.

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"github.com/redis/rueidis"

	"contend/internal/testenv"
)

// cmac is AES-CMAC (RFC 4493).
func cmac(key [16]byte, msg []byte) (sum [16]byte) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // only of a key of another length
	}
	double := func(in [16]byte) (out [16]byte) {
		for i := range in {
			out[i] = in[i] << 1
			if i < 15 {
				out[i] |= in[i+1] >> 7
			}
		}
		if in[0]&0x80 != 0 {
			out[15] ^= 0x87
		}
		return out
	}
	var subkey [16]byte
	block.Encrypt(subkey[:], subkey[:])
	subkey = double(subkey)
	if len(msg) == 0 || len(msg)%16 != 0 {
		subkey = double(subkey)
		msg = append(slices.Clone(msg), 0x80)
		msg = append(msg, make([]byte, (16-len(msg)%16)%16)...)
	}
	for i := 0; i < len(msg); i += 16 {
		for j := range sum {
			sum[j] ^= msg[i+j]
			if i == len(msg)-16 {
				sum[j] ^= subkey[j]
			}
		}
		block.Encrypt(sum[:], sum[:])
	}
	return sum
}

// A device of LoRaWAN 1.0: one key does for all that is looked at here.
type device struct {
	eui, joinEUI uint64
	addr         uint32
	key          [16]byte
	counter      uint32
}

// number is a MIC as the streams have it.
func number(sum [16]byte) uint32 { return binary.BigEndian.Uint32(sum[:]) }

// mic is that of a frame without it.
func (d *device) mic(msg []byte) uint32 {
	if msg[0] == 0x00 {
		return number(cmac(d.key, msg)) // a join request
	}
	b0 := []byte{0x49, 0, 0, 0, 0, 0}
	b0 = append(b0, msg[1:5]...)
	b0 = append(b0, msg[6], msg[7], 0, 0, 0, byte(len(msg)))
	return number(cmac(d.key, append(b0, msg...)))
}

func (d *device) joinRequest(nonce uint16) []byte {
	msg := binary.LittleEndian.AppendUint64([]byte{0x00}, d.joinEUI)
	msg = binary.LittleEndian.AppendUint64(msg, d.eui)
	msg = binary.LittleEndian.AppendUint16(msg, nonce)
	return binary.BigEndian.AppendUint32(msg, d.mic(msg))
}

// uplink is the next data frame. Its payload is nobody's concern.
func (d *device) uplink() []byte {
	d.counter++
	msg := binary.LittleEndian.AppendUint32([]byte{0x40}, d.addr)
	msg = append(msg, 0)
	msg = binary.LittleEndian.AppendUint16(msg, uint16(d.counter))
	msg = append(msg, 1, 0xaa, 0xbb, 0xcc)
	return binary.BigEndian.AppendUint32(msg, d.mic(msg))
}

// A customer calls the API and has both streams open; it also reaches gateways.
type customer struct {
	t        *testing.T
	address  string // of the router
	token    string
	up, down *socket
	redis    rueidis.Client
	last     int // transaction of a downlink
}

// call makes a call of the API, which must have the status, and reads the answer.
func (c *customer) call(method, path string, body any, status int, answer any) {
	c.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, "http://"+c.address+"/api/v1/"+path, bytes.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	got, said := exchange(c.t, request)
	if got != status {
		c.t.Fatalf("%s: status %d, want %d: %s", path, got, status, said)
	}
	if err := json.Unmarshal(said, answer); err != nil {
		c.t.Fatalf("%s: %v: %s", path, err, said)
	}
}

func exchange(t *testing.T, request *http.Request) (status int, body []byte) {
	t.Helper()
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}

// A row is a device as the API has it.
type row struct {
	DevEUI, CreatedAt                              string
	JoinEUI, ActiveDevAddr, TargetDevAddr, Details *string
}

// is says what a row has: nothing is "".
func (r row) is() [3]string {
	text := func(s *string) string { return *cmp.Or(s, new("")) }
	return [3]string{text(r.JoinEUI), text(r.ActiveDevAddr), text(r.TargetDevAddr)}
}

// row is a device's, which must be there.
func (c *customer) row(d *device) row {
	c.t.Helper()
	var rows []row
	c.call(http.MethodGet, "devices/select?DevEUIs="+hex(d.eui), nil, http.StatusOK, &rows)
	if len(rows) != 1 {
		c.t.Fatalf("%d rows of %x", len(rows), d.eui)
	}
	return rows[0]
}

func hex(eui uint64) string      { return fmt.Sprintf("%016x", eui) }
func hexAddr(addr uint32) string { return fmt.Sprintf("%08x", addr) }
func bytesOf(list []int) (b []byte) { // what JSON has as an array of numbers
	for _, n := range list {
		b = append(b, byte(n))
	}
	return b
}

// A socket is a stream.
type socket struct {
	net.Conn
	from io.Reader
	t    *testing.T
}

// open opens a stream with the token in the header or in the URL.
func (c *customer) open(path string, header bool) *socket {
	c.t.Helper()
	dialer, url := ws.Dialer{Timeout: testenv.Patience}, "ws://"+c.address+"/api/v1/stream/"+path
	if header {
		dialer.Header = ws.HandshakeHeaderHTTP{"Authorization": {"Bearer " + c.token}}
	} else {
		url += "?access_token=" + c.token
	}
	conn, buffered, _, err := dialer.Dial(c.t.Context(), url)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	s := &socket{Conn: conn, from: bufio.NewReader(conn), t: c.t}
	if buffered != nil {
		s.from = buffered
	}
	return s
}

func (s *socket) read(into any) {
	s.t.Helper()
	s.SetReadDeadline(time.Now().Add(testenv.Patience))
	data, _, err := wsutil.ReadServerData(struct {
		io.Reader
		io.Writer
	}{s.from, s.Conn})
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		s.t.Fatalf("%v: %.300s", err, data)
	}
}

func (s *socket) write(format string, args ...any) {
	s.t.Helper()
	if err := wsutil.WriteClientText(s.Conn, fmt.Appendf(nil, format, args...)); err != nil {
		s.t.Fatal(err)
	}
}

// An upstream is an uplink or a join request as the customer gets it.
type upstream struct {
	ProtocolVersion int
	TransactionID   uint64
	DevEUIs         []uint64
	Radio           struct {
		Frequency int
		LoRa      struct{ Spreading, Bandwidth int }
		RSSI, SNR *float64
	}
	PHYPayloadNoMIC []int
	MICChallenge    []uint32
}

// next reads an upstream of a device, solves it and fails if anything is amiss.
func (c *customer) next(d *device, challenge int) (u upstream, mic uint32) {
	c.t.Helper()
	c.up.read(&u)
	r := u.Radio
	if u.ProtocolVersion != 1 || u.TransactionID == 0 || !slices.Equal(u.DevEUIs, []uint64{d.eui}) || r.Frequency != 868_100_000 ||
		r.LoRa.Spreading != 7 || r.LoRa.Bandwidth != 125_000 || r.RSSI == nil || *r.RSSI != -80 || r.SNR == nil || *r.SNR != 5.5 {
		c.t.Fatalf("upstream %+v", u)
	}
	mic = d.mic(bytesOf(u.PHYPayloadNoMIC))
	if len(u.MICChallenge) != challenge || !slices.Contains(u.MICChallenge, mic) {
		c.t.Fatalf("a challenge of %d entries, want %d with %d among them", len(u.MICChallenge), challenge, mic)
	}
	return u, mic
}

func (c *customer) ack(u upstream, d *device, mic uint32) {
	c.t.Helper()
	c.up.write(`{"ProtocolVersion": 1, "TransactionID": %d, "DevEUI": %d, "MIC": %d}`, u.TransactionID, d.eui, mic)
}

func (c *customer) reject(u upstream, code string) {
	c.t.Helper()
	c.up.write(`{"ProtocolVersion": 1, "TransactionID": %d, "ResultCode": %q}`, u.TransactionID, code)
}

// A downstreamReply is an acknowledgement, which has no code, or a result.
type downstreamReply struct {
	ProtocolVersion           int
	TransactionID, MailboxID  uint64
	ResultCode, ResultMessage string
}

// downlink sends one, with the recipient and time that the members of its JSON
// give, and returns its mailbox.
func (c *customer) downlink(to, when string) (mailbox uint64) {
	c.t.Helper()
	c.last++
	c.down.write(`{"ProtocolVersion": 1, "TransactionID": %d, %s, "PHYPayload": [96, 1, 2, 3, 4, 0, 0, 0, 9, 9, 9, 9],
		"TxWindow": {"Radio": {"Frequency": 869525000, "LoRa": {"Spreading": 12, "Bandwidth": 125000}}, %s}}`, c.last, to, when)
	var a downstreamReply
	c.down.read(&a)
	if a.ProtocolVersion != 1 || a.TransactionID != uint64(c.last) || a.MailboxID == 0 || a.ResultCode != "" {
		c.t.Fatalf("acknowledged as %+v", a)
	}
	return a.MailboxID
}

// result reads that of the last downlink.
func (c *customer) result(mailbox uint64, code, text string) {
	c.t.Helper()
	var r downstreamReply
	c.down.read(&r)
	if r.TransactionID != uint64(c.last) || r.MailboxID != mailbox || r.ResultCode != code || !strings.Contains(r.ResultMessage, text) {
		c.t.Errorf("downlink %d: %+v, want %s with %q", c.last, r, code, text)
	}
}

// ahead is by how much the gateways' clocks are wrong: a window of class A lasts
// longer than any pause of this machine.
const ahead = time.Hour

// heard has a gateway hear a frame.
func (c *customer) heard(phy []byte) {
	c.t.Helper()
	c.redisDo("XADD", "ran:uplinks:0", "*", "v", "1", "phy", string(phy), "gw", "00800000a0001234", "ts", strconv.FormatInt(time.Now().Add(ahead).UnixNano(), 10),
		"freq", "868100000", "mod", "lora", "sf", "7", "bw", "125000", "rssi", "-80", "snr", "5.5")
}

// sent waits for a downlink in the stream of the gateways and returns its fields.
func (c *customer) sent(mailbox uint64) (fields map[string]string) {
	c.t.Helper()
	testenv.Eventually(c.t, "the gateways are told", func() bool {
		result := c.redis.Do(c.t.Context(), c.redis.B().Arbitrary("XRANGE", "ran:downlinks", "-", "+").Build())
		entries, err := result.AsXRange()
		if err != nil {
			c.t.Fatal(err)
		}
		for _, e := range entries {
			if e.FieldValues["mailbox"] == strconv.FormatUint(mailbox, 10) {
				fields = e.FieldValues
			}
		}
		return fields != nil
	})
	return fields
}

// tell has a gateway say what became of a downlink.
func (c *customer) tell(mailbox uint64, code int, text string) {
	c.t.Helper()
	c.redisDo("XADD", "ran:downlinks:results", "*", "v", "1", "mailbox", strconv.FormatUint(mailbox, 10), "customer", "acme",
		"tx", strconv.Itoa(c.last), "code", strconv.Itoa(code), "text", text)
}

func (c *customer) redisDo(args ...string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), testenv.Patience)
	defer cancel()
	if err := c.redis.Do(ctx, c.redis.B().Arbitrary(args...).Build()).Error(); err != nil {
		c.t.Fatal(err)
	}
}

// counted waits until a counter of the router has a value: answers have no answer.
func (c *customer) counted(name string, value int) {
	c.t.Helper()
	testenv.Eventually(c.t, fmt.Sprint(name, " is ", value), func() bool { return c.count(name) == value })
}

func (c *customer) count(name string) int {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "http://"+c.address+"/metrics", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	_, text := exchange(c.t, request)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "contend_router_"+name+" "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				c.t.Fatal(err)
			}
			return n
		}
	}
	c.t.Fatal("there is no counter ", name)
	return 0
}
