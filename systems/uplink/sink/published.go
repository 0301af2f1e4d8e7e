package sink

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/hist"
)

// The published report form is that of the HTTP load tool hey
// (github.com/rakyll/hey, requester/report.go), with its rules for the histogram
// and the distribution, and a head of its own.
const (
	bars    = 10 // steps of the histogram between fastest and slowest
	barSize = 40 // characters of the longest bar
	barRune = "■"
)

// The lines of the published sink before its summary.
const (
	noAcks        = "[WARN] Ack's will be not sent"
	poolSize      = "Using pool size: %d"
	connecting    = "Connecting to: '%s'..."
	Connected     = "Connected, waiting for load..."
	endMarkerSeen = "Test end marker received. Terminating test!..."
	waiting       = "Waiting tasks..."
	finished      = "Test finished!"
)

// percentages are those of the latency distribution.
var percentages = [...]int64{10, 25, 50, 75, 90, 95, 99}

// A summary holds the figures of the published report form.
type summary struct {
	requests                  int64
	total                     time.Duration // of the test
	bytes                     int64
	slowest, fastest, average time.Duration
	edges                     [bars + 1]time.Duration
	counts                    [bars + 1]int64
	distribution              [len(percentages)]time.Duration
	reached                   int // how many percentages there are samples for
}

// summarise makes a summary of latencies; counts and distribution are those of
// samples within 0.1 % of the true ones.
func summarise(latencies *hist.Histogram) summary {
	n := latencies.Count()
	s := summary{requests: n, slowest: latencies.Max(), fastest: latencies.Min(), average: latencies.Mean()}
	s.setEdges()
	var below int64
	for i, upTo := range latencies.CountsUpTo(s.edges[:]...) {
		s.counts[i] = upTo - below
		below = upTo
	}
	// The line of p % shows the first sample, of those sorted and numbered from 0,
	// whose number · 100 ÷ n reaches p; each sample makes one line at most.
	sample := int64(-1)
	for i, p := range percentages {
		sample = max(sample+1, (p*n+99)/100)
		if sample >= n {
			break
		}
		s.distribution[i] = latencies.Quantile(float64(sample+1) / float64(n))
		s.reached++
	}
	return s
}

// setEdges sets edge i to fastest + i·(slowest − fastest)/10, rounded down to a
// nanosecond, which no sample can tell from the exact value.
func (s *summary) setEdges() {
	span := s.slowest - s.fastest
	for i := range s.edges {
		s.edges[i] = s.fastest + span/bars*time.Duration(i) + span%bars*time.Duration(i)/bars
	}
}

// write writes the form from its word Summary on.
func (s *summary) write(w io.Writer) error {
	var b strings.Builder
	field := func(name, value string) { fmt.Fprintf(&b, "  %-15s %s\n", name+":", value) }
	b.WriteString("Summary:\n")
	field("RPS (tottime)", fixed(ratio(float64(s.requests), s.total.Seconds())))
	field("Total req", strconv.FormatInt(s.requests, 10))
	field("Total time", seconds(s.total))
	field("Total bytes", inBytes(float64(s.bytes)))
	field("Average bytes", shortest(ratio(float64(s.bytes), float64(s.requests)))+"B")
	field("Throughput", inBytes(ratio(float64(s.bytes), s.total.Seconds())))
	field("Slowest", seconds(s.slowest))
	field("Fastest", seconds(s.fastest))
	field("Average", seconds(s.average))
	if s.requests > 0 {
		s.writeLatencies(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *summary) writeLatencies(b *strings.Builder) {
	b.WriteString("\nResponse time histogram:\n")
	most := slices.Max(s.counts[:])
	for i, n := range s.counts {
		bar := (n*barSize + most/2) / most
		fmt.Fprintf(b, "  %s [%d] |%s\n", fixed(s.edges[i].Seconds()), n, strings.Repeat(barRune, int(bar)))
	}
	b.WriteString("\nLatency distribution:\n")
	for i, p := range percentages[:s.reached] {
		fmt.Fprintf(b, "  %d%% in %s\n", p, seconds(s.distribution[i]))
	}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func fixed(x float64) string         { return strconv.FormatFloat(x, 'f', 5, 64) }
func seconds(d time.Duration) string { return fixed(d.Seconds()) + " secs" }

// shortest writes up to five decimals, and at least one.
func shortest(x float64) string {
	text := strconv.FormatFloat(math.Round(x*1e5)/1e5, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// inBytes writes bytes in the largest binary unit that leaves at least 1, with one
// decimal.
func inBytes(bytes float64) string {
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for bytes >= 1024 && i < len(units)-1 {
		bytes /= 1024
		i++
	}
	return strconv.FormatFloat(bytes, 'f', 1, 64) + units[i]
}
