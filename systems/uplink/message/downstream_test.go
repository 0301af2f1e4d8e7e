package message

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"contend/systems/uplink/lorawan"
)

func downstreams() map[string]*Downstream {
	radio := Radio{Frequency: 867500000, Spreading: 9, Bandwidth: 125000}
	phy := []byte{96, 218, 27, 1, 38, 0, 4, 0, 7, 91, 33, 8}
	return map[string]*Downstream{
		"class A": {Transaction: 12, DevEUI: 11249791761593666359, Window: Window{Radio: radio, Delay: 1}, PHY: phy},
		"join accept": {Transaction: 1, DevEUI: 5, Target: new(lorawan.DevAddr(0x06a9d3f1)),
			Window: Window{Radio: radio, Delay: 5}, PHY: phy},
		"class B": {Transaction: 2, DevEUI: 0, Window: Window{Radio: radio, TMMS: []uint64{1, 2, 3, 4, 5, 6, 7, 1 << 63}}, PHY: phy},
		"class C": {Transaction: 3, DevEUI: 7, PHY: phy,
			Window: Window{Radio: Radio{Modulation: FSK, Frequency: 1, FrequencyDeviation: 2, BitRate: 3}, Deadline: 1}},
		"multicast": {Transaction: 4, Multicast: true, Group: 0x0f41c7aa, Window: Window{Radio: radio, Deadline: 1 << 40}, PHY: phy},
	}
}

func TestDownstreamRoundTrip(t *testing.T) {
	for name, want := range downstreams() {
		data := appendDownstream(nil, want)
		if got, err := ParseDownstream(data); err != nil {
			t.Errorf("%s: %v in %s", name, err, data)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

const downstreamJSON = `{"ProtocolVersion": 1, "TransactionID": 12, "DevEUI": 11249791761593666359,
 "TxWindow": {"Radio": {"Frequency": 867500000, "LoRa": {"Spreading": 9, "Bandwidth": 125000}}, "Delay": 1},
 "PHYPayload": [96, 218, 27, 1, 38, 0, 4, 0, 7, 91, 33, 8]}`

func TestParseDownstreamExample(t *testing.T) {
	got, err := ParseDownstream([]byte(downstreamJSON))
	if err != nil {
		t.Fatal(err)
	}
	if want := downstreams()["class A"]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseDownstreamMistakes(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{`"Delay": 1`, `"Delay": 1, "Deadline": 1`, "2 of Delay, TMMS, Deadline"},
		{`"Delay": 1`, `"Delay": null`, "0 of Delay, TMMS, Deadline"},
		{`"Delay": 1`, `"Delay": 4294967296`, "Delay is 4294967296; expected 0 to 4294967295"},
		{`"Delay": 1`, `"Delay": -1`, "Delay: expected an integer"},
		{`"DevEUI": 11249791761593666359`, `"Addr": 4294967296`, "Addr is 4294967296; expected 0 to 4294967295"},
		{`"DevEUI"`, `"Addr": 1, "DevEUI"`, "2 of DevEUI, Addr"},
		{`"DevEUI"`, `"Dev"`, "0 of DevEUI, Addr"},
		{`"DevEUI"`, `"TargetDevAddr": 4294967296, "DevEUI"`, "TargetDevAddr is 4294967296; expected 0 to"},
		{`"PHYPayload"`, `"Payload"`, "PHYPayload is missing"},
		{`"Frequency"`, `"frequency"`, "Frequency is missing"},
	} {
		text := strings.Replace(downstreamJSON, tt.from, tt.to, 1)
		if d, err := ParseDownstream([]byte(text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v, want %s", tt.to, d, err, tt.want)
		}
	}
	multicast := strings.NewReplacer(`"DevEUI": 11249791761593666359`, `"Addr":1,"TargetDevAddr":2`, `"Delay"`, `"Deadline"`).Replace(downstreamJSON)
	if d, err := ParseDownstream([]byte(multicast)); err == nil || !strings.Contains(err.Error(), "only a DevEUI can have one") {
		t.Errorf("%+v, %v", d, err)
	}
}

// Nor may it be more than a radio can send, by the rules of what it receives.
func TestCheckFrame(t *testing.T) {
	fhss := func(rate string) Window {
		return Window{Radio: Radio{Modulation: FHSS, ChannelWidth: 137_000, CodingRate: rate}}
	}
	for _, tt := range []struct {
		bytes  int
		window Window
		want   string
	}{
		{1, Window{}, ""},
		{255, Window{}, ""},
		{0, Window{}, "PHYPayload has 0 bytes; expected 1 to 255"},
		{256, Window{}, "PHYPayload has 256 bytes; expected 1 to 255"},
		{500_000, Window{}, "PHYPayload has 500000 bytes"},
		{1, fhss("4/6"), ""},
		{1, fhss(""), `CodingRate is ""; expected two numbers, as 4/6`},
		{1, fhss("4/60"), `CodingRate is "4/60"`},
		{1, fhss("0/6"), `CodingRate is "0/6"`},
		{1, fhss(strings.Repeat("4/6", 300_000)), `CodingRate is "4/64/6`},
		{1, Window{Radio: Radio{Modulation: LoRa}}, ""},
	} {
		d := Downstream{PHY: make([]byte, tt.bytes), Window: tt.window}
		if err := d.CheckFrame(); (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || len(err.Error()) > 200) {
			t.Errorf("%d bytes, %.20q: %v, want %q", tt.bytes, tt.window.Radio.CodingRate, err, tt.want)
		}
	}
}

// A valid message may still have no window.
func TestCheckWindow(t *testing.T) {
	const device = `"DevEUI": 11249791761593666359`
	for _, tt := range []struct{ to, timing, want string }{
		{device, `"Delay": 1`, ""},
		{device, `"Delay": 15`, ""},
		{device, `"Delay": 0`, "no moment is given"},
		{device, `"Delay": 16`, "Delay is 16; expected 1 to 15"},
		{device, `"TMMS": []`, "no moment is given"},
		{device, `"TMMS": [1,2,3,4,5,6,7,8]`, ""},
		{device, `"TMMS": [1,2,3,4,5,6,7,8,9]`, "TMMS has 9 moments; expected 1 to 8"},
		{device, `"Deadline": 0`, "no moment is given"},
		{`"Addr": 1`, `"Delay": 1`, "multicast follows no uplink"},
		{`"Addr": 1`, `"Deadline": 1`, ""},
	} {
		d, err := ParseDownstream([]byte(strings.NewReplacer(device, tt.to, `"Delay": 1`, tt.timing).Replace(downstreamJSON)))
		if err != nil {
			t.Errorf("%s %s: %v", tt.to, tt.timing, err)
		} else if err := d.CheckWindow(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v, want %q", tt.to, tt.timing, err, tt.want)
		}
	}
}

// appendDownstream appends a Downstream or a MulticastDownstream, as a customer
// does.
func appendDownstream(dst []byte, d *Downstream) []byte {
	dst = begin(dst, d.Transaction)
	if d.Multicast {
		dst = append(dst, `,"Addr":`...)
		dst = strconv.AppendUint(dst, uint64(d.Group), 10)
	} else {
		dst = append(dst, `,"DevEUI":`...)
		dst = strconv.AppendUint(dst, uint64(d.DevEUI), 10)
	}
	if d.Target != nil {
		dst = append(dst, `,"TargetDevAddr":`...)
		dst = strconv.AppendUint(dst, uint64(*d.Target), 10)
	}
	dst = append(dst, `,"TxWindow":{"Radio":`...)
	dst = appendRadio(dst, &d.Window.Radio)
	dst = append(dst, '}')
	dst = appendTiming(dst, &d.Window)
	dst = append(dst, `},"PHYPayload":`...)
	dst = appendArray(dst, "", d.PHY)
	return append(dst, '}')
}

func appendTiming(dst []byte, w *Window) []byte {
	switch {
	case w.Delay != 0:
		dst = append(dst, `,"Delay":`...)
		return strconv.AppendUint(dst, uint64(w.Delay), 10)
	case len(w.TMMS) > 0:
		dst = append(dst, `,"TMMS":`...)
		return appendArray(dst, "", w.TMMS)
	default:
		dst = append(dst, `,"Deadline":`...)
		return strconv.AppendUint(dst, w.Deadline, 10)
	}
}

// The replies are what an independent reader finds in them.
func TestDownstreamReplies(t *testing.T) {
	ack := DownstreamAck{Transaction: 12, Mailbox: 90017}
	got, err := referenceReply(AppendDownstreamAck(nil, &ack))
	if want := (DownstreamResult{Transaction: 12, Mailbox: 90017}); err != nil || *got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for code := Success; code <= GatewayError; code++ {
		want := DownstreamResult{Transaction: 12, Mailbox: 90017, Code: code, Text: "sent: " + code.String()}
		if got, err := referenceReply(AppendDownstreamResult(nil, &want)); err != nil || *got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
}
