package sink

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"contend/hist"
	"contend/internal/testenv"
)

// published are the figures of the four published runs, with the text that the
// form must give for them.
var published = []struct {
	name                      string
	rps, average              float64 // average bytes
	slowest, fastest, mean    float64 // seconds
	distribution              [7]float64
	counts                    [11]int64
	time, throughput, perByte string
}{
	{
		name: "flat-acks", rps: 8018.38781, average: 96.26615, slowest: 0.19318, fastest: 0.00013, mean: 0.00792,
		distribution: [7]float64{0.00014, 0.00014, 0.00016, 0.00022, 0.00099, 0.07231, 0.16873},
		counts:       [11]int64{1, 92952, 752, 720, 824, 740, 696, 900, 785, 793, 837},
		time:         "12.47133 secs", throughput: "753.8KiB", perByte: "96.26615B",
	},
	{
		name: "flat-no-acks", rps: 8130.53222, average: 96, slowest: 0.00956, fastest: 0.00012, mean: 0.00022,
		distribution: [7]float64{0.00013, 0.00013, 0.00014, 0.00014, 0.00016, 0.00025, 0.00318},
		counts:       [11]int64{1, 97524, 800, 568, 404, 265, 181, 151, 37, 43, 26},
		time:         "12.29932 secs", throughput: "762.2KiB", perByte: "96.0B",
	},
	{
		name: "batch-acks", rps: 4093.40009, average: 96.44342, slowest: 0.84257, fastest: 0.23974, mean: 0.40602,
		distribution: [7]float64{0.27552, 0.32312, 0.40132, 0.47123, 0.50981, 0.52837, 0.79577},
		counts:       [11]int64{1, 17609, 18631, 20413, 21856, 16662, 378, 972, 1278, 913, 1287},
		time:         "24.42957 secs", throughput: "385.5KiB", perByte: "96.44342B",
	},
	{
		name: "batch-no-acks", rps: 4125.52145, average: 96, slowest: 0.47821, fastest: 0.23134, mean: 0.35739,
		distribution: [7]float64{0.25833, 0.29652, 0.36122, 0.41985, 0.45003, 0.45922, 0.46755},
		counts:       [11]int64{1, 9038, 9965, 9727, 9183, 9225, 10159, 11406, 10970, 12188, 8138},
		time:         "24.23936 secs", throughput: "386.8KiB", perByte: "96.0B",
	},
}

func secs(x float64) time.Duration { return time.Duration(math.Round(x * 1e9)) }

// The form of the published figures, whose fields follow from one another: the
// total time from the rate, the throughput from time and bytes.
func TestPublishedForm(t *testing.T) {
	for _, p := range published {
		s := summary{
			requests: 100_000, total: secs(100_000 / p.rps), bytes: int64(math.Round(p.average * 100_000)),
			slowest: secs(p.slowest), fastest: secs(p.fastest), average: secs(p.mean),
			counts: p.counts, reached: 7,
		}
		s.setEdges()
		for i, d := range p.distribution {
			s.distribution[i] = secs(d)
		}
		var b strings.Builder
		if err := s.write(&b); err != nil {
			t.Fatal(err)
		}
		testenv.Golden(t, "testdata/"+p.name+".txt", b.String())
		for _, want := range []string{"100000", "9.2MiB", fixed(p.rps), p.time, p.throughput, p.perByte} {
			if !strings.Contains(b.String(), want+"\n") {
				t.Errorf("%s: no line ends in %q", p.name, want)
			}
		}
	}
}

// Samples put on the edges fall into the lines that the published counts say.
func TestPublishedHistogram(t *testing.T) {
	for _, p := range published {
		edges := summary{slowest: secs(p.slowest), fastest: secs(p.fastest)}
		edges.setEdges()
		var latencies []time.Duration
		for i, n := range p.counts {
			latencies = append(latencies, slices.Repeat([]time.Duration{edges.edges[i]}, int(n))...)
		}
		s := summarise(histogram(latencies))
		if s.counts != p.counts || s.requests != 100_000 || s.edges != edges.edges {
			t.Errorf("%s: counts are %v, want %v", p.name, s.counts, p.counts)
		}
	}
}

// The first sample whose index, counted from 0, times 100 ÷ total reaches the
// percentage: of 1 … n that is ⌈p·n/100⌉ + 1.
func TestDistributionRule(t *testing.T) {
	tests := []struct {
		n    int
		want []time.Duration
	}{
		{0, nil},
		{1, nil},                              // 0·100/1 = 0
		{2, []time.Duration{2}},               // 1·100/2 = 50 reaches 10 %: a sample makes one line at most
		{10, []time.Duration{2, 4, 6, 9, 10}}, // 1·100/10 = 10, 3·10 ≥ 25, 5·10, 8·10 ≥ 75, 9·10
		{100, []time.Duration{11, 26, 51, 76, 91, 96, 100}}, // index p
		{1000, []time.Duration{101, 251, 501, 751, 901, 951, 991}},
	}
	for _, tt := range tests {
		latencies := make([]time.Duration, tt.n)
		for i := range latencies {
			latencies[i] = time.Duration(tt.n - i)
		}
		s := summarise(histogram(latencies))
		got := s.distribution[:s.reached]
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d samples: %v, want %v", tt.n, got, tt.want)
		}
	}
}

func histogram(latencies []time.Duration) *hist.Histogram {
	h := hist.New()
	for _, l := range latencies {
		h.Record(l)
	}
	return h
}

// Whatever the samples, the counts add up, and each sample is in the line between
// whose edges it is, moved by 0.1 % at most.
func TestSummaryProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var latencies []time.Duration
		for _, l := range rapid.SliceOfN(rapid.Int64Range(0, 1e12), 1, 200).Draw(t, "latencies") {
			latencies = append(latencies, time.Duration(l))
		}
		s := summarise(histogram(latencies))
		within := func(limit float64) (n int64) {
			for _, l := range latencies {
				if float64(l) <= limit {
					n++
				}
			}
			return n
		}
		var sum int64
		for i, n := range s.counts {
			sum += n
			edge := float64(s.fastest) + float64(s.slowest-s.fastest)*float64(i)/bars
			if n < 0 || sum < within(edge*0.999-1) || sum > within(edge*1.001+1) {
				t.Fatalf("line %d: %d up to %v, want %d to %d", i, sum, s.edges[i], within(edge*0.999-1), within(edge*1.001+1))
			}
		}
		if sum != int64(len(latencies)) {
			t.Fatalf("the lines have %d of %d", sum, len(latencies))
		}
		var b strings.Builder
		if err := s.write(&b); err != nil || strings.Count(b.String(), "|") != bars+1 {
			t.Fatalf("error %v, form\n%s", err, &b)
		}
	})
}

func TestUnits(t *testing.T) {
	tests := []struct {
		bytes   float64
		binary  string
		average float64
		text    string
	}{
		{0, "0.0B", 0, "0.0"},
		{1023, "1023.0B", 96, "96.0"},
		{1536, "1.5KiB", 96.26615, "96.26615"},
		{9626615, "9.2MiB", 96.1, "96.1"},      // ÷ 1024² = 9.181
		{5 << 40, "5.0TiB", 1. / 3, "0.33333"}, //
		{5 << 50, "5120.0TiB", 1e-9, "0.0"},    // no larger unit
	}
	for _, tt := range tests {
		if got := inBytes(tt.bytes); got != tt.binary {
			t.Errorf("inBytes(%v) = %s, want %s", tt.bytes, got, tt.binary)
		}
		if got := shortest(tt.average); got != tt.text {
			t.Errorf("shortest(%v) = %s, want %s", tt.average, got, tt.text)
		}
	}
}
