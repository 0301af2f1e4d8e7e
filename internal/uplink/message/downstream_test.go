package message

import (
	"reflect"
	"strings"
	"testing"

	"contend/internal/uplink/lorawan"
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
		data := AppendDownstream(nil, want)
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
		{`"Delay": 1`, `"Delay": 0`, "Delay: want an integer of 1 to 15"},
		{`"Delay": 1`, `"Delay": 16`, "16 is above 15"},
		{`"Delay": 1`, `"Delay": 1, "Deadline": 1`, "2 of Delay, TMMS, Deadline"},
		{`"Delay": 1`, `"Delay": null`, "0 of Delay, TMMS, Deadline"},
		{`"Delay": 1`, `"TMMS": []`, "no moments"},
		{`"Delay": 1`, `"TMMS": [1,2,3,4,5,6,7,8,9]`, "9 moments, want 1 to 8"},
		{`"Delay": 1`, `"Deadline": 0`, "Deadline: want an integer of 1"},
		{`"DevEUI": 11249791761593666359`, `"Addr": 1`, "multicast follows no uplink"},
		{`"DevEUI": 11249791761593666359`, `"Addr": 4294967296`, "Addr: 4294967296 is above"},
		{`"DevEUI"`, `"Addr": 1, "DevEUI"`, "2 of DevEUI, Addr"},
		{`"DevEUI"`, `"Dev"`, "0 of DevEUI, Addr"},
		{`"DevEUI"`, `"TargetDevAddr": 4294967296, "DevEUI"`, "TargetDevAddr: 4294967296 is above"},
		{`"PHYPayload"`, `"Payload"`, "PHYPayload: missing"},
		{`"Frequency"`, `"frequency"`, "Frequency: missing"},
	} {
		text := strings.Replace(downstreamJSON, tt.from, tt.to, 1)
		if d, err := ParseDownstream([]byte(text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v, want %s", tt.to, d, err, tt.want)
		}
	}
	multicast := strings.NewReplacer(`"DevEUI": 11249791761593666359`, `"Addr":1,"TargetDevAddr":2`, `"Delay"`, `"Deadline"`).Replace(downstreamJSON)
	if d, err := ParseDownstream([]byte(multicast)); err == nil || !strings.Contains(err.Error(), "only with DevEUI") {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestDownstreamReplies(t *testing.T) {
	ack := DownstreamAck{Transaction: 12, Mailbox: 90017}
	if got, result, err := ParseDownstreamReply(AppendDownstreamAck(nil, &ack)); got != ack || result != nil || err != nil {
		t.Errorf("%+v, %+v, %v", got, result, err)
	}
	for code := Success; code <= GatewayError; code++ {
		want := DownstreamResult{Transaction: 12, Mailbox: 90017, Code: code, Text: "sent: " + code.String()}
		got, result, err := ParseDownstreamReply(AppendDownstreamResult(nil, &want))
		if err != nil || got != ack || result == nil || *result != want {
			t.Errorf("%+v, %+v, %v, want %+v", got, result, err, want)
		}
	}
}

func TestParseDownstreamReplyMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{"ProtocolVersion": 1, "TransactionID": 12, "MailboxID": 0}`:                                                "MailboxID: want an integer of 1",
		`{"ProtocolVersion": 1, "TransactionID": 12}`:                                                                "MailboxID: missing",
		`{"ProtocolVersion": 1, "TransactionID": 12, "MailboxID": 1, "ResultCode": "Success"}`:                       "ResultMessage: missing",
		`{"ProtocolVersion": 1, "TransactionID": 12, "MailboxID": 1, "ResultCode": "Good", "ResultMessage": "sent"}`: `"Good" is none of`,
	} {
		if _, _, err := ParseDownstreamReply([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
