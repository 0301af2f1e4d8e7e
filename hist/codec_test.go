package hist_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"contend/hist"
	"contend/internal/testenv"
	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

func TestJSONForm(t *testing.T) {
	h := record(10, 20, 31, 2*time.Hour)
	data, err := json.Marshal(h)
	testenv.Must(t, err)
	// 3 600 000 000 061 / 4 = 900 000 000 015.25; p50 is the 2nd of 4, p90 the 4th
	want := `{"count":4,"mean":900000000015.25,"min":10,"p50":20,"p90":3600000000000,"p95":3600000000000,` +
		`"p99":3600000000000,"p999":3600000000000,"max":3600000000000,"saturated":1,"hdr":"`
	if !strings.HasPrefix(string(data), want) {
		t.Errorf("got  %s\nwant %s…", data, want)
	}
	data, err = json.Marshal(hist.New())
	if err != nil || string(data) != `{"count":0}` {
		t.Errorf("empty: %s, %v", data, err)
	}
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := histograms().Draw(t, "h")
		data, err := json.Marshal(h)
		if err != nil {
			t.Fatalf("%v", err)
		}
		back := new(hist.Histogram)
		if err := json.Unmarshal(data, back); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		check(t, back, h)
		back.Record(5)
		h.Record(5)
		check(t, back, h)
	})
}

func TestJSONIsReadByTheReferenceDecoder(t *testing.T) {
	data, err := json.Marshal(record(100, 200, 5000, time.Second))
	testenv.Must(t, err)
	var doc struct{ HDR string }
	testenv.Must(t, json.Unmarshal(data, &doc))
	decoded, err := hdrhistogram.Decode([]byte(doc.HDR))
	if err != nil || decoded.TotalCount() != 4 || decoded.Min() != 100 {
		t.Fatalf("%v, %v", decoded, err)
	}
	if again, err := decoded.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err != nil || string(again) != doc.HDR {
		t.Errorf("%s, %v; the reference encoder writes %s", doc.HDR, err, again)
	}
}

// pack builds an encoded histogram from the header's fields and a payload.
func pack(digits int32, lowest, highest int64, payload []byte) string {
	var plain, packed bytes.Buffer
	for _, field := range []any{int32(0x1c849313), int32(len(payload)), int32(0), digits, lowest, highest, 1.0, payload} {
		_ = binary.Write(&plain, binary.BigEndian, field)
	}
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(plain.Bytes())
	_ = z.Close()
	head := binary.BigEndian.AppendUint32(nil, 0x1c849314)
	head = binary.BigEndian.AppendUint32(head, uint32(packed.Len()))
	return base64.StdEncoding.EncodeToString(append(head, packed.Bytes()...))
}

func hdrDocument(hdr string) []byte {
	return []byte(`{"count":1,"mean":1,"min":1,"p50":1,"p90":1,"p95":1,"p99":1,"p999":1,"max":1,"hdr":"` + hdr + `"}`)
}

func TestPackIsUnderstood(t *testing.T) {
	// zig-zag: counts 0, 1 are the bytes 0, 2: one value in bucket 1
	hdr := pack(3, 1, int64(time.Hour), []byte{0, 2})
	if err := json.Unmarshal(hdrDocument(hdr), new(hist.Histogram)); err != nil {
		t.Error(err)
	}
}

func TestDamagedJSONIsAnError(t *testing.T) {
	good, err := json.Marshal(record(1000, 2000, 300_000, time.Second))
	testenv.Must(t, err)
	replace := func(old, new string) []byte {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("%s does not contain %s", good, old)
		}
		return bytes.Replace(good, []byte(old), []byte(new), 1)
	}
	for want, data := range map[string][]byte{
		"JSON":                     []byte(`{"count"`),
		"cannot unmarshal":         replace(`"count":4`, `"count":"4"`),
		"count is 5":               replace(`"count":4`, `"count":5`),
		"count is 0":               replace(`"count":4`, `"count":0`),
		"min is 999":               replace(`"min":1000`, `"min":999`),
		"min is -1":                replace(`"min":1000`, `"min":-1`),
		"max is 2000000000":        replace(`"max":1000000000`, `"max":2000000000`),
		"mean is 1000":             replace(`"mean":250075750`, `"mean":1000`),
		"percentiles":              replace(`"p50":2000`, `"p50":2001`),
		"saturated is 9":           replace(`"hdr"`, `"saturated":9,"hdr"`),
		"saturated is -1":          replace(`"hdr"`, `"saturated":-1,"hdr"`),
		"truncated before":         []byte(`{"count":1}`),
		"base64":                   hdrDocument("?"),
		"expected at most 1048576": hdrDocument(strings.Repeat("A", 1<<20+1)),
		"zlib":                     hdrDocument(base64.StdEncoding.EncodeToString(make([]byte, 60))),
		"5 significant digit":      hdrDocument(pack(5, 1, math.MaxInt64, nil)),
		"too large for 3":          hdrDocument(pack(3, math.MaxInt64, math.MaxInt64, nil)),
		"exceeds the maximum":      hdrDocument(pack(3, 1, 2, make([]byte, 1<<20))),
		"overflows counts":         hdrDocument(pack(3, 1, 2, []byte{1, 1, 0xff, 0xff, 0xff, 0x7f, 2})),
		"expected 1 to 1":          hdrDocument(pack(0, int64(2*time.Hour), math.MaxInt64, []byte{0, 2})),
	} {
		h := record(7)
		err := h.UnmarshalJSON(data)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "hist: ") {
			t.Errorf("want an error about %q, got %v", want, err)
		}
		check(t, h, record(7))
	}
}

func TestNullIsEmpty(t *testing.T) {
	var h hist.Histogram
	testenv.Must(t, h.UnmarshalJSON([]byte("null")))
	check(t, &h, hist.New())
}

// The widest geometry, with a count in every bucket, and the widest with nothing.
func TestDecodingMemoryIsBounded(t *testing.T) {
	full := bytes.Repeat([]byte{2}, 1024*54) // 55 296 buckets of 1024 × (53 + 1)
	for name, hdr := range map[string]string{
		"full":   pack(3, 1, math.MaxInt64, full),
		"sparse": pack(3, 1, math.MaxInt64, nil),
		"bomb":   pack(3, 1, math.MaxInt64, make([]byte, 9<<20)),
		"wide":   pack(5, 1, math.MaxInt64, nil),
	} {
		data := hdrDocument(hdr)
		var err error
		allocated := testenv.Allocated(func() { err = new(hist.Histogram).UnmarshalJSON(data) })
		t.Logf("%s: %d bytes of input, %d allocated, %v", name, len(data), allocated, err)
		if err == nil || allocated > 8<<20 {
			t.Errorf("%s: %d bytes allocated, error %v", name, allocated, err)
		}
	}
}

func FuzzUnmarshalJSON(f *testing.F) {
	for _, h := range []*hist.Histogram{record(), record(1, 2, 3), record(-1, time.Second, 2*time.Hour)} {
		data, err := json.Marshal(h)
		testenv.Must(f, err)
		f.Add(data)
	}
	f.Add(hdrDocument(pack(3, 1, math.MaxInt64, []byte{0, 2})))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := new(hist.Histogram)
		if h.UnmarshalJSON(data) != nil {
			return
		}
		again, err := json.Marshal(h)
		testenv.Must(t, err)
		back := new(hist.Histogram)
		if err := back.UnmarshalJSON(again); err != nil {
			t.Fatalf("%v\n%s\n%s", err, data, again)
		}
		check(t, back, h)
	})
}

// FuzzHDR reaches past base64, zlib and their checksums.
func FuzzHDR(f *testing.F) {
	f.Add(int32(3), int64(1), int64(time.Hour), []byte{0, 2})
	f.Add(int32(0), int64(1<<60), int64(math.MaxInt64), []byte{1, 4, 6})
	f.Add(int32(3), int64(0), int64(-1), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, digits int32, lowest, highest int64, payload []byte) {
		h, err := hist.Decode(pack(digits, lowest, highest, payload))
		if err != nil {
			return
		}
		if h.Min() < 0 || h.Min() > h.Max() || h.Max() > hist.Highest || h.Mean() > h.Max() || h.Mean() < h.Min() {
			t.Fatalf("min %d, mean %d, max %d", h.Min(), h.Mean(), h.Max())
		}
		data, err := json.Marshal(h)
		testenv.Must(t, err)
		back := new(hist.Histogram)
		if err := json.Unmarshal(data, back); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		check(t, back, h)
	})
}
