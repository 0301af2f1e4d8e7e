package queue

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

func TestAppendEntry(t *testing.T) {
	u := &message.Uplink{
		PHY: []byte("phy\x00\xff"), Gateway: 0xab, Received: time.Unix(1, 2),
		Radio: message.Radio{Frequency: 868100000, Spreading: 12, Bandwidth: 125000, RSSI: -57.5, SNR: 9.25},
	}
	for _, test := range []struct {
		name   string
		change func()
		want   string
	}{
		{"LoRa", func() {}, "v=2 phy=phy\x00\xff gw=00000000000000ab ts=1000000002 freq=868100000 mod=lora sf=12 bw=125000 rssi=-57.5 snr=9.25"},
		{"FSK", func() {
			u.Radio = message.Radio{Modulation: message.FSK, FrequencyDeviation: 25000, BitRate: 50000}
		}, "v=2 phy=phy\x00\xff gw=00000000000000ab ts=1000000002 freq=0 mod=fsk dev=25000 br=50000 rssi=0 snr=0"},
		{"FHSS with a position", func() {
			u.Radio = message.Radio{Modulation: message.FHSS, ChannelWidth: 137000, CodingRate: "4/6"}
			u.Position = &message.Position{Latitude: 47.5, Longitude: -8.25}
		}, "v=2 phy=phy\x00\xff gw=00000000000000ab ts=1000000002 freq=0 mod=fhss ocw=137000 cr=4/6 rssi=0 snr=0 lat=47.5 lng=-8.25"},
	} {
		test.change()
		fields := entryOf(u)
		var got []string
		for i := 0; i < len(fields); i += 2 {
			got = append(got, fields[i]+"="+fields[i+1])
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s:\n%q, want\n%q", test.name, got, test.want)
		}
	}
}

// entryOf returns the names and values, in turns, of the stream entry that holds u.
func entryOf(u *message.Uplink) []string {
	var e encoder
	e.uplink(u, byAddress)
	return e.args
}

func parseEntry(fields []string, u *message.Uplink) error {
	var p parser
	p.parse(fields, u, nil)
	if len(p.bad) > 0 {
		return errors.New(p.mistakes())
	}
	return nil
}

func TestEntryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyUplink(t)
		var got message.Uplink
		if err := parseEntry(entryOf(want), &got); err != nil {
			t.Fatal(err)
		}
		if !want.Received.Equal(got.Received) {
			t.Fatalf("received %s, want %s", got.Received, want.Received)
		}
		got.Received = want.Received
		if !reflect.DeepEqual(&got, want) {
			t.Fatalf("%+v, want %+v", &got, want)
		}
	})
}

func anyUplink(t *rapid.T) *message.Uplink {
	u := &message.Uplink{
		PHY:     rapid.SliceOfN(rapid.Byte(), 1, message.MaxPHY).Draw(t, "phy"),
		Gateway: lorawan.EUI(rapid.Uint64().Draw(t, "gw")),
		Radio: message.Radio{
			Frequency:  rapid.Uint32().Draw(t, "freq"),
			Modulation: message.Modulation(rapid.IntRange(0, 2).Draw(t, "mod")),
			RSSI:       float32(rapid.Float32Range(-200, 50).Draw(t, "rssi")),
			SNR:        float32(rapid.Float32Range(-40, 40).Draw(t, "snr")),
		},
		Received: time.Unix(0, rapid.Int64Range(1, math.MaxInt64).Draw(t, "ts")),
	}
	r := &u.Radio
	switch r.Modulation {
	case message.FSK:
		r.FrequencyDeviation, r.BitRate = rapid.Uint32().Draw(t, "dev"), rapid.Uint32().Draw(t, "br")
	case message.FHSS:
		r.ChannelWidth, r.CodingRate = rapid.Uint32().Draw(t, "ocw"), rapid.SampledFrom([]string{"4/6", "2/3"}).Draw(t, "cr")
	default:
		r.Spreading, r.Bandwidth = rapid.Uint32Range(0, message.MaxSpreading).Draw(t, "sf"), rapid.Uint32().Draw(t, "bw")
	}
	if rapid.Bool().Draw(t, "gps") {
		u.Position = &message.Position{
			Latitude:  rapid.Float64Range(-90, 90).Draw(t, "lat"),
			Longitude: rapid.Float64Range(-180, 180).Draw(t, "lng"),
		}
		if u.Position.HasAltitude = rapid.Bool().Draw(t, "has alt"); u.Position.HasAltitude {
			u.Position.Altitude = rapid.Float64().Draw(t, "alt")
		}
	}
	return u
}

// with replaces the values of fields of a good entry; "-" leaves a field out.
func with(changes ...string) (fields []string) {
	good := entryOf(frame(1))
next:
	for i := 0; i < len(good); i += 2 {
		for j := 0; j < len(changes); j += 2 {
			if changes[j] != good[i] {
				continue
			}
			if changes[j+1] == "-" {
				continue next
			}
			good[i+1] = changes[j+1]
			changes[j] = ""
		}
		fields = append(fields, good[i], good[i+1])
	}
	for j := 0; j < len(changes); j += 2 {
		if changes[j] != "" && changes[j+1] != "-" {
			fields = append(fields, changes[j], changes[j+1])
		}
	}
	return fields
}

func TestParseEntryNamesEveryBadField(t *testing.T) {
	for _, test := range []struct {
		name   string
		fields []string
		bad    []string
	}{
		{"nothing", nil, []string{"v", "phy", "gw", "ts", "freq", "mod", "rssi", "snr"}},
		{"other version", with("v", "3"), []string{"v"}},
		{"empty frame", with("phy", ""), []string{"phy"}},
		{"256 bytes", with("phy", strings.Repeat("x", 256)), []string{"phy"}},
		{"15 digits", with("gw", "102030405060708"), []string{"gw"}},
		{"before 1970", with("ts", "-1"), []string{"ts"}},
		{"beyond 2262", with("ts", "9223372036854775808"), []string{"ts"}},
		{"2³² Hz", with("freq", "4294967296"), []string{"freq"}},
		{"unknown modulation", with("mod", "am"), []string{"mod"}},
		{"LoRa's parameters for FSK", with("mod", "fsk"), []string{"dev", "br"}},
		{"no spreading", with("sf", "-"), []string{"sf"}},
		{"spreading 13", with("sf", "13"), []string{"sf"}},
		{"coding without a slash", with("mod", "fhss", "ocw", "1", "cr", "456"), []string{"cr"}},
		{"not a number", with("rssi", "NaN", "snr", "inf"), []string{"rssi", "snr"}},
		{"a zero before", with("freq", "0868100000", "sf", "07", "ts", "01", "bw", "00"), []string{"ts", "freq", "sf", "bw"}},
		{"the moment 0", with("ts", "0"), []string{"ts"}},
		{"whole numbers of another form", with("freq", "+5", "bw", "1_0", "sf", "7.0", "ts", "1e9"), []string{"ts", "freq", "sf", "bw"}},
		{"hexadecimal, and with a plus", with("rssi", "0x1p3", "snr", "+5"), []string{"rssi", "snr"}},
		{"with an underscore, and a zero before", with("rssi", "1_0", "snr", "05"), []string{"rssi", "snr"}},
		{"without a digit at one end", with("rssi", ".5", "snr", "5."), []string{"rssi", "snr"}},
		{"other forms of numbers", with("lat", "0x1p3", "lng", "1_0", "alt", "+5"), []string{"lat", "lng", "alt"}},
		{"longitude alone", with("lng", "1"), []string{"lat"}},
		{"beyond the pole", with("lat", "91", "lng", "0"), []string{"lat"}},
		{"altitude alone", with("alt", "1"), []string{"lat", "lng"}},
		{"three at once", with("v", "", "gw", "x", "bw", "-"), []string{"v", "gw", "bw"}},
		{"a field twice", append(with(), "phy", "x", "ts", "1"), []string{"phy", "ts"}},
	} {
		var u message.Uplink
		var p parser
		p.parse(test.fields, &u, nil)
		var bad []string
		for _, b := range p.bad {
			bad = append(bad, b.field)
		}
		if !reflect.DeepEqual(bad, test.bad) {
			t.Errorf("%s: bad are %q, want %q", test.name, bad, test.bad)
		}
	}
}

func TestParseEntryIgnoresUnknownFields(t *testing.T) {
	var u message.Uplink
	if err := parseEntry(append(with("sf", "7"), "antenna", "2", "odd"), &u); err != nil || u.Radio.Spreading != 7 {
		t.Errorf("%v, %+v", err, u.Radio)
	}
}

func TestParseEntryIgnoresOtherModulations(t *testing.T) {
	all := []string{"sf", "7", "bw", "125000", "dev", "1", "br", "2", "ocw", "3", "cr", "4/6"}
	for mod, want := range map[string]message.Radio{
		"lora": {Modulation: message.LoRa, Spreading: 7, Bandwidth: 125000},
		"fsk":  {Modulation: message.FSK, FrequencyDeviation: 1, BitRate: 2},
		"fhss": {Modulation: message.FHSS, ChannelWidth: 3, CodingRate: "4/6"},
	} {
		fields := with(append([]string{"mod", mod, "freq", "5", "rssi", "6", "snr", "8"}, all...)...)
		want.Frequency, want.RSSI, want.SNR = 5, 6, 8
		var u message.Uplink
		if err := parseEntry(fields, &u); err != nil || u.Radio != want {
			t.Errorf("%s: %v, %+v, want %+v", mod, err, u.Radio, want)
		}
	}
}

func TestParseID(t *testing.T) {
	for text, want := range map[string]entryID{"0-0": {}, "1700000000000-12": {1700000000000, 12},
		"18446744073709551615-18446744073709551615": {math.MaxUint64, math.MaxUint64}} {
		if id, ok := parseID(text); !ok || id != want {
			t.Errorf("%q: %v %t", text, id, ok)
		}
	}
	for _, text := range []string{"", "-", "1", "1-", "-1", "1-x", "x-1", "1-1-1", "18446744073709551616-0"} {
		if id, ok := parseID(text); ok {
			t.Errorf("%q: %v", text, id)
		}
	}
}

// A number is what JSON says is one.
func TestIsNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[-+]?[01]{0,2}[._]?[05]{0,2}([eExp][-+]?[0-9]{0,2})?`).Draw(t, "text")
		if got, want := isNumber(text), json.Valid([]byte(text)); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	for _, fields := range [][]string{with(), with("mod", "fsk", "dev", "1", "br", "2"),
		with("mod", "fhss", "ocw", "1", "cr", "4/6"), with("gw", "x"), with("lat", "1", "lng", "2")} {
		f.Add(strings.Join(fields, "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var u, again message.Uplink
		if err := parseEntry(strings.Split(text, "\n"), &u); err != nil {
			return
		}
		if err := parseEntry(entryOf(&u), &again); err != nil {
			t.Fatalf("%q was read, but what it is written as is not: %v", text, err)
		}
		if !reflect.DeepEqual(&u, &again) {
			t.Fatalf("%+v, then %+v", &u, &again)
		}
	})
}
