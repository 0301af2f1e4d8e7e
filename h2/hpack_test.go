package h2

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"contend/internal/testenv"
)

// unhex reads bytes as the RFCs write them.
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	p, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	testenv.Must(t, err)
	return p
}

func lines(h *Header) string {
	var text strings.Builder
	for i := range h.Len() {
		name, value := h.Field(i)
		fmt.Fprintf(&text, "%s: %s\n", name, value)
	}
	return text.String()
}

// RFC 7541, appendix C.1.
func TestInteger(t *testing.T) {
	for _, test := range []struct {
		prefix, value int
		bytes         string
	}{
		{5, 10, "0a"}, {5, 1337, "1f 9a 0a"}, {8, 42, "2a"},
		{7, 126, "7e"}, {7, 127, "7f 00"}, {7, 254, "7f 7f"}, {7, 255, "7f 80 01"},
	} {
		encoded := appendInteger(nil, 0, test.prefix, test.value)
		if !bytes.Equal(encoded, unhex(t, test.bytes)) {
			t.Errorf("%d is %x, want %s", test.value, encoded, test.bytes)
		}
		value, rest, ok := integer(append(encoded, 0xaa), test.prefix)
		if value != test.value || len(rest) != 1 || !ok {
			t.Errorf("%x is %d, %x, %v", encoded, value, rest, ok)
		}
	}
	for _, cut := range []string{"", "1f", "1f 9a", "1f 80 80 80 80 01", "1f ff ff ff ff ff ff ff ff ff ff 7f"} {
		if value, _, ok := integer(unhex(t, cut), 5); ok {
			t.Errorf("%s is %d", cut, value)
		}
	}
}

// RFC 7541, appendices C.2 to C.6, each group on one connection.
func TestVectors(t *testing.T) {
	for _, group := range []struct {
		name      string
		tableSize int
		blocks    [][2]string // bytes and fields
		size      int         // of the table at the end
	}{
		{"C.2.1", 4096, [][2]string{
			{"400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", "custom-key: custom-header\n"}}, 55},
		{"C.2.2", 4096, [][2]string{{"040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path\n"}}, 0},
		{"C.2.3", 4096, [][2]string{{"1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret\n"}}, 0},
		{"C.2.4", 4096, [][2]string{{"82", ":method: GET\n"}}, 0},
		{"C.3", 4096, [][2]string{
			{"8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", get("http", "/", "")},
			{"8286 84be 5808 6e6f 2d63 6163 6865", get("http", "/", "cache-control: no-cache\n")},
			{"8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", get("https", "/index.html", "custom-key: custom-value\n")},
		}, 164},
		{"C.4", 4096, [][2]string{
			{"8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", get("http", "/", "")},
			{"8286 84be 5886 a8eb 1064 9cbf", get("http", "/", "cache-control: no-cache\n")},
			{"8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", get("https", "/index.html", "custom-key: custom-value\n")},
		}, 164},
		{"C.5", 256, [][2]string{
			{"4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", answer("302", "21", "")},
			{"4803 3330 37c1 c0bf", answer("307", "21", "")},
			{"88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31", answer("200", "22", cookie)},
		}, 215},
		{"C.6", 256, [][2]string{
			{"4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3", answer("302", "21", "")},
			{"4883 640e ffc1 c0bf", answer("307", "21", "")},
			{"88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07", answer("200", "22", cookie)},
		}, 215},
	} {
		t.Run(group.name, func(t *testing.T) {
			var d decoder
			d.reset()
			d.table.max = group.tableSize
			for i, block := range group.blocks {
				h, err := d.header(unhex(t, block[0]))
				if err != nil {
					t.Fatalf("block %d: %v", i+1, err)
				}
				if got := lines(h); got != block[1] {
					t.Errorf("block %d is\n%swant\n%s", i+1, got, block[1])
				}
			}
			if d.table.size != group.size {
				t.Errorf("the table has %d bytes, want %d", d.table.size, group.size)
			}
		})
	}
}

const cookie = "content-encoding: gzip\nset-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"

func get(scheme, path, rest string) string {
	return ":method: GET\n:scheme: " + scheme + "\n:path: " + path + "\n:authority: www.example.com\n" + rest
}

func answer(status, second, rest string) string {
	return ":status: " + status + "\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:" + second + " GMT\nlocation: https://www.example.com\n" + rest
}

// Every byte is decoded as another implementation encodes it.
func TestHuffman(t *testing.T) {
	var all []byte
	for b := range 256 {
		all = append(all, byte(b))
		one := []byte{byte(b), byte(255 - b)}
		got, ok := appendHuffman(nil, hpack.AppendHuffmanString(nil, string(one)))
		if !ok || !bytes.Equal(got, one) {
			t.Errorf("%x becomes %x, %v", one, got, ok)
		}
	}
	got, ok := appendHuffman([]byte("x"), hpack.AppendHuffmanString(nil, string(all)))
	if !ok || !bytes.Equal(got[1:], all) {
		t.Errorf("all bytes become %x, %v", got, ok)
	}
	for _, wrong := range []string{
		"ff",          // eight bits of padding
		"1fff",        // 'a' and eleven bits of padding
		"18",          // 'a' (00011) and padding of zeros
		"ff ff ff ff", // EOS
		"ff ff ff fc", // EOS and two bits
	} {
		if got, ok := appendHuffman(nil, unhex(t, wrong)); ok {
			t.Errorf("%s is %q", wrong, got)
		}
	}
}

func TestBrokenBlocks(t *testing.T) {
	for name, block := range map[string]string{
		"index 0":                   "80",
		"index beyond the table":    "be",
		"name beyond the table":     "7f 00 01 61",
		"integer cut off":           "ff",
		"string cut off":            "40 05 61",
		"table too large":           "3f e2 1f", // 31 + 98 + 31·128 = 4097
		"table resized after field": "88 20",
		"Huffman":                   "40 81 ff 01 61",
	} {
		var d decoder
		d.reset()
		if h, err := d.header(unhex(t, block)); err == nil {
			t.Errorf("%s: decoded as %q", name, lines(h))
		}
	}
}

func TestMalformedHeaders(t *testing.T) {
	for name, block := range map[string]string{
		"status of two digits":     "08 02 3230",
		"status below 100":         "08 03 303939",
		"pseudo-field of requests": "82",
		"status after a field":     "00 01 61 01 62 88",
		"two":                      "88 88",
		"upper case":               "88 00 01 41 01 62",
		"no name":                  "88 00 00 01 62",
		"line end":                 "88 00 01 61 01 0a",
	} {
		var d decoder
		d.reset()
		if h, err := d.header(unhex(t, block)); err != nil || h.malformed == "" {
			t.Errorf("%s: %q, %v", name, lines(h), err)
		}
	}
}

// A small block expands to as much as its indexes multiply, up to a limit.
func TestHeaderBomb(t *testing.T) {
	var d decoder
	d.reset()
	long := appendLiteral(nil, Field{"a", strings.Repeat("x", 4000)}, true)
	if _, err := d.header(long); err != nil {
		t.Fatal(err)
	}
	// 4001 + 32 bytes each: 64 stay below 256 KiB = 262144 bytes, 65 do not, by one.
	if _, err := d.header(bytes.Repeat([]byte{0xbe}, 64)); err != nil {
		t.Error(err)
	}
	if _, err := d.header(bytes.Repeat([]byte{0xbe}, 65)); err != errLongHeader {
		t.Errorf("65 times 4 kB: %v", err)
	}
}

// Known fields are forgotten when the table changes.
func TestKnownHeaders(t *testing.T) {
	var d decoder
	d.reset()
	insert := func(value string) { must(t, &d, appendLiteral(nil, Field{"a", value}, true)) }
	insert("1")
	first := must(t, &d, []byte{0x88, 0xbe})
	if must(t, &d, []byte{0x88, 0xbe}) != first || string(first.Get("a")) != "1" || first.Status != 200 {
		t.Errorf("not remembered: %q", lines(first))
	}
	insert("2")
	if h := must(t, &d, []byte{0x88, 0xbe}); string(h.Get("a")) != "2" {
		t.Errorf("stale: %q", lines(h))
	}
	d.reset()
	if h, err := d.header([]byte{0x88, 0xbe}); err == nil {
		t.Errorf("known from another connection: %q", lines(h))
	}
}

func must(t *testing.T, d *decoder, block []byte) *Header {
	t.Helper()
	h, err := d.header(block)
	testenv.Must(t, err)
	return h
}

// Whatever a sequence of blocks says, it says the same to another implementation.
func FuzzDecode(f *testing.F) {
	f.Add(unhex(f, "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572"), []byte{0xbe, 0xbe})
	f.Add(unhex(f, "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff"), unhex(f, "4883 640e ffc1 c0bf"))
	f.Add([]byte{0x20, 0x3f, 0x21, 0x88}, []byte{0x88})
	f.Add(bytes.Repeat(append([]byte{0x40, 1, 'a', 100}, bytes.Repeat([]byte{'x'}, 100)...), 60), []byte{0x20, 0xbe})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var d decoder
		d.reset()
		oracle := hpack.NewDecoder(tableSize, nil)
		for _, block := range [][]byte{first, second, second} {
			fields, wrong := oracle.DecodeFull(block)
			h, err := d.header(block)
			if (err == nil) != (wrong == nil) {
				// It refuses a resized table in fewer cases and some integers in more.
				return
			}
			if err != nil {
				return
			}
			var want strings.Builder
			for _, field := range fields {
				fmt.Fprintf(&want, "%s: %s\n", field.Name, field.Value)
			}
			if got := lines(h); got != want.String() {
				t.Fatalf("%x is %q, want %q", block, got, want.String())
			}
			if len(d.table.data) > 4*tableSize || d.table.size > tableSize {
				t.Fatalf("the table holds %d bytes", len(d.table.data))
			}
		}
	})
}
