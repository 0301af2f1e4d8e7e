package hist

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A bucket's lowest value is in it, and the value before it in the one before.
func TestBuckets(t *testing.T) {
	t.Parallel()
	original := hdrhistogram.New(1, int64(Highest), digits)
	for bucket := range bucketOf(int64(Highest)) + 1 {
		lowest := lowestOf(bucket)
		if got := bucketOf(lowest); got != bucket {
			t.Fatalf("the lowest value of bucket %d, %d, is in %d", bucket, lowest, got)
		}
		if lowest > 0 && (bucketOf(lowest-1) != bucket-1 || original.ValuesAreEquivalent(lowest, lowest-1)) {
			t.Fatalf("bucket %d begins before %d", bucket, lowest)
		}
	}
}

// binaryOf returns a histogram's binary form.
func binaryOf(h *Histogram) []byte {
	b, _ := h.AppendBinary(nil) // the error is always nil
	return b
}

// What several recorders send merges to what one recorder of all has, bit for bit.
func TestBinaryMergesExactly(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		one, merged := New(), New()
		var stream []byte
		parts := 1 + random.IntN(4)
		for range parts {
			part := New()
			for range random.IntN(2000) {
				d := time.Duration(math.Exp(random.Float64() * 30)) // 1 ns to 3 h
				part.Record(d)
				one.Record(d)
			}
			stream = append(stream, binaryOf(part)...)
		}
		for range parts {
			var err error
			if stream, err = merged.MergeBinary(stream); err != nil {
				t.Fatal(err)
			}
		}
		if len(stream) != 0 {
			t.Fatalf("%d bytes are left", len(stream))
		}
		if got, want := binaryOf(merged), binaryOf(one); !bytes.Equal(got, want) {
			t.Fatalf("merged %d bytes, one recorder has %d:\n%x\n%x", len(got), len(want), got, want)
		}
		got, _ := merged.MarshalJSON()
		want, _ := one.MarshalJSON()
		if !bytes.Equal(got, want) {
			t.Fatalf("merged %s\none recorder %s", got, want)
		}
	}
}

// Data that contradicts itself is refused and changes nothing.
func TestBinaryRefused(t *testing.T) {
	t.Parallel()
	h := New()
	h.RecordN(5, 3)
	h.RecordN(100, 2)
	// Geometry, 5 durations, none saturated, 5 to 100, sum 215 (2 bytes), 2 buckets: after 5 with 3, after 94 with 2.
	whole := binaryOf(h)
	if want := []byte{1, 5, 0, 5, 100, 0, 215, 1, 2, 5, 3, 94, 2}; !bytes.Equal(whole, want) {
		t.Fatalf("%v, want %v", whole, want)
	}
	for name, broken := range map[string][]byte{
		"nothing":                       {},
		"another geometry":              {2, 0},
		"no count":                      {1},
		"truncated":                     whole[:len(whole)-1],
		"more saturated than there are": {1, 5, 6, 5, 100, 0, 215, 1, 2, 5, 3, 94, 2},
		"shortest elsewhere":            {1, 5, 0, 6, 100, 0, 215, 1, 2, 5, 3, 94, 2},
		"longest elsewhere":             {1, 5, 0, 5, 101, 0, 215, 1, 2, 5, 3, 94, 2},
		"sum too small":                 {1, 5, 0, 5, 100, 0, 214, 1, 2, 5, 3, 94, 2},
		"sum too large":                 {1, 5, 0, 5, 100, 1, 215, 1, 2, 5, 3, 94, 2},
		"no bucket":                     {1, 5, 0, 5, 100, 0, 215, 1, 0, 5, 3, 94, 2},
		"more buckets than bytes":       {1, 5, 0, 5, 100, 0, 215, 1, 100, 5, 3, 94, 2},
		"an empty bucket":               {1, 5, 0, 5, 100, 0, 215, 1, 2, 5, 5, 94, 0},
		"a duration too few":            {1, 6, 0, 5, 100, 0, 215, 1, 2, 5, 3, 94, 2},
		"a duration too many":           {1, 4, 0, 5, 100, 0, 215, 1, 2, 5, 3, 94, 2},
		"a bucket beyond the last":      {1, 5, 0, 5, 100, 0, 215, 1, 2, 5, 3, 0xff, 0xff, 0xff, 0xff, 1, 2},
	} {
		sum := New()
		sum.Record(7)
		before := binaryOf(sum)
		if _, err := sum.MergeBinary(broken); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if !bytes.Equal(binaryOf(sum), before) {
			t.Errorf("%s: changed something", name)
		}
	}
	full := New()
	full.RecordN(5, math.MaxInt64)
	if _, err := full.MergeBinary(whole); err == nil || full.Count() != math.MaxInt64 || full.Max() != 5 {
		t.Errorf("more than can be counted: %v", err)
	}
}

func FuzzMergeBinary(f *testing.F) {
	h := New()
	h.Record(time.Millisecond)
	h.Record(2 * time.Hour)
	f.Add(binaryOf(New()))
	f.Add(binaryOf(h))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := New()
		if _, err := got.MergeBinary(b); err != nil {
			if got.Count() != 0 {
				t.Fatalf("refused (%v), but %d are counted", err, got.Count())
			}
			return
		}
		again := New()
		if rest, err := again.MergeBinary(binaryOf(got)); err != nil || len(rest) != 0 || !bytes.Equal(binaryOf(again), binaryOf(got)) {
			t.Fatalf("read %x, written as %x: %v", b, binaryOf(got), err)
		}
		if got.Quantile(0.5) > got.Max() || got.Mean() > got.Max() || got.Mean() < got.Min() {
			t.Fatalf("p50 %v, mean %v, max %v", got.Quantile(0.5), got.Mean(), got.Max())
		}
	})
}

// A worker's result is decoded and merged once a block.
func BenchmarkMergeBinary(b *testing.B) {
	h := New()
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		h.Record(time.Duration(float64(200*time.Microsecond) * math.Exp(random.NormFloat64()/2)))
	}
	form, sum := binaryOf(h), New()
	b.SetBytes(int64(len(form)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sum.MergeBinary(form); err != nil {
			b.Fatal(err)
		}
	}
}
