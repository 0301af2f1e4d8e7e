// Package message holds the messages between gateways, router and customers, and the
// JSON of the customers' stream.
package message

import (
	"sync/atomic"
	"time"

	"contend/systems/uplink/lorawan"
)

// Radio is how a frame was sent, and received.
type Radio struct {
	Frequency  uint32 // Hz
	Modulation Modulation
	// LoRa: spreading factor 0 to 12, bandwidth in Hz.
	Spreading, Bandwidth uint32
	// FSK: deviation in Hz, bits per second.
	FrequencyDeviation, BitRate uint32
	// FHSS: occupied channel width in Hz, and the coding rate, as "4/6".
	ChannelWidth uint32
	CodingRate   string
	// For an uplink: signal strength in dBm, signal-to-noise ratio in dB.
	RSSI, SNR float32
}

// A Modulation is one of the three that LoRaWAN knows.
type Modulation uint8

// The modulations; the zero value is LoRa.
const (
	LoRa Modulation = iota
	FSK
	FHSS
)

// A Position is where a frame was heard, in degrees and metres.
type Position struct {
	Latitude, Longitude float64
	Altitude            float64
	HasAltitude         bool
}

// An Uplink is a frame as a gateway heard it, and an entry of the intake.
// Nothing changes it after it was read but Recipients.
type Uplink struct {
	PHY      []byte // with its MIC
	Gateway  lorawan.EUI
	Received time.Time // by the gateway, as its clock has it
	// Arrived is when its entry came to the intake, as this instance's clock has it, and Delay for how long it
	// had been on its way.
	Arrived  time.Time
	Delay    time.Duration
	Radio    Radio
	Position *Position // nil: not known
	Origin   Origin
	// Recipients counts the customers that still have to settle it; the router
	// sets it.
	Recipients atomic.Int32
}

// Heard returns when the frame was received, as this instance's clock has it.
func (u *Uplink) Heard() time.Time { return u.Arrived.Add(-u.Delay) }

// An Origin is the place of an uplink in the intake: the partition and the two
// halves of the stream's entry identifier.
type Origin struct {
	Partition   int
	Millis, Seq uint64
	Deliveries  int // how often it was delivered, this time included
}

// Origins returns those of uplinks.
func Origins(uplinks []*Uplink) []Origin {
	origins := make([]Origin, len(uplinks))
	for i, u := range uplinks {
		origins[i] = u.Origin
	}
	return origins
}

// An Upstream is an uplink for a customer: without its MIC, which is among those
// of the challenge.
type Upstream struct {
	Transaction uint64 // from 1
	Outdated    bool   // older than 2.5 s
	DevEUIs     []lorawan.EUI
	Radio       Radio
	PHYNoMIC    []byte
	Challenge   []uint32
	Position    *Position
}

// An Answer is a customer's to an Upstream: an acknowledgement with the MIC that
// it found, or a reject.
type Answer struct {
	Transaction uint64
	DevEUI      lorawan.EUI // of an acknowledgement
	MIC         uint32
	Reject      Reject // RejectNone: an acknowledgement
	Text        string // of a reject; optional
}

// A Reject is why a customer did not accept an uplink.
type Reject uint8

// The reasons.
const (
	RejectNone Reject = iota
	MICFailed
	RejectOther
)

// A Downstream is a frame that a customer wants sent to a device, or to a group.
type Downstream struct {
	Transaction uint64
	Multicast   bool
	DevEUI      lorawan.EUI     // unless Multicast
	Group       lorawan.DevAddr // of a Multicast
	// Target is the address that a join accept offers; nil: none.
	Target *lorawan.DevAddr
	Window Window
	PHY    []byte // with its MIC
}

// A Window is when, and how, a downlink is to be sent. Exactly one of Delay,
// TMMS and Deadline is set.
type Window struct {
	Radio Radio
	// Delay, class A: whole seconds, 1 to 15, after the device's last acknowledged uplink.
	Delay uint32
	// TMMS, class B: 1 to 8 moments of GPS time in milliseconds.
	TMMS []uint64
	// Deadline, class C: the latest moment, in seconds or milliseconds since the
	// epoch by its size; up to 512 it means at once.
	Deadline uint64
}

// A DownstreamAck says that a Downstream was accepted for processing.
type DownstreamAck struct {
	Transaction, Mailbox uint64 // both from 1
}

// A DownstreamResult says what became of it.
type DownstreamResult struct {
	Transaction, Mailbox uint64
	Code                 ResultCode
	Text                 string
}

// A ResultCode is what became of a Downstream.
type ResultCode uint8

// The results.
const (
	Success ResultCode = iota
	WindowNotFound
	GatewayNotFound
	TooLate
	NoAck
	GatewayError
)
