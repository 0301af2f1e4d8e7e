package queue

import (
	"strconv"
	"unsafe"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// The fields of an entry. They are written in this order, which Redis rewards:
// an entry with the fields of the one before it does not store their names.
const (
	fieldVersion   = "v"
	fieldPHY       = "phy"
	fieldGateway   = "gw"
	fieldTime      = "ts"
	fieldFrequency = "freq"
	fieldModule    = "mod"
	fieldSpreading = "sf"
	fieldBandwidth = "bw"
	fieldDeviation = "dev"
	fieldBitRate   = "br"
	fieldWidth     = "ocw"
	fieldCoding    = "cr"
	fieldRSSI      = "rssi"
	fieldSNR       = "snr"
	fieldLatitude  = "lat"
	fieldLongitude = "lng"
	fieldAltitude  = "alt"
	// fieldArrived is in the streams of customers only: when an entry came to the intake, in milliseconds of Redis.
	fieldArrived = "at"
)

// The versions of the contract of gateways. An entry of byFrame may be in any partition: its writer chose that by a
// hash of the frame. Routers that know no other version run together with newer ones for a while, so routers write
// this version.
const (
	byFrame   = "1"
	byAddress = "2"
)

// version is that of downlinks and their results.
const version = "1"

// The texts of the modulations.
const (
	modLoRa = "lora"
	modFSK  = "fsk"
	modFHSS = "fhss"
)

// An encoder turns values into the arguments of commands. The arguments point
// into buf: they live until it is reset.
type encoder struct {
	buf  []byte
	args []string
}

func (e *encoder) reset() { e.buf, e.args = e.buf[:0], e.args[:0] }

func (e *encoder) uplink(u *message.Uplink, version string) {
	e.args = append(e.args, fieldVersion, version)
	e.field(fieldPHY, append(e.buf, u.PHY...))
	e.eui(fieldGateway, u.Gateway)
	e.field(fieldTime, strconv.AppendInt(e.buf, u.Received.UnixNano(), 10))
	e.radio(&u.Radio)
	e.float(fieldRSSI, float64(u.Radio.RSSI), 32)
	e.float(fieldSNR, float64(u.Radio.SNR), 32)
	if p := u.Position; p != nil {
		e.float(fieldLatitude, p.Latitude, 64)
		e.float(fieldLongitude, p.Longitude, 64)
		if p.HasAltitude {
			e.float(fieldAltitude, p.Altitude, 64)
		}
	}
}

func (e *encoder) radio(r *message.Radio) {
	e.uint(fieldFrequency, uint64(r.Frequency))
	switch r.Modulation {
	case message.FSK:
		e.args = append(e.args, fieldModule, modFSK)
		e.uint(fieldDeviation, uint64(r.FrequencyDeviation))
		e.uint(fieldBitRate, uint64(r.BitRate))
	case message.FHSS:
		e.args = append(e.args, fieldModule, modFHSS)
		e.uint(fieldWidth, uint64(r.ChannelWidth))
		e.args = append(e.args, fieldCoding, r.CodingRate)
	default:
		e.args = append(e.args, fieldModule, modLoRa)
		e.uint(fieldSpreading, uint64(r.Spreading))
		e.uint(fieldBandwidth, uint64(r.Bandwidth))
	}
}

// field adds a value, by which buf became so much longer.
func (e *encoder) field(name string, buf []byte) {
	e.args = append(e.args, name)
	e.value(buf)
}

// value adds an argument, by which buf became so much longer.
func (e *encoder) value(buf []byte) {
	value := buf[len(e.buf):]
	e.buf = buf
	e.args = append(e.args, unsafe.String(unsafe.SliceData(value), len(value)))
}

func (e *encoder) uint(name string, value uint64) {
	e.field(name, strconv.AppendUint(e.buf, value, 10))
}

func (e *encoder) float(name string, value float64, bits int) {
	e.field(name, strconv.AppendFloat(e.buf, value, 'g', -1, bits))
}

func (e *encoder) eui(name string, value lorawan.EUI) {
	buf, _ := value.AppendText(e.buf) // never fails
	e.field(name, buf)
}

func (e *encoder) addr(name string, value lorawan.DevAddr) {
	buf, _ := value.AppendText(e.buf)
	e.field(name, buf)
}

// id adds an entry's identifier as an argument without a name.
func (e *encoder) id(id entryID) {
	e.value(strconv.AppendUint(append(strconv.AppendUint(e.buf, id.millis, 10), '-'), id.seq, 10))
}
