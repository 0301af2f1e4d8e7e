package experiment

import (
	"context"
	"strings"
	"testing"

	"contend/report"
)

// The published figures of the gRPC counter, read by Little's law.
func TestLittleOnTheGRPCCounter(t *testing.T) {
	f := embedded(t, "grpc-guard")
	list, err := newRunner(f.Experiment(""), Options{}, new(report.Document)).little(context.Background())
	if err != nil || len(list) != 1 {
		t.Fatalf("got %d analyses, %v", len(list), err)
	}
	a := list[0]
	if len(a.Rows) != 12 {
		t.Errorf("%d rows, want one for each of 6 levels and 2 guards", len(a.Rows))
	}
	text := strings.Join(a.Sentence, "\n")
	for _, want := range []string{
		// mutex at 1000 VUs: 9430.54/s × 2.27 ms = 21.4; inputq: 8924.53/s × 2.31 ms = 20.6
		"never held more than 21.4 calls at once (at concurrency 1000), although up to 1000 callers were running",
		// mutex at 10 VUs: 1 − 712.01 µs ÷ 2.07 ms = 65.6%; at 1000: 1 − 2.27 ms ÷ 93.12 ms = 97.6%
		"Between 66% and 98% of each iteration was spent outside the call, in the load generator",
		// 4532.29 ÷ 4800.54 − 1 at 10 VUs, 10664.65 ÷ 9656.44 − 1 at 100 VUs
		"inputq differs from mutex by -5.6% to +10.4%, from one run each",
		"INVALID generator_saturated: these figures decide nothing about the server or its guard",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
	for row, want := range map[int][]string{
		0:  {"inputq", "10", "4,532", "720 µs", "2.19 ms", "3.3", "67%"}, // 4532.29/s × 719.94 µs
		2:  {"inputq", "100", "10,665", "1.63 ms", "9.35 ms", "17.4", "83%"},
		10: {"inputq", "1,000", "8,925", "2.31 ms", "92.0 ms", "20.6", "97%"},
	} {
		if got := strings.Join(a.Rows[row], " | "); got != strings.Join(want, " | ") {
			t.Errorf("row %d is %s, want %s", row, got, strings.Join(want, " | "))
		}
	}
}

func TestLittleNeedsItsColumns(t *testing.T) {
	f := embedded(t, "channel-pipeline")
	if _, err := newRunner(f.Experiment(""), Options{}, new(report.Document)).little(context.Background()); err == nil {
		t.Error("tables without call times were read")
	}
}
