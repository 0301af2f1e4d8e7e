package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/bench/internal/paired"
	"contend/bench/internal/recorded"
	"contend/finding"
	"contend/stat"
	"contend/trial"
)

func TestRecordedNoise(t *testing.T) {
	all, err := parseNoise(bytes.NewReader(noisy))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		if _, err := n.deal(rand.New(rand.NewPCG(1, 1)), 8, 8); err != nil {
			t.Error(err)
		}
	}
}

// made is noise of rounds of pairs whose blocks differ by a spread.
func made(random *rand.Rand, rounds, pairs int, spread float64) noise {
	n := noise{Length: 20 * time.Millisecond}
	for range rounds {
		var list []recorded.Pair
		for p := range pairs {
			arms := []string{"a", "b"}
			if p%2 == 1 {
				slices.Reverse(arms)
			}
			var both recorded.Pair
			for i, arm := range arms {
				ops := int64(1e6 * math.Exp(spread*random.NormFloat64()))
				both[i] = recorded.Block{Arm: arm, Duration: n.Length, Ops: ops, ServerCPU: 15 * time.Millisecond}
			}
			list = append(list, both)
		}
		n.Rounds = append(n.Rounds, list)
	}
	return n
}

func TestDealKeepsTheSeries(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	n := made(random, 3, 5, 0.1)
	dealt, err := n.deal(random, 4, 2) // more rounds than were recorded: it goes round
	if err != nil {
		t.Fatal(err)
	}
	if len(dealt.Blocks) != 4*2*2 || len(dealt.Rounds) != 4*2 {
		t.Fatalf("%d blocks, %d sums", len(dealt.Blocks), len(dealt.Rounds))
	}
	var series []int64 // all that was recorded, in order
	for _, round := range n.Rounds {
		for _, p := range round {
			series = append(series, p[0].Ops, p[1].Ops)
		}
	}
	for blocks := range slices.Chunk(dealt.Blocks, 4) { // of a round
		at := slices.Index(series, blocks[0].Ops)
		for i, b := range blocks {
			if b.Ops != series[at+i] || b.Order != i+1 || b.Pair != i/2+1 {
				t.Errorf("%+v is not block %d of the stretch", b, i)
			}
		}
		if blocks[0].Arm == blocks[1].Arm || blocks[1].Arm != blocks[2].Arm {
			t.Errorf("the order of the arms was lost: %+v", blocks)
		}
	}
	if _, err := n.deal(random, 4, 6); err == nil {
		t.Error("6 pairs were dealt of 5")
	}
}

func TestDealtVerdicts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	for _, test := range []struct {
		spread, factor float64 // of a block; of the candidate's operations
		want           stat.Verdict
	}{
		{0, 1, stat.Equivalent},
		{0.03, 1, stat.Equivalent}, // a round spreads by 0.03·√2/√8 = 1.5 %, the middle of 12 by 0.45 %
		{0.03, 1.05, stat.Faster},
		{0.03, 0.95, stat.Slower},
	} {
		dealt, err := made(random, 30, 16, test.spread).deal(random, 12, 8)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range dealt.Blocks {
			if b.Arm == "candidate" {
				dealt.Blocks[i].Ops = int64(test.factor * float64(b.Ops))
			}
		}
		dealt.Derive()
		c := dealt.Comparisons[0]
		if c.Verdict != test.want || math.Abs(c.Ratio-test.factor) > test.spread/2 {
			t.Errorf("%+v: %s, ratio %.4f [%.4f, %.4f], %v", test, c.Verdict, c.Ratio, c.Low, c.High, c.Reason)
		}
	}
}

func TestWrittenNoiseIsRead(t *testing.T) {
	dealt, err := made(rand.New(rand.NewPCG(1, 4)), 2, 3, 0.1).deal(rand.New(rand.NewPCG(1, 5)), 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.NewBufferString(recorded.Columns + "\n")
	writeNoise(text, dealt)
	all, err := parseNoise(text)
	if err != nil || len(all) != 1 || len(all[0].Rounds) != 2 || len(all[0].Rounds[1]) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	got, want := all[0].Rounds[1][2][1], dealt.Blocks[11]
	if got.Ops != want.Ops || got.Duration != want.Duration || got.ServerCPU.Seconds() != want.Server.CPUSec {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestExtraFor(t *testing.T) {
	for _, test := range []struct {
		seen []slowdown
		want time.Duration
	}{
		{[]slowdown{{20 * time.Microsecond, 0.8}}, 4211 * time.Nanosecond},       // 1/0.8 − 1 = 0.25, 1/0.95 − 1 = 0.05263, 20 µs · 0.05263/0.25
		{[]slowdown{{10000, 1 / 1.125}, {20000, 0.8}}, 4211 * time.Nanosecond},   // both on one line
		{[]slowdown{{10000, 1 / 1.2}, {20000, 1 / 1.2}}, 4386 * time.Nanosecond}, // 0.2·(10+20)/(100+400) = 0.012 per µs
		{[]slowdown{{10000, 1.1}, {20000, 1}}, 0},
		{nil, 0},
	} {
		got, err := extraFor(test.seen, 0.95)
		if got != test.want || (err != nil) != (test.want == 0) {
			t.Errorf("%v: %v, %v, want %v", test.seen, got, err, test.want)
		}
	}
}

func TestFigures(t *testing.T) {
	for _, test := range []struct {
		figure
		reached bool
		got     string
	}{
		{atMost("", 9, 100, 9, 100), true, "9 of 100 (9.0 % [4.2, 16.4])"}, // Clopper and Pearson, as R's binom.test
		{atMost("", 10, 100, 9, 100), false, "10 of 100"},
		{atMost("", 1, 10, 9, 100), false, "1 of 10"},
		{atMost("", 0, 0, 9, 100), false, "0 of 0"},
		{atLeast("", 27, 30, 0.9), true, "27 of 30 (90.0 % [73.5, 97.9])"},
		{atLeast("", 26, 30, 0.9), false, "26 of 30"},
	} {
		if test.figure.reached != test.reached || !strings.HasPrefix(test.figure.got, test.got) {
			t.Errorf("%+v, want %v, %q", test.figure, test.reached, test.got)
		}
	}
}

func TestTally(t *testing.T) {
	b := &bench{out: new(bytes.Buffer), progress: new(bytes.Buffer)}
	sum := newTally()
	sum.addReal(b, "1", trial.Comparison{Verdict: stat.Slower}, nil)
	sum.addReal(b, "2", trial.Comparison{Verdict: stat.Invalid, Reason: finding.Errors.Refusal("x")}, nil)
	sum.addReal(b, "3", trial.Comparison{}, fmt.Errorf("it broke"))
	if got, want := sum.String(), "INVALID 1, SLOWER 1, of INVALID errors 1, failed 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if sum.told() != 1 || sum.total() != 2 {
		t.Errorf("told %d of %d", sum.told(), sum.total())
	}
}

// The table of two documents has the verdicts on p99; the interval of p50 is ln(1.01 ÷ 0.99) ÷ 2 = 1.00 % to either
// side, that of the throughput twice that.
func TestTailsOfDocuments(t *testing.T) {
	const rows = `{"metric": "throughput_per_s", "verdict": "INCONCLUSIVE", "ratio": 1, "ratio_low": 0.98, "ratio_high": 1.02},
		{"metric": "response_p50_ns", "verdict": "EQUIVALENT", "ratio": 1, "ratio_low": 0.99, "ratio_high": 1.01}]}`
	b := &bench{out: new(bytes.Buffer)}
	path := filepath.Join(t.TempDir(), "tails.jsonl")
	for slow, primary := range map[bool]string{
		true:  `{"metric": "response_p99_ns", "verdict": "SLOWER", "ratio": 5, "ratio_low": 4, "ratio_high": 6}`,
		false: `{"metric": "response_p99_ns", "verdict": "INVALID", "reason": {"code": "machine_busy"}, "ratio": 1}`,
	} {
		one := tailed{Slow: slow, Took: 9 * time.Second}
		if err := one.read([]byte(`{"comparisons": [` + primary + "," + rows)); err != nil {
			t.Fatal(err)
		}
		if err := paired.Keep(path, one); err != nil {
			t.Fatal(err)
		}
	}
	all, err := paired.Kept[tailed](path)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	b.showTails(all)
	for _, want := range []string{"1 of 1", "p99: SLOWER 1; after 9.0 s", "0 of 1", "INVALID 1, of INVALID machine_busy 1", "bar ≤ ±2.00 %", "got ±1.00 % of 1"} {
		if got := b.out.(*bytes.Buffer).String(); !strings.Contains(got, want) {
			t.Errorf("%s\nhas no %q", got, want)
		}
	}
}
