package lorawan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"contend/systems/uplink/lorawan"

	"pgregory.net/rapid"
)

func TestParseIdentifiers(t *testing.T) {
	for text, want := range map[string]lorawan.EUI{
		"0000000000000000": 0, "00000000000000ff": 255, "70B3d57ED0001234": 0x70b3d57ed0001234, "ffffffffffffffff": 1<<64 - 1,
	} {
		if got, err := lorawan.ParseEUI(text); err != nil || got != want {
			t.Errorf("%s is %x, error %v", text, uint64(got), err)
		}
	}
	for _, text := range []string{"", "26011bd", "26011bdag", "0x26011b", "-6011bda", "+6011bda", "2601_bda", " 6011bda",
		"26011bda0", "26011bdg", strings.Repeat("0", 1000)} {
		_, err := lorawan.ParseDevAddr(text)
		if err == nil || !strings.Contains(err.Error(), "is not 8 hexadecimal digits") || len(err.Error()) > 100 {
			t.Errorf("%q: error %v", text, err)
		}
		if _, err := lorawan.ParseEUI(text); err == nil {
			t.Errorf("%q is an EUI", text)
		}
	}
}

// The text has all digits and is read back as the same value, also in JSON.
func TestIdentifiersRoundTrip(t *testing.T) {
	type pair struct {
		EUI  lorawan.EUI
		Addr lorawan.DevAddr
	}
	rapid.Check(t, func(t *rapid.T) {
		want := pair{lorawan.EUI(rapid.Uint64().Draw(t, "eui")), lorawan.DevAddr(rapid.Uint32().Draw(t, "addr"))}
		text, err := json.Marshal(want)
		plain := fmt.Sprintf(`{"EUI":"%016x","Addr":"%08x"}`, uint64(want.EUI), uint32(want.Addr))
		if err != nil || string(text) != plain {
			t.Fatalf("%s, want %s, error %v", text, plain, err)
		}
		var got pair
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Fatalf("%s became %v, error %v", text, got, err)
		}
	})
	if got := fmt.Sprint(lorawan.EUI(10), lorawan.DevAddr(11)); got != "000000000000000a 0000000b" {
		t.Error(got)
	}
}
