package lorawan_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"contend/systems/uplink/lorawan"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for phy, want := range map[string]lorawan.Frame{
		// MHDR 40, address 49be7df1, FCtrl 00, FCnt 2, FPort 1.
		"40f17dbe490002000195437876 2b11ff0d": {Type: lorawan.UnconfirmedUp, DevAddr: 0x49be7df1, FCnt: 2,
			FPort: 1, Payload: unhex("95437876"), MIC: 0x2b11ff0d},
		"40f17dbe49000300012a3518af": {Type: lorawan.UnconfirmedUp, DevAddr: 0x49be7df1, FCnt: 3,
			FPort: 1, Payload: []byte{}, MIC: 0x2a3518af},
		"40da1b0126000200 04245032": {Type: lorawan.UnconfirmedUp, DevAddr: ownAddr, FCnt: 2,
			FPort: -1, MIC: 0x04245032},
		// FCtrl a2: ADR, ACK, two bytes of FOpts; FPort 0 and one byte.
		"80da1b0126a2cdab0203 00ff 01020304": {Type: lorawan.ConfirmedUp, DevAddr: ownAddr, FCnt: 0xabcd,
			FCtrl: lorawan.ADR | lorawan.ACK | 2, FOpts: []byte{2, 3}, Payload: []byte{0xff}, MIC: 0x01020304},
		"60da1b0126000200 04245032": {Type: lorawan.UnconfirmedDown, DevAddr: ownAddr, FCnt: 2, FPort: -1, MIC: 0x04245032},
		"a0da1b0126010200aa 04245032": {Type: lorawan.ConfirmedDown, DevAddr: ownAddr, FCnt: 2, FCtrl: 1,
			FOpts: []byte{0xaa}, FPort: -1, MIC: 0x04245032},
		"00dc0000d07ed5b3701e6fedf57ceeaf00c886030af2c9": {Type: lorawan.JoinRequest, FPort: -1,
			JoinEUI: 0x70b3d57ed00000dc, DevEUI: 0x00afee7cf5ed6f1e, Nonce: 0x86c8, MIC: 0x030af2c9},
		// Type 0 and 2: NetID 000013, then DevEUI, RJcount0. Type 1: JoinEUI, DevEUI, RJcount1.
		"c000130000 7766554433221100 0500 01020304": {Type: lorawan.RejoinRequest, FPort: -1,
			DevEUI: 0x0011223344556677, Nonce: 5, MIC: 0x01020304},
		"c002130000 7766554433221100 0500 01020304": {Type: lorawan.RejoinRequest, FPort: -1, RejoinType: 2,
			DevEUI: 0x0011223344556677, Nonce: 5, MIC: 0x01020304},
		"c001 341200d07ed5b370 7766554433221100 0600 01020304": {Type: lorawan.RejoinRequest, FPort: -1, RejoinType: 1,
			JoinEUI: 0x70b3d57ed0001234, DevEUI: 0x0011223344556677, Nonce: 6, MIC: 0x01020304},
		"20 000102030405060708090a0b 01020304": {Type: lorawan.JoinAccept, FPort: -1,
			Payload: unhex("000102030405060708090a0b"), MIC: 0x01020304},
		"e3 00010203040506 01020304": {Type: lorawan.Proprietary, FPort: -1,
			Payload: unhex("00010203040506"), MIC: 0x01020304},
	} {
		raw := unhex(strings.ReplaceAll(phy, " ", ""))
		got, err := lorawan.Parse(raw)
		if message := got.Message(); err != nil || !bytes.Equal(message, raw[:len(raw)-4]) {
			t.Errorf("%s: message %x, error %v", phy, message, err)
		}
		if lorawan.MICOf(raw) != want.MIC {
			t.Errorf("%s: MIC %08x, want %08x", phy, lorawan.MICOf(raw), want.MIC)
		}
		if !sameFields(got, want) {
			t.Errorf("%s: got  %+v\nwant %+v", phy, got, want)
		}
	}
}

// sameFields compares what is exported; an empty slice is as good as none.
func sameFields(a, b lorawan.Frame) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i, field := range reflect.VisibleFields(x.Type()) {
		if !field.IsExported() || field.Type.Kind() == reflect.Slice && x.Field(i).Len()+y.Field(i).Len() == 0 {
			continue
		}
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return false
		}
	}
	return true
}

func TestSameFields(t *testing.T) {
	a, b := lorawan.Frame{MIC: 1, FOpts: []byte{}}, lorawan.Frame{MIC: 1}
	if !sameFields(a, b) || sameFields(a, lorawan.Frame{MIC: 2}) || sameFields(a, lorawan.Frame{MIC: 1, FOpts: []byte{0}}) {
		t.Error("the comparison is wrong")
	}
}

func TestParseErrors(t *testing.T) {
	data := func(n int) string { return "40" + strings.Repeat("00", n-1) }
	for name, tt := range map[string]struct {
		phy  string
		kind error
		text string
	}{
		"nothing":             {"", lorawan.ErrSize, "0 bytes; expected 12 to 255"},
		"too short":           {data(11), lorawan.ErrSize, "11 bytes"},
		"too long":            {data(256), lorawan.ErrSize, "256 bytes"},
		"another version":     {"41" + data(12)[2:], lorawan.ErrVersion, "1 in unconfirmed uplink; expected 0"},
		"options, nothing":    {"40da1b01260f020004245032", lorawan.ErrOptions, "15 bytes of unconfirmed uplink, have 0"},
		"options, one short":  {"40da1b0126020200ff04245032", lorawan.ErrOptions, "2 bytes of unconfirmed uplink, have 1"},
		"join, short":         {"00" + strings.Repeat("00", 21), lorawan.ErrSize, "join request has 22 bytes; expected 23"},
		"join, long":          {"00" + strings.Repeat("00", 23), lorawan.ErrSize, "join request has 24 bytes; expected 23"},
		"accept":              {"20" + strings.Repeat("00", 17), lorawan.ErrSize, "join accept has 18 bytes; expected 17, 33"},
		"rejoin 0 of 1's":     {"c000" + strings.Repeat("00", 22), lorawan.ErrSize, "rejoin request has 24 bytes; expected 19"},
		"rejoin 1 of 0's":     {"c001" + strings.Repeat("00", 17), lorawan.ErrSize, "rejoin request has 19 bytes; expected 24"},
		"rejoin 3":            {"c003" + strings.Repeat("00", 17), lorawan.ErrRejoinType, "3; expected 0 to 2"},
		"rejoin of a version": {"c200" + strings.Repeat("00", 17), lorawan.ErrVersion, "2 in rejoin request; expected 0"},
	} {
		f, err := lorawan.Parse(unhex(tt.phy))
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: error %v, want %v with %q", name, err, tt.kind, tt.text)
		}
		if !reflect.ValueOf(f).IsZero() {
			t.Errorf("%s: an error with %+v", name, f)
		}
	}
	if mic := lorawan.MICOf([]byte{1, 2, 3}); mic != 0 {
		t.Errorf("MIC of three bytes is %08x", mic)
	}
}

func TestFullFCnt(t *testing.T) {
	for _, tt := range []struct {
		last uint32
		low  uint16
		want uint32
	}{
		{0, 0, 0},
		{0, 1, 1},
		{5, 5, 5},                          // sent again
		{5, 4, 0x10004},                    // or late: 65536 less
		{0xffff, 0, 0x10000},               // the low half starts again
		{0x1fffe, 0xffff, 0x1ffff},         //
		{0x12345, 0x2344, 0x22344},         //
		{0xffff_ffff, 0xffff, 0xffff_ffff}, //
		{0xffff_fff0, 0x0001, 0x0000_0001}, // the whole counter starts again
		{0x0001_0000, 0xfff0, 0x0001_fff0}, // late across the edge: 0x1fff0 - 0x10000
	} {
		if got := lorawan.FullFCnt(tt.last, tt.low); got != tt.want {
			t.Errorf("after %#x, %#x is %#x, want %#x", tt.last, tt.low, got, tt.want)
		}
	}
}

// A counter within 65535 above the last is found, as is one up to 65536 below it by
// taking 65536 off.
func TestFullFCntFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		last := rapid.Uint32Range(1<<16, 1<<32-1<<16-1).Draw(t, "last")
		ahead := last + rapid.Uint32Range(0, 1<<16-1).Draw(t, "ahead")
		if got := lorawan.FullFCnt(last, uint16(ahead)); got != ahead {
			t.Fatalf("%#x, want %#x", got, ahead)
		}
		late := last - rapid.Uint32Range(1, 1<<16).Draw(t, "late")
		if got := lorawan.FullFCnt(last, uint16(late)) - 1<<16; got != late {
			t.Fatalf("%#x, want %#x", got, late)
		}
	})
}

// No input makes Parse panic; what it accepts covers the frame exactly and is refused in
// any part that ends before the payload does.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"40da1b012600010001aac56bab96a29468de1a1801", "40da1b012600020004245032",
		"80da1b0126a2cdab020300ff01020304", "00dc0000d07ed5b3701e6fedf57ceeaf00c886030af2c9",
		"c0001300007766554433221100050001020304", "c001341200d07ed5b3707766554433221100060001020304",
		"20000102030405060708090a0b01020304", "e30001020304050601020304", "40da1b01260f020004245032"} {
		f.Add(unhex(seed))
	}
	f.Fuzz(func(t *testing.T, phy []byte) {
		before := bytes.Clone(phy)
		frame, err := lorawan.Parse(phy)
		if !bytes.Equal(phy, before) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			checkKind(t, err)
			return
		}
		checkParts(t, frame, phy)
	})
}

func checkKind(t *testing.T, err error) {
	for _, kind := range []error{lorawan.ErrSize, lorawan.ErrVersion, lorawan.ErrOptions, lorawan.ErrRejoinType} {
		if errors.Is(err, kind) {
			return
		}
	}
	t.Fatalf("%v is of no kind", err)
}

func checkParts(t *testing.T, f lorawan.Frame, phy []byte) {
	if len(phy) < 12 || len(phy) > 255 || len(f.Message()) != len(phy)-4 || f.MIC != lorawan.MICOf(phy) {
		t.Fatalf("%d bytes, message %d, MIC %08x", len(phy), len(f.Message()), f.MIC)
	}
	switch f.Type {
	case lorawan.UnconfirmedUp, lorawan.ConfirmedUp, lorawan.UnconfirmedDown, lorawan.ConfirmedDown:
		port := 0
		if f.FPort >= 0 {
			port = 1
		}
		if len(f.FOpts) != int(f.FCtrl&15) || 8+len(f.FOpts)+port+len(f.Payload)+4 != len(phy) {
			t.Fatalf("%x: parts do not add up: %+v", phy, f)
		}
	default:
		if f.FPort != -1 || f.DevAddr != 0 || f.FOpts != nil {
			t.Fatalf("%x: fields of a data frame: %+v", phy, f)
		}
	}
	if f.Type.String() == "" {
		t.Fatalf("type %d has no name", f.Type)
	}
}
