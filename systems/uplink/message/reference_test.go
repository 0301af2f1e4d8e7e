package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"contend/systems/uplink/lorawan"
)

// The reference reads the stream's JSON with encoding/json, strictly: names are
// compared exactly, none that is known may come twice, null is absent, and an
// element of an array is never null. A known value is decoded into its Go type.

var errReference = errors.New("reference: refused")

// members splits an object into its known members.
func members(data []byte, names []string) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errReference
	}
	found := map[string]json.RawMessage{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		key := name.(string)
		if !slices.Contains(names, key) {
			if depth(value) > maxDepth {
				return nil, errReference
			}
			continue
		}
		if string(value) == "null" {
			continue
		}
		if _, twice := found[key]; twice {
			return nil, errReference
		}
		found[key] = value
	}
	return found, nil
}

// depth is how many arrays and objects are in each other.
func depth(data []byte) int {
	deepest, now := 0, 0
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		switch t, err := dec.Token(); {
		case err != nil:
			return deepest
		case t == json.Delim('[') || t == json.Delim('{'):
			now++
			deepest = max(deepest, now)
		case t == json.Delim(']') || t == json.Delim('}'):
			now--
		}
	}
}

// A reading collects what a reference decodes.
type reading struct {
	found map[string]json.RawMessage
	err   error
}

func read(data []byte, names []string) *reading {
	found, err := members(data, names)
	return &reading{found, err}
}

// get decodes a member; false: it is absent.
func get[T any](r *reading, name string, dst *T) bool {
	value, ok := r.found[name]
	if ok && r.err == nil {
		r.err = json.Unmarshal(value, dst)
	}
	return ok && r.err == nil
}

// list decodes an array of numbers.
func list[T any](r *reading, name string) []T {
	var pointers []*T
	if !get(r, name, &pointers) {
		return nil
	}
	values := make([]T, 0, len(pointers))
	for _, p := range pointers {
		if p == nil {
			r.err = errReference
			return nil
		}
		values = append(values, *p)
	}
	return values
}

func (r *reading) require(names ...string) {
	for _, name := range names {
		if _, ok := r.found[name]; !ok {
			r.refuse()
		}
	}
}

func (r *reading) one(names ...string) {
	n := 0
	for _, name := range names {
		if _, ok := r.found[name]; ok {
			n++
		}
	}
	r.want(n == 1)
}

func (r *reading) want(ok bool) {
	if !ok {
		r.refuse()
	}
}

func (r *reading) refuse() {
	if r.err == nil {
		r.err = errReference
	}
}

// top reads what every message begins with.
func top(data []byte, names []string) (*reading, uint64) {
	r := read(data, names)
	if !utf8.Valid(data) || !json.Valid(data) {
		r.err = errReference
	}
	var version, transaction uint64
	get(r, "ProtocolVersion", &version)
	get(r, "TransactionID", &transaction)
	r.want(version > 0 && transaction > 0)
	return r, transaction
}

func referenceUpstream(data []byte) (*Upstream, error) {
	r, transaction := top(data, upstreamKeys)
	u := Upstream{Transaction: transaction}
	r.require("DevEUIs", "Radio", "PHYPayloadNoMIC", "MICChallenge")
	get(r, "Outdated", &u.Outdated)
	for _, eui := range list[uint64](r, "DevEUIs") {
		u.DevEUIs = append(u.DevEUIs, lorawan.EUI(eui))
	}
	u.PHYNoMIC = list[uint8](r, "PHYPayloadNoMIC")
	u.Challenge = list[uint32](r, "MICChallenge")
	u.Radio = r.radio(true)
	if raw, ok := r.found["GPS"]; ok {
		g := read(raw, positionKeys)
		u.Position = new(Position)
		g.require("Lat", "Lng")
		get(g, "Lat", &u.Position.Latitude)
		get(g, "Lng", &u.Position.Longitude)
		u.Position.HasAltitude = get(g, "Alt", &u.Position.Altitude)
		r.err = errors.Join(r.err, g.err)
	}
	return &u, r.err
}

func (r *reading) radio(uplink bool) (radio Radio) {
	raw, ok := r.found["Radio"]
	if !ok {
		return radio
	}
	m := read(raw, radioKeys)
	if uplink {
		m.require("RSSI", "SNR")
		get(m, "RSSI", &radio.RSSI)
		get(m, "SNR", &radio.SNR)
	} else {
		m = read(raw, radioKeys[2:])
	}
	m.require("Frequency")
	get(m, "Frequency", &radio.Frequency)
	m.one("LoRa", "FSK", "FHSS")
	for _, modulation := range []func(*reading, *Radio){(*reading).loRa, (*reading).fsk, (*reading).fhss} {
		modulation(m, &radio)
	}
	r.err = errors.Join(r.err, m.err)
	return radio
}

func (r *reading) loRa(radio *Radio) {
	if raw, ok := r.found["LoRa"]; ok {
		m := read(raw, loRaKeys)
		m.require(loRaKeys...)
		get(m, "Spreading", &radio.Spreading)
		m.want(radio.Spreading <= 12)
		get(m, "Bandwidth", &radio.Bandwidth)
		r.err = errors.Join(r.err, m.err)
	}
}

func (r *reading) fsk(radio *Radio) {
	if raw, ok := r.found["FSK"]; ok {
		radio.Modulation = FSK
		m := read(raw, fskKeys)
		m.require(fskKeys...)
		get(m, "FrequencyDeviation", &radio.FrequencyDeviation)
		get(m, "BitRate", &radio.BitRate)
		r.err = errors.Join(r.err, m.err)
	}
}

func (r *reading) fhss(radio *Radio) {
	if raw, ok := r.found["FHSS"]; ok {
		radio.Modulation = FHSS
		m := read(raw, fhssKeys)
		m.require(fhssKeys...)
		get(m, "Ocw", &radio.ChannelWidth)
		get(m, "CodingRate", &radio.CodingRate)
		r.err = errors.Join(r.err, m.err)
	}
}

func referenceAnswer(data []byte) (*Answer, error) {
	r, transaction := top(data, answerKeys)
	var eui uint64
	var mic uint32
	var code, text string
	get(r, "DevEUI", &eui)
	get(r, "MIC", &mic)
	get(r, "ResultMessage", &text)
	if !get(r, "ResultCode", &code) {
		r.require("DevEUI", "MIC")
		return &Answer{Transaction: transaction, DevEUI: lorawan.EUI(eui), MIC: mic}, r.err
	}
	codes := map[string]Reject{"MICFailed": MICFailed, "Other": RejectOther}
	r.want(codes[code] != RejectNone)
	return &Answer{Transaction: transaction, Reject: codes[code], Text: text}, r.err
}

func referenceDownstream(data []byte) (*Downstream, error) {
	r, transaction := top(data, downstreamKeys)
	d := Downstream{Transaction: transaction, PHY: list[uint8](r, "PHYPayload")}
	r.require("TxWindow", "PHYPayload")
	r.one("DevEUI", "Addr")
	get(r, "DevEUI", (*uint64)(&d.DevEUI))
	d.Multicast = get(r, "Addr", (*uint32)(&d.Group))
	var target uint32
	if get(r, "TargetDevAddr", &target) {
		d.Target = new(lorawan.DevAddr(target))
		r.want(!d.Multicast)
	}
	if raw, ok := r.found["TxWindow"]; ok {
		w := read(raw, windowKeys)
		w.require("Radio")
		d.Window.Radio = w.radio(false)
		w.one("Delay", "TMMS", "Deadline")
		get(w, "Delay", &d.Window.Delay)
		d.Window.TMMS = list[uint64](w, "TMMS")
		get(w, "Deadline", &d.Window.Deadline)
		r.err = errors.Join(r.err, w.err)
	}
	return &d, r.err
}

func referenceReply(data []byte) (*DownstreamResult, error) {
	r, transaction := top(data, []string{"ProtocolVersion", "TransactionID", "MailboxID", "ResultCode", "ResultMessage"})
	result := DownstreamResult{Transaction: transaction}
	get(r, "MailboxID", &result.Mailbox)
	r.want(result.Mailbox > 0)
	get(r, "ResultMessage", &result.Text)
	var code string
	if get(r, "ResultCode", &code) {
		r.require("ResultMessage")
		at := slices.Index(resultNames[:], code)
		r.want(at >= 0)
		result.Code = ResultCode(max(at, 0))
	} else {
		result.Text = ""
	}
	return &result, r.err
}

// same reports what differs between two messages; positions and numbers are
// compared by value.
func same(got, want any) error {
	if g, w := fmt.Sprintf("%+v", flat(got)), fmt.Sprintf("%+v", flat(want)); g != w {
		return fmt.Errorf("got %s, want %s", g, w)
	}
	return nil
}

// flat replaces pointers by what they point to.
func flat(message any) []any {
	switch m := message.(type) {
	case *Upstream:
		c := *m
		c.Position = nil
		if m.Position == nil {
			return []any{c}
		}
		return []any{c, *m.Position}
	case *Downstream:
		c := *m
		c.Target = nil
		if m.Target == nil {
			return []any{c}
		}
		return []any{c, uint32(*m.Target)}
	case *Answer:
		return []any{*m}
	case *DownstreamResult:
		return []any{*m}
	}
	return []any{math.NaN()}
}
