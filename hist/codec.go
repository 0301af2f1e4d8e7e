package hist

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxEncoded bounds an encoded histogram in bytes. Incompressible counts in every
// bucket of the widest accepted geometry take 0.7 MB.
const maxEncoded = 1 << 20

// document is the JSON form. All figures are in nanoseconds: the key of the
// object that holds them ends in _ns.
type document struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	Min   int64   `json:"min"`
	P50   int64   `json:"p50"`
	P90   int64   `json:"p90"`
	P95   int64   `json:"p95"`
	P99   int64   `json:"p99"`
	P999  int64   `json:"p999"`
	Max   int64   `json:"max"`
	// Saturated is left out when it is 0.
	Saturated int64  `json:"saturated,omitempty"`
	HDR       string `json:"hdr"`
}

// MarshalJSON writes count, mean, min, p50, p90, p95, p99, p999, max (in
// nanoseconds; only the mean may have a fraction), saturated if it is not 0, and
// hdr, the histogram itself in HdrHistogram's V2 compressed form. An empty
// histogram has a count of 0 and nothing else.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	if h.Count() == 0 {
		return []byte(`{"count":0}`), nil
	}
	doc := h.figures()
	hdr, err := h.encode()
	if err != nil {
		return nil, err
	}
	doc.HDR = string(hdr)
	return json.Marshal(doc)
}

// UnmarshalJSON restores what MarshalJSON wrote, exact mean, minimum and maximum
// included. Every figure must be there and agree with hdr: a damaged or edited
// document is an error, and h is then unchanged. Memory stays below 8 MB whatever
// the input.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("hist: %w", err)
	}
	restored := new(Histogram)
	if doc.Count != 0 || doc.HDR != "" {
		var err error
		if restored, err = decode(doc.HDR); err != nil {
			return fmt.Errorf("hist: hdr: %w", err)
		}
	}
	if err := restored.refine(doc); err != nil {
		return fmt.Errorf("hist: %w", err)
	}
	*h = *restored
	return nil
}

func (h *Histogram) figures() document {
	return document{
		Count: h.Count(), Mean: h.mean(), Min: int64(h.Min()), Max: int64(h.Max()),
		P50: int64(h.Quantile(0.5)), P90: int64(h.Quantile(0.9)), P95: int64(h.Quantile(0.95)),
		P99: int64(h.Quantile(0.99)), P999: int64(h.Quantile(0.999)),
		Saturated: h.saturated,
	}
}

// refine replaces the bucket limits that decoding put for minimum, maximum and
// mean by the exact ones of doc, if they are possible, and checks the rest.
func (h *Histogram) refine(doc document) error {
	if doc.Count != h.Count() {
		return fmt.Errorf("count is %d, but hdr holds %d", doc.Count, h.Count())
	}
	if doc.Saturated < h.saturated || doc.Saturated > doc.Count {
		return fmt.Errorf("saturated is %d; expected %d to %d", doc.Saturated, h.saturated, doc.Count)
	}
	h.saturated = doc.Saturated
	if doc.Count == 0 {
		return nil
	}
	if doc.Min < 0 || bucketOf(doc.Min) != bucketOf(h.min) {
		return fmt.Errorf("min is %d, but hdr begins with %d", doc.Min, h.min)
	}
	if doc.Max < doc.Min || doc.Max > int64(Highest) || bucketOf(doc.Max) != bucketOf(h.max) {
		return fmt.Errorf("max is %d, but hdr ends with %d", doc.Max, h.max)
	}
	// A bucket's middle is at most half its width, 1/2048, from its values.
	if estimate := h.mean(); math.Abs(doc.Mean-estimate) > estimate/2000+1 ||
		doc.Mean < float64(doc.Min) || doc.Mean > float64(doc.Max) {
		return fmt.Errorf("mean is %v, but hdr has %v", doc.Mean, estimate)
	}
	h.min, h.max = doc.Min, doc.Max
	h.setMean(doc.Mean)
	want := h.figures()
	want.Mean, want.HDR = doc.Mean, doc.HDR
	if doc != want {
		return fmt.Errorf("percentiles are %d, but hdr has %d", doc.percentiles(), want.percentiles())
	}
	return nil
}

func (d document) percentiles() []int64 { return []int64{d.P50, d.P90, d.P95, d.P99, d.P999} }

// encode returns the base64 form of HdrHistogram's V2 compressed encoding.
func (h *Histogram) encode() ([]byte, error) {
	counted := hdrhistogram.NewPacked(1, int64(Highest), digits) // without the 270 kB of the buckets that have none
	for lowest, n := range h.Bars() {
		_ = counted.RecordValues(int64(lowest), n) // neither can be out of range
	}
	return counted.Encode()
}

// decode reads what encode wrote, or any other V2 histogram of at most 3
// significant digits, whose values it takes for nanoseconds.
func decode(encoded string) (*Histogram, error) {
	if err := checkHeader(encoded); err != nil {
		return nil, err
	}
	decoded, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return nil, err
	}
	bars := barsOf(decoded)
	h := new(Histogram)
	if len(bars) > 0 {
		h.cover(bucketOf(int64(middle(bars[0]))), bucketOf(int64(middle(bars[len(bars)-1]))))
	}
	for _, bar := range bars {
		h.RecordN(middle(bar), bar.Count)
	}
	if h.Count() > 0 {
		h.min, h.max = lowestOf(bucketOf(h.min)), min(lowestOf(bucketOf(h.max)+1)-1, int64(Highest))
	}
	return h, nil
}

// barsOf returns the bars that are not empty. The library lists 33,000 to tell them, in 1 MB.
func barsOf(d *hdrhistogram.Histogram) (bars []hdrhistogram.Bar) {
	if d.LowestTrackableValue() != 1 || d.HighestTrackableValue() != int64(Highest) || d.SignificantFigures() != digits {
		return slices.DeleteFunc(d.Distribution(), func(b hdrhistogram.Bar) bool { return b.Count == 0 })
	}
	for bucket, n := range d.Export().Counts { // its order is that of a Histogram
		if n > 0 {
			bars = append(bars, hdrhistogram.Bar{Count: n, From: lowestOf(bucket), To: lowestOf(bucket+1) - 1})
		}
	}
	return bars
}

// middle returns the middle of a bar; the last one may reach beyond Highest.
func middle(b hdrhistogram.Bar) time.Duration {
	middle := b.From + (b.To-b.From+1)/2
	return min(time.Duration(middle), max(time.Duration(b.From), Highest))
}

// checkHeader bounds the memory that decoding can take. The library allocates what
// the header asks for, up to 50 MB of counts; 3 digits limit that to 0.5 MB.
func checkHeader(encoded string) error {
	if len(encoded) > maxEncoded {
		return fmt.Errorf("%d bytes long; expected at most %d", len(encoded), maxEncoded)
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	if len(raw) < 8 {
		return errors.New("truncated before its header")
	}
	z, err := zlib.NewReader(bytes.NewReader(raw[8:]))
	if err != nil {
		return err
	}
	var header struct {
		Cookie, PayloadLength, Offset, Digits int32
		Lowest, Highest                       int64
		Ratio                                 float64
	}
	if err := binary.Read(z, binary.BigEndian, &header); err != nil {
		return fmt.Errorf("truncated in its header: %w", err)
	}
	if header.Digits < 0 || header.Digits > digits {
		return fmt.Errorf("%d significant digits; expected at most %d", header.Digits, digits)
	}
	return nil
}
