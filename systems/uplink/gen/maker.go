package gen

import (
	"math/rand/v2"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// Counts are what was made. Entries are all of them, including the end marker.
type Counts struct {
	Uplinks      int64 `json:"uplinks"` // different ones
	Duplicates   int64 `json:"duplicates"`
	Reordered    int64 `json:"reordered"` // sent after the next one of their device
	JoinRequests int64 `json:"join_requests"`
	Malformed    int64 `json:"malformed"`
	Entries      int64 `json:"entries"`
}

// A maker makes frames and collects them for a write.
type maker struct {
	config  Config
	total   int64
	random  *rand.Rand
	made    int64 // different uplinks
	nonce   uint16
	swapped []bool // of each device: the uplink before the one that was sent is missing
	devices *lorawan.DemoDevices
	plain   []byte

	// The write: list is the used part of uplinks.
	uplinks, list []*message.Uplink
	counts        Counts
}

func newMaker(c Config) *maker {
	return &maker{
		config: c, total: c.Total(), random: rand.New(rand.NewPCG(c.Seed, 1)), swapped: make([]bool, c.Devices),
		devices: lorawan.NewDemoDevices(c.Seed, c.Devices),
	}
}

// port is any that an application may use.
const port = 1

// make makes the next uplink, and what goes with it.
func (m *maker) make(s message.Stamp) {
	number := int(m.made % int64(m.config.Devices))
	fcnt := m.counter(number)
	m.made++
	d := m.devices.Device(number)
	m.plain = s.Append(m.plain[:0])
	u := m.uplink(d, fcnt, s.At)
	m.counts.Uplinks++
	if m.happens(m.config.Duplicates) {
		duplicate := m.next(s.At)
		duplicate.PHY = append(duplicate.PHY[:0], u.PHY...)
		m.counts.Duplicates++
	}
	if m.happens(m.config.JoinRequests) {
		u := m.next(s.At)
		u.PHY = lorawan.AppendJoinRequest(u.PHY[:0], d.JoinEUI, d.DevEUI, m.nonce, d.MIC)
		m.nonce++
		m.counts.JoinRequests++
	}
	if m.happens(m.config.Malformed) {
		u := m.next(s.At)
		u.PHY = appendMalformed(u.PHY[:0], int(m.counts.Malformed%int64(len(malformed))), m.random)
		m.counts.Malformed++
	}
}

// counter returns the counter of the device's next uplink: its number among the
// device's, unless it changes places with the one after it.
func (m *maker) counter(number int) uint32 {
	n := m.made / int64(m.config.Devices)
	if m.swapped[number] {
		m.swapped[number] = false
		m.counts.Reordered++
		return uint32(n - 1)
	}
	if last := n+1 >= m.uplinksOf(number); !last && m.happens(m.config.Reorder) {
		m.swapped[number] = true
		n++
	}
	return uint32(n)
}

// uplinksOf returns how many uplinks the device will have sent in the end.
func (m *maker) uplinksOf(number int) int64 {
	n := m.total / int64(m.config.Devices)
	if int64(number) < m.total%int64(m.config.Devices) {
		n++
	}
	return n
}

func (m *maker) happens(share float64) bool { return share > 0 && m.random.Float64() < share }

// end makes the end marker: one more uplink of the first device.
func (m *maker) end(at time.Time) {
	m.plain = message.AppendEndMarker(m.plain[:0], at)
	m.uplink(m.devices.Device(0), uint32(m.uplinksOf(0)), at)
}

// uplink adds an uplink of a device, with the plain payload, to the write.
func (m *maker) uplink(d *lorawan.PreparedDevice, fcnt uint32, at time.Time) *message.Uplink {
	u := m.next(at)
	u.PHY = lorawan.AppendUplink(u.PHY[:0], lorawan.Uplink{DevAddr: d.DevAddr, FCnt: fcnt, FPort: port, Payload: m.plain}, d.MIC, d.Payload)
	return u
}

// firstGateway is the first of the gateways' EUIs, locally administered.
const firstGateway lorawan.EUI = 0xa6fe << 48

// next returns an uplink of the write to be filled in.
func (m *maker) next(at time.Time) *message.Uplink {
	n := len(m.list)
	if n == len(m.uplinks) {
		m.uplinks = append(m.uplinks, new(message.Uplink))
	}
	u := m.uplinks[n]
	m.list = append(m.list, u)
	gateway := m.counts.Entries % int64(m.config.Gateways)
	m.counts.Entries++
	u.Gateway, u.Received = firstGateway+lorawan.EUI(gateway), at
	u.Radio = message.Radio{
		Frequency: 867_500_000, Spreading: 9, Bandwidth: 125_000, RSSI: -97 - float32(gateway%20), SNR: 4.75,
	}
	return u
}
