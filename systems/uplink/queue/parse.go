package queue

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// A fieldError is one field of an entry that cannot be used.
type fieldError struct {
	field   string // one of the closed set of names
	mistake string
}

// A parser collects what is wrong with an entry, and which fields it has.
type parser struct {
	bad  []fieldError
	seen fieldSet
	// modulated has the fields that the modulation asks for.
	modulated fieldSet
	gps       message.Position
	arrived   uint64 // of what another instance passed on; else 0
}

// A fieldSet has a bit per known field.
type fieldSet uint32

const (
	hasVersion fieldSet = 1 << iota
	hasPHY
	hasGateway
	hasTime
	hasFrequency
	hasModule
	hasSpreading
	hasBandwidth
	hasDeviation
	hasBitRate
	hasWidth
	hasCoding
	hasRSSI
	hasSNR
	hasLatitude
	hasLongitude
	hasAltitude

	hasAlways = hasVersion | hasPHY | hasGateway | hasTime | hasFrequency | hasModule | hasRSSI | hasSNR
	hasLoRa   = hasSpreading | hasBandwidth
	hasFSK    = hasDeviation | hasBitRate
	hasFHSS   = hasWidth | hasCoding
)

// fieldNames has the names in the order of the bits.
func fieldNames() []string {
	return []string{
		fieldVersion, fieldPHY, fieldGateway, fieldTime, fieldFrequency, fieldModule,
		fieldSpreading, fieldBandwidth, fieldDeviation, fieldBitRate, fieldWidth, fieldCoding,
		fieldRSSI, fieldSNR, fieldLatitude, fieldLongitude, fieldAltitude,
	}
}

// mistakes names every bad field; "" if all are good.
func (p *parser) mistakes() string {
	texts := make([]string, len(p.bad))
	for i, bad := range p.bad {
		texts[i] = bad.field + " " + bad.mistake
	}
	return strings.Join(texts, ", ")
}

// parse reads the names and values of a stream entry, in turns and in any order.
// Unknown names are ignored, and so are the parameters of a modulation that the
// frame does not have. It overwrites u except for its Origin and Recipients,
// keeps nothing of fields, and leaves in bad what is wrong with them. It takes
// the room for the PHYPayload from the front of arena, if there is enough, and
// returns the rest of it.
func (p *parser) parse(fields []string, u *message.Uplink, arena []byte) []byte {
	*p = parser{bad: p.bad[:0]}
	u.PHY, u.Position, u.Radio = nil, nil, message.Radio{}
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == fieldPHY && p.first(hasPHY, fieldPHY) {
			arena = p.phy(fields[i+1], u, arena)
			continue
		}
		p.field(fields[i], fields[i+1], u)
	}
	want := hasAlways | p.modulated
	if p.seen&(hasLatitude|hasLongitude|hasAltitude) != 0 {
		want |= hasLatitude | hasLongitude
		p.position(u)
	}
	if missing := want &^ p.seen; missing != 0 {
		p.missing(missing)
	}
	dropForeign(&u.Radio)
	return arena
}

func (p *parser) missing(set fieldSet) {
	for i, name := range fieldNames() {
		if set>>i&1 == 1 {
			p.bad = append(p.bad, fieldError{name, "is missing"})
		}
	}
}

// fail notes a value that is not as expected.
func (p *parser) fail(field, value, expected string) {
	p.bad = append(p.bad, fieldError{strings.Clone(field), fmt.Sprintf("is %.40q; expected %s", value, expected)})
}

// first reports whether a field is seen for the first time; it must not come again.
func (p *parser) first(bit fieldSet, name string) bool {
	if p.seen&bit != 0 {
		p.bad = append(p.bad, fieldError{name, "comes twice"})
		return false
	}
	p.seen |= bit
	return true
}

func (p *parser) phy(value string, u *message.Uplink, arena []byte) []byte {
	n := len(value)
	if n == 0 || n > message.MaxPHY {
		p.fail(fieldPHY, value, "1 to 255 bytes")
		return arena
	}
	if n > len(arena) {
		u.PHY = []byte(value)
		return arena
	}
	u.PHY = arena[:n:n]
	copy(u.PHY, value)
	return arena[n:]
}

func (p *parser) field(name, value string, u *message.Uplink) {
	switch name {
	case fieldVersion:
		if p.first(hasVersion, name) && value != byAddress && value != byFrame {
			p.fail(name, value, byFrame+", "+byAddress)
		}
	case fieldGateway:
		p.gateway(value, u)
	case fieldTime:
		if n, ok := p.int(hasTime, name, value); ok {
			u.Received = time.Unix(0, n)
		}
	case fieldRSSI:
		u.Radio.RSSI = float32(p.float(hasRSSI, name, value, math.MaxFloat32))
	case fieldSNR:
		u.Radio.SNR = float32(p.float(hasSNR, name, value, math.MaxFloat32))
	case fieldLatitude:
		p.gps.Latitude = p.float(hasLatitude, name, value, 90)
	case fieldLongitude:
		p.gps.Longitude = p.float(hasLongitude, name, value, 180)
	case fieldAltitude:
		p.gps.Altitude = p.float(hasAltitude, name, value, math.MaxFloat64)
	case fieldArrived:
		p.arrived, _ = parseDecimal(value)
	case fieldPHY:
	default:
		p.radio(name, value, &u.Radio)
	}
}

func (p *parser) radio(name, value string, r *message.Radio) {
	switch name {
	case fieldFrequency:
		r.Frequency = p.uint(hasFrequency, name, value, math.MaxUint32)
	case fieldModule:
		p.modulation(value, r)
	case fieldSpreading:
		r.Spreading = p.uint(hasSpreading, name, value, message.MaxSpreading)
	case fieldBandwidth:
		r.Bandwidth = p.uint(hasBandwidth, name, value, math.MaxUint32)
	case fieldDeviation:
		r.FrequencyDeviation = p.uint(hasDeviation, name, value, math.MaxUint32)
	case fieldBitRate:
		r.BitRate = p.uint(hasBitRate, name, value, math.MaxUint32)
	case fieldWidth:
		r.ChannelWidth = p.uint(hasWidth, name, value, math.MaxUint32)
	case fieldCoding:
		p.coding(value, r)
	}
}

func (p *parser) gateway(value string, u *message.Uplink) {
	if !p.first(hasGateway, fieldGateway) {
		return
	}
	gw, err := lorawan.ParseEUI(value)
	if err != nil {
		p.fail(fieldGateway, value, "16 hexadecimal digits")
	}
	u.Gateway = gw
}

func (p *parser) modulation(value string, r *message.Radio) {
	if !p.first(hasModule, fieldModule) {
		return
	}
	switch value {
	case modLoRa:
		r.Modulation, p.modulated = message.LoRa, hasLoRa
	case modFSK:
		r.Modulation, p.modulated = message.FSK, hasFSK
	case modFHSS:
		r.Modulation, p.modulated = message.FHSS, hasFHSS
	default:
		p.fail(fieldModule, value, modLoRa+", "+modFSK+" or "+modFHSS)
	}
}

// dropForeign clears the parameters of the modulations that r does not have.
func dropForeign(r *message.Radio) {
	if r.Modulation != message.LoRa {
		r.Spreading, r.Bandwidth = 0, 0
	}
	if r.Modulation != message.FSK {
		r.FrequencyDeviation, r.BitRate = 0, 0
	}
	if r.Modulation != message.FHSS {
		r.ChannelWidth, r.CodingRate = 0, ""
	}
}

func (p *parser) coding(value string, r *message.Radio) {
	if !p.first(hasCoding, fieldCoding) {
		return
	}
	if !message.IsCodingRate(value) {
		p.fail(fieldCoding, value, "a coding rate, as 4/6")
		return
	}
	r.CodingRate = strings.Clone(value)
}

func (p *parser) position(u *message.Uplink) {
	u.Position = &message.Position{
		Latitude: p.gps.Latitude, Longitude: p.gps.Longitude,
		Altitude: p.gps.Altitude, HasAltitude: p.seen&hasAltitude != 0,
	}
}

func (p *parser) uint(bit fieldSet, name, value string, highest uint32) uint32 {
	if !p.first(bit, name) {
		return 0
	}
	n, ok := parseWhole(value)
	if !ok || n > uint64(highest) {
		p.fail(name, value, fmt.Sprintf("a whole number from 0 to %d", highest))
		return 0
	}
	return uint32(n)
}

func (p *parser) int(bit fieldSet, name, value string) (int64, bool) {
	if !p.first(bit, name) {
		return 0, false
	}
	n, ok := parseWhole(value)
	if !ok || n == 0 || n > math.MaxInt64 {
		p.fail(name, value, fmt.Sprintf("nanoseconds since 1970, 1 to %d", int64(math.MaxInt64)))
		return 0, false
	}
	return int64(n), true
}

// float reads a number from −limit to limit as JSON writes it.
func (p *parser) float(bit fieldSet, name, value string, limit float64) float64 {
	if !p.first(bit, name) {
		return 0
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || len(value) > 40 || !isNumber(value) || math.Abs(f) > limit {
		p.fail(name, value, fmt.Sprintf("a number from -%g to %g, as -97 or 4.75", limit, limit))
		return 0
	}
	return f
}

// parseWhole reads a number without a sign, and without zeros before it.
func parseWhole(text string) (n uint64, ok bool) {
	if len(text) > 1 && text[0] == '0' {
		return 0, false
	}
	return parseDecimal(text)
}

// isNumber reports whether a text is a number of JSON (RFC 8259, section 6).
func isNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	whole, rest := digits(text)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if strings.HasPrefix(rest, ".") {
		var fraction string
		if fraction, rest = digits(rest[1:]); fraction == "" {
			return false
		}
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		var exponent string
		if exponent, rest = digits(rest); exponent == "" {
			return false
		}
	}
	return rest == ""
}

// digits returns the digits that text begins with, and the rest.
func digits(text string) (first, rest string) {
	i := 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return text[:i], text[i:]
}
