package router

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"go.uber.org/goleak"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/api"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/table"
)

// patience is how long a test waits for what has to come.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(processKey) != "" {
		os.Exit(processMain())
	}
	flag.Set("test.parallel", "16") // these tests wait for processes more than they compute
	// The client of clusters closes the connections to nodes that are gone five seconds later.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

// tokens of two customers, and one that has expired.
const tokens = "acme acme-token-0001\nother other-token-0001\nlate late-token-00001 2020-01-01T00:00:00Z\n"

// A service is a router on real sockets, with what it works with.
type service struct {
	*Router
	site
	redis    *queue.Redis
	table    *table.Table
	producer *queue.Producer
	cancel   context.CancelFunc
	stopped  chan error
}

// bothRedis runs a test over the embedded Redis and, where it is installed, a real
// one.
func bothRedis(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("embedded", func(t *testing.T) { test(t, "") })
	t.Run("managed", func(t *testing.T) {
		redistest.Need(t)
		test(t, redisserver.Managed)
	})
}

// start starts a router. Alter may change its configuration.
func start(t *testing.T, redisURL string, alter func(*Config)) *service {
	t.Helper()
	s := startWith(t, openRedis(t, redisURL), openTable(t, memory), alter)
	t.Cleanup(s.stopRouter)
	return s
}

func startWith(t *testing.T, redis *queue.Redis, rows *table.Table, alter func(*Config)) *service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // which the router closes
	if err != nil {
		t.Fatal(err)
	}
	known, err := api.ParseTokens(strings.NewReader(tokens))
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Redis: redis, Table: rows, Tokens: known, Listener: listener, Instance: "one", Dedup: Dedup{Window: 2 * time.Second},
		Trust: outbox.TrustConfig{Start: 16, Reduce: true}, DrainTimeout: time.Second, Log: slog.New(slog.DiscardHandler)}
	if alter != nil {
		alter(&c)
	}
	s := &service{site: site{t, listener.Addr().String()}, redis: redis, table: rows, stopped: make(chan error, 1)}
	if s.Router, err = New(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.stopped <- s.Serve(ctx) }()
	if s.producer, err = queue.NewProducer(t.Context(), redis, queue.ProducerConfig{}); err != nil {
		t.Fatal(err)
	}
	s.until("the router is ready", func() bool { return s.ready.Load() })
	return s
}

func (s *service) stopRouter() {
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.cancel = nil
	select {
	case err := <-s.stopped:
		if err != nil {
			s.t.Error(err)
		}
	case <-time.After(patience):
		s.t.Error("the router did not stop")
	}
}

// frame is an uplink of a device.
func frame(d lorawan.Device, counter uint32) []byte {
	return lorawan.AppendUplink(nil, lorawan.Uplink{DevAddr: d.DevAddr, FCnt: counter, FPort: 1, Payload: []byte("12345678")},
		lorawan.NewCMAC(d.NwkSKey), lorawan.NewCipher(d.AppSKey))
}

// send has gateways hear frames.
func (s *service) send(frames ...[]byte) {
	s.t.Helper()
	var uplinks []*message.Uplink
	for i, phy := range frames {
		uplinks = append(uplinks, &message.Uplink{PHY: phy, Gateway: lorawan.EUI(i + 1), Received: time.Now(),
			Radio: message.Radio{Frequency: 868_100_000, Spreading: 7, Bandwidth: 125_000, RSSI: -80, SNR: float32(i)}})
	}
	if err := s.producer.Add(s.t.Context(), uplinks); err != nil {
		s.t.Fatal(err)
	}
}

// A client is a customer's connection.
type client struct {
	net.Conn
	from io.Reader
	t    testing.TB
}

// dial opens a stream, as "upstream/"; the error is that of the handshake.
func (s *service) dial(token, path string) (*client, error) {
	dialer := ws.Dialer{Timeout: patience}
	if token != "" {
		dialer.Header = ws.HandshakeHeaderHTTP{"Authorization": {"Bearer " + token}}
	}
	conn, buffered, _, err := dialer.Dial(s.t.Context(), "ws://"+s.address+"/api/v1/stream/"+path)
	if err != nil {
		return nil, err
	}
	c := &client{Conn: conn, from: conn, t: s.t}
	if buffered != nil {
		c.from = buffered
	}
	s.t.Cleanup(func() { conn.Close() })
	return c, nil
}

func (s *service) connect(token, path string) *client {
	s.t.Helper()
	c, err := s.dial(token, path)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

type readWriter struct {
	io.Reader
	io.Writer
}

// read returns the next message of the stream, or fails after patience.
func (c *client) read() []byte {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(patience))
	data, _, err := wsutil.ReadServerData(readWriter{c.from, c.Conn})
	if err != nil {
		c.t.Fatal(err)
	}
	return data
}

// silent fails if a message comes within a moment.
func (c *client) silent() {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if data, _, err := wsutil.ReadServerData(readWriter{c.from, c.Conn}); err == nil {
		c.t.Fatalf("unexpected: %.200s", data)
	}
}

func (c *client) upstream() message.Upstream {
	c.t.Helper()
	var u message.Upstream
	if err := message.ParseUpstream(c.read(), &u); err != nil {
		c.t.Fatal(err)
	}
	return u
}

func (c *client) write(data []byte) {
	c.t.Helper()
	if err := wsutil.WriteClientText(c.Conn, data); err != nil {
		c.t.Fatal(err)
	}
}

// downlink sends one, with the recipient and time that the members of its JSON give.
func (c *client) downlink(transaction int, to, timing string) {
	c.t.Helper()
	c.write(fmt.Appendf(nil, `{"ProtocolVersion": 1, "TransactionID": %d, %s, "PHYPayload": [1],
		"TxWindow": {"Radio": {"Frequency": 867500000, "LoRa": {"Spreading": 9, "Bandwidth": 125000}}, %s}}`, transaction, to, timing))
}

// A reply to a downlink; an acknowledgement has no code.
type reply struct {
	TransactionID, MailboxID  uint64
	ResultCode, ResultMessage string
}

func (c *client) reply() (r reply) {
	c.t.Helper()
	if err := json.Unmarshal(c.read(), &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *client) answer(a message.Answer) { c.write(message.AppendAnswer(nil, &a)) }

// solve acknowledges an uplink of a device.
func (c *client) solve(u *message.Upstream, d lorawan.Device) {
	c.answer(message.Answer{Transaction: u.Transaction, DevEUI: d.DevEUI, MIC: micOf(u, d)})
}

// micOf is the MIC of a device's frame, which is in the challenge.
func micOf(u *message.Upstream, d lorawan.Device) uint32 {
	f, err := lorawan.Parse(append(u.PHYNoMIC[:len(u.PHYNoMIC):len(u.PHYNoMIC)], 0, 0, 0, 0))
	if err != nil {
		return 0
	}
	return lorawan.NewCMAC(d.NwkSKey).UplinkMIC(d.DevAddr, uint32(f.FCnt), u.PHYNoMIC)
}
