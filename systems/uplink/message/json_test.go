package message

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"contend/systems/uplink/lorawan"
)

// example is the one of the facts: solvable, 17 bytes of frame, four entries.
func example() *Upstream {
	return &Upstream{
		Transaction: 7310042,
		DevEUIs:     []lorawan.EUI{11249791761593666359},
		Radio:       Radio{Frequency: 867500000, Spreading: 9, Bandwidth: 125000, RSSI: -97, SNR: 4.75},
		PHYNoMIC:    []byte{64, 218, 27, 1, 38, 0, 1, 0, 1, 170, 197, 107, 171, 150, 162, 148, 104},
		Challenge:   []uint32{291772104, 3726252033, 88431001, 4013390217},
	}
}

const exampleJSON = `{"ProtocolVersion": 1, "TransactionID": 7310042, "DevEUIs": [11249791761593666359],
 "Radio": {"Frequency": 867500000, "LoRa": {"Spreading": 9, "Bandwidth": 125000}, "RSSI": -97.0, "SNR": 4.75},
 "PHYPayloadNoMIC": [64,218,27,1,38,0,1,0,1,170,197,107,171,150,162,148,104],
 "MICChallenge": [291772104, 3726252033, 88431001, 4013390217]}`

func upstreams() map[string]*Upstream {
	fsk, fhss, full := example(), example(), example()
	fsk.Radio = Radio{Modulation: FSK, Frequency: 868800000, FrequencyDeviation: 25000, BitRate: 50000, RSSI: -60.5}
	fhss.Radio = Radio{Modulation: FHSS, Frequency: 867500000, ChannelWidth: 137000, CodingRate: `4/6 "é"`, SNR: 1e-10, RSSI: -3e30}
	full.Transaction = math.MaxUint64
	full.Outdated = true
	full.DevEUIs = []lorawan.EUI{0, math.MaxUint64}
	full.Challenge = []uint32{0, math.MaxUint32}
	full.PHYNoMIC = []byte{0, 9, 10, 99, 100, 255}
	full.Position = &Position{Latitude: 46.948020000000001, Longitude: -7.4, Altitude: 552, HasAltitude: true}
	flat := example()
	flat.Position = &Position{Latitude: -90, Longitude: 180}
	return map[string]*Upstream{"example": example(), "fsk": fsk, "fhss": fhss, "full": full, "flat": flat}
}

func TestParseUpstreamExample(t *testing.T) {
	var u Upstream
	if err := ParseUpstream([]byte(exampleJSON), &u); err != nil {
		t.Fatal(err)
	}
	if want := example(); !reflect.DeepEqual(&u, want) {
		t.Errorf("got %+v, want %+v", u, want)
	}
}

func TestUpstreamRoundTrip(t *testing.T) {
	for name, want := range upstreams() {
		data := AppendUpstream(nil, want)
		got := Upstream{Position: &Position{Altitude: 1}, Radio: Radio{CodingRate: "x", SNR: 3}, Outdated: true}
		if err := ParseUpstream(data, &got); err != nil {
			t.Errorf("%s: %v in %s", name, err, data)
		} else if !reflect.DeepEqual(&got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// The example with 2 entries, without a space. Python's json module makes 290 bytes
// of it, since it writes -97.0.
func TestUpstreamSize(t *testing.T) {
	u := example()
	u.Challenge = []uint32{3726252033, 4013390217}
	if n := len(AppendUpstream(nil, u)); n != 288 {
		t.Errorf("%d bytes, want 288", n)
	}
}

// Every byte, and the numbers next to where the digits get more.
func TestAppendArray(t *testing.T) {
	var frame []byte
	var all []int
	for v := range 1 << 8 {
		frame, all = append(frame, byte(v)), append(all, v)
	}
	numbers := []uint64{255, 256, math.MaxUint64}
	for v := uint64(1); v < math.MaxUint64/10; v *= 10 {
		numbers = append(numbers, v-1, v, v+1)
	}
	for _, tt := range []struct {
		got  []byte
		want any
	}{
		{appendArray(nil, "", frame), all},
		{appendArray(nil, "", numbers), numbers},
	} {
		if want, err := json.Marshal(tt.want); err != nil || string(tt.got) != string(want) {
			t.Errorf("%s, want %s", tt.got, want)
		}
	}
}

// A number that is not finite must not become bad JSON.
func TestUpstreamNotFinite(t *testing.T) {
	u := example()
	u.Radio.RSSI, u.Radio.SNR = float32(math.NaN()), float32(math.Inf(-1))
	u.Position = &Position{Latitude: math.NaN()}
	var got Upstream
	if err := ParseUpstream(AppendUpstream(nil, u), &got); err != nil {
		t.Fatal(err)
	}
	want := example()
	want.Radio.RSSI, want.Radio.SNR = 0, 0
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("got %+v", got)
	}
}

func answers() map[string]*Answer {
	return map[string]*Answer{
		"ack":     {Transaction: 7310042, DevEUI: 11249791761593666359, MIC: 3726252033},
		"largest": {Transaction: math.MaxUint64, DevEUI: math.MaxUint64, MIC: math.MaxUint32},
		"zero":    {Transaction: 1},
		"failed":  {Transaction: 7310043, Reject: MICFailed},
		"other":   {Transaction: 2, Reject: RejectOther, Text: "no \"such\"\n\x01 device é"},
	}
}

func TestAnswerRoundTrip(t *testing.T) {
	for name, want := range answers() {
		data := AppendAnswer(nil, want)
		got := Answer{Text: "before", Reject: MICFailed, MIC: 3}
		if err := ParseAnswer(data, &got); err != nil {
			t.Errorf("%s: %v in %s", name, err, data)
		} else if got != *want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// Nulls, spaces, escapes in names, other members and their order.
func TestParseAnswerForms(t *testing.T) {
	want := Answer{Transaction: 3, DevEUI: 4, MIC: 5}
	for _, text := range []string{
		` { "MIC" : 5 , "DevEUI" : 4 , "TransactionID" : 3 , "ProtocolVersion" : 1 } ` + "\r\n\t",
		`{"ProtocolVersion":1,"TransactionID":3,"DevEUI":4,"MIC":5,"ResultCode":null,"ResultMessage":null}`,
		`{"ProtocolVersion":2,"TransactionID":3,"DevEUI":4,"\u004dIC":5,"é":"\ud83d\ude00"}`,
		`{"ProtocolVersion":1,"TransactionID":3,"DevEUI":4,"MIC":5,"mic":6,"x":[{},[],{"a":[-1.5e+3,true,false,null,"]"]}]}`,
	} {
		var got Answer
		if err := ParseAnswer([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestParseAnswerMistakes(t *testing.T) {
	deep := `{"x":` + strings.Repeat("[", 1<<20)
	for text, want := range map[string]string{
		``:     "message: at byte 0: expected '{'",
		`null`: "message: at byte 0: expected '{'",
		`{"ProtocolVersion":1,"TransactionID":0,"DevEUI":4,"MIC":5}`:                    "TransactionID is 0; expected 1 to",
		`{"ProtocolVersion":0,"TransactionID":1,"DevEUI":4,"MIC":5}`:                    "ProtocolVersion is 0; expected 1 to",
		`{"ProtocolVersion":1,"TransactionID":1,"DevEUI":18446744073709551616,"MIC":5}`: "DevEUI is too large; expected 0 to 18446744073709551615",
		`{"ProtocolVersion":1,"TransactionID":1,"DevEUI":4,"MIC":4294967296}`:           "MIC is 4294967296; expected 0 to 4294967295",
		`{"ProtocolVersion":1,"TransactionID":1,"DevEUI":4,"MIC":-1}`:                   "MIC: expected an integer",
		`{"ProtocolVersion":1,"TransactionID":1,"DevEUI":4,"MIC":05}`:                   "leading zero",
		`{"ProtocolVersion":1,"TransactionID":1,"DevEUI":4,"MIC":5.0}`:                  "expected a comma",
		`{"ProtocolVersion":1,"TransactionID":1,"DevEUI":"4","MIC":5}`:                  "DevEUI: expected an integer",
		`{"ProtocolVersion":1,"TransactionID":1,"DevEUI":4,"MIC":5,"MIC":5}`:            "MIC comes twice",
		`{"ProtocolVersion":1,"TransactionID":1,"DevEUI":4}`:                            "MIC is missing",
		`{"ProtocolVersion":1,"TransactionID":1,"DevEUI":4,"MIC":5,}`:                   "byte 58: expected a string",
		`{"ProtocolVersion":1,"TransactionID":1,"DevEUI":4,"MIC":5`:                     "expected a comma or '}'",
		`{"ProtocolVersion":1,"TransactionID":1,"DevEUI":4,"MIC":5}x`:                   "text after",
		`{"ProtocolVersion":1,"TransactionID":1,"ResultCode":"Success"}`:                `is "Success"; expected MICFailed, Other`,
		`{"ProtocolVersion":1,"TransactionID":1,"ResultCode":1}`:                        "ResultCode: expected a string",
		`{"a":"` + "\xff" + `"}`: "not UTF-8",
		`{"a":"` + "\n" + `"}`:   "control character",
		`{"a":"\x"}`:             "invalid character",
		`{"a":"`:                 "without an end",
		`{"a":01}`:               "expected a comma",
		`{"a":1.}`:               "expected a number",
		`{"a":+1}`:               "expected a value",
		`{"a" 1}`:                "expected a colon",
		deep:                     "more than 32",
	} {
		var a Answer
		if err := ParseAnswer([]byte(text), &a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
}

func TestParseUpstreamMistakes(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{`"RSSI": -97.0, `, ``, "RSSI is missing"},
		{`"SNR": 4.75`, `"SNR": null`, "SNR is missing"},
		{`"SNR": 4.75`, `"SNR": 1e40`, "beyond 32 bits"},
		{`"Spreading": 9`, `"Spreading": 13`, "Spreading is 13; expected 0 to 12"},
		{`"LoRa"`, `"OCW"`, "0 of LoRa, FSK, FHSS"},
		{`"LoRa"`, `"FHSS":{"Ocw":1,"CodingRate":"4/6"},"LoRa"`, "2 of LoRa, FSK, FHSS"},
		{`"LoRa"`, `"FHSS":{"OCW":1,"CodingRate":"4/6"},"LoRa"`, "Ocw is missing"},
		{`"LoRa"`, `"FSK":{"BitRate":1},"LoRa"`, "FrequencyDeviation is missing"},
		{`[64,`, `[256,`, "PHYPayloadNoMIC is 256; expected 0 to 255"},
		{`[64,`, `[null,`, "expected an integer"},
		{`[64,218`, `"QNob"`, "PHYPayloadNoMIC: expected '['"},
		{`"MICChallenge"`, `"GPS":{"Lat":1},"MICChallenge"`, "Lng is missing"},
		{`"MICChallenge"`, `"Outdated":1,"MICChallenge"`, "expected true or false"},
		{`"MICChallenge"`, `"Challenge"`, "MICChallenge is missing"},
	} {
		text := strings.Replace(exampleJSON, tt.from, tt.to, 1)
		var u Upstream
		if err := ParseUpstream([]byte(text), &u); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s for %s: %v, want %s", tt.to, tt.from, err, tt.want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for name, u := range upstreams() {
		if name == "fhss" {
			u.Radio.CodingRate = "4/6" // an escape allocates
		}
		var dst []byte
		var into Upstream
		checkAllocations(t, name, func() error {
			dst = AppendUpstream(dst[:0], u)
			return ParseUpstream(dst, &into)
		})
	}
	for _, a := range []*Answer{answers()["ack"], answers()["failed"], {Transaction: 1, Reject: RejectOther, Text: "again"}} {
		var dst []byte
		var into Answer
		checkAllocations(t, "answer", func() error {
			dst = AppendAnswer(dst[:0], a)
			return ParseAnswer(dst, &into)
		})
	}
}

// checkAllocations wants no allocation from a second call on.
func checkAllocations(t *testing.T, name string, call func() error) {
	t.Helper()
	if n := testing.AllocsPerRun(100, func() {
		if err := call(); err != nil {
			t.Fatal(name, err)
		}
	}); n > 0 {
		t.Errorf("%s: %v allocations", name, n)
	}
}

// A text that is not UTF-8 does not make a message that cannot be read.
func TestTextNotUTF8(t *testing.T) {
	data := AppendDownstreamResult(nil, &DownstreamResult{1, 2, GatewayError, "TOO_EARLY\xff!"})
	if result, err := referenceReply(data); err != nil || result.Text != "TOO_EARLY\uFFFD!" {
		t.Errorf("%+v, %v", result, err)
	}
}
