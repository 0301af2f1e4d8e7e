package gen

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"

	"contend/internal/uplink/lorawan"
	"contend/internal/uplink/message"
)

// Counts are what was made. Entries are all of them, the end marker too.
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
	// prepared holds keys in the place of the device's number modulo its length.
	prepared []preparedDevice
	plain    []byte

	// The write: list is the used part of uplinks.
	uplinks, list []*message.Uplink
	counts        Counts
}

// maxPrepared bounds the devices whose keys are kept prepared, at 1 kB each.
const maxPrepared = 1 << 14

type preparedDevice struct {
	number int
	lorawan.Device
	mic     *lorawan.CMAC // nil: nobody's place
	payload *lorawan.Cipher
}

func newMaker(c Config) *maker {
	return &maker{
		config: c, total: c.Total(), random: rand.New(rand.NewPCG(c.Seed, 1)), swapped: make([]bool, c.Devices),
		prepared: make([]preparedDevice, min(c.Devices, maxPrepared)),
	}
}

func (m *maker) device(number int) *preparedDevice {
	d := &m.prepared[number%len(m.prepared)]
	if d.mic == nil || d.number != number {
		device := lorawan.DemoDevice(m.config.Seed, number)
		*d = preparedDevice{number, device, lorawan.NewCMAC(device.NwkSKey), lorawan.NewCipher(device.AppSKey)}
	}
	return d
}

// A stamp is what the payload says: when, and for a rate how much later the
// uplink was sent.
type stamp struct {
	at     time.Time
	lag    time.Duration
	hasLag bool
}

func (m *maker) payload(s stamp) []byte {
	m.plain = binary.LittleEndian.AppendUint64(m.plain[:0], uint64(s.at.UnixNano()))
	if s.hasLag {
		lag := min(max(0, s.lag.Microseconds()), math.MaxUint32)
		m.plain = binary.LittleEndian.AppendUint32(m.plain, uint32(lag))
	}
	return m.plain
}

// port is any that an application may use.
const port = 1

// make makes the next uplink, and what goes with it.
func (m *maker) make(s stamp) {
	number := int(m.made % int64(m.config.Devices))
	fcnt := m.counter(number)
	m.made++
	d := m.device(number)
	u := m.next(s.at)
	u.PHY = lorawan.AppendUplink(u.PHY[:0], lorawan.Uplink{
		DevAddr: d.DevAddr, FCnt: fcnt, FPort: port, Payload: m.payload(s),
	}, d.mic, d.payload)
	m.counts.Uplinks++
	if m.happens(m.config.Duplicates) {
		again := m.next(s.at)
		again.PHY = append(again.PHY[:0], u.PHY...)
		m.counts.Duplicates++
	}
	if m.happens(m.config.JoinRequests) {
		u := m.next(s.at)
		u.PHY = lorawan.AppendJoinRequest(u.PHY[:0], d.JoinEUI, d.DevEUI, m.nonce, d.mic)
		m.nonce++
		m.counts.JoinRequests++
	}
	if m.happens(m.config.Malformed) {
		u := m.next(s.at)
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

// end makes the end marker: one more uplink of the first device, with a payload of
// eight ff bytes.
func (m *maker) end(at time.Time) {
	d := m.device(0)
	u := m.next(at)
	u.PHY = lorawan.AppendUplink(u.PHY[:0], lorawan.Uplink{
		DevAddr: d.DevAddr, FCnt: uint32(m.uplinksOf(0)), FPort: port,
		Payload: binary.LittleEndian.AppendUint64(m.plain[:0], math.MaxUint64),
	}, d.mic, d.payload)
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
