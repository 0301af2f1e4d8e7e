package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"contend/bench/internal/paired"
	"contend/metric"
	"contend/stat"
)

// tailCommand makes this program a server of net/http that works for each request, and lets a share
// of them, drawn at random, wait; an address and the share follow.
const tailCommand = "tail"

const (
	// waits is how much longer a slow request takes.
	waits = 5 * time.Millisecond
	// slowShare is the share of the slow candidate's requests that wait.
	slowShare = 0.02
)

// serveTail serves requests like serveWorking; a share of them wait.
func serveTail(address, share string) error {
	slow, err := strconv.ParseFloat(share, 64)
	if err != nil {
		return err
	}
	answer, work := make([]byte, 100), time.Duration(usual[""])
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for start := time.Now(); time.Since(start) < work; {
		}
		if rand.Float64() < slow {
			time.Sleep(waits)
		}
		_, _ = w.Write(answer)
	}))
}

// A tailed is what one comparison said of its metrics; p99 is the primary one.
type tailed struct {
	Slow bool                    `json:"slow"` // the candidate has slow requests; false: the servers are equal
	Seed uint64                  `json:"seed"`
	Took time.Duration           `json:"took_ns"`
	Rows map[metric.Name]tailRow `json:"rows"`
}

// A tailRow is what a comparison said of one metric.
type tailRow struct {
	Verdict stat.Verdict `json:"verdict"`
	Code    string       `json:"code,omitempty"` // of its reason
	Ratio   float64      `json:"ratio"`
	Low     float64      `json:"ratio_low"`
	High    float64      `json:"ratio_high"`
}

// tails compares a server with one in which some requests take longer, and with itself, until there are as many
// comparisons of each as requested; those of earlier sessions count.
func tails(ctx context.Context, b *bench) error {
	all, err := paired.Kept[tailed](b.results)
	if err != nil {
		return err
	}
	have := map[bool]int{}
	for _, t := range all {
		have[t.Slow]++
	}
	for have[true] < b.tails || have[false] < b.tails {
		slow := have[true] < b.tails
		t := tailed{Slow: slow, Seed: b.seed + uint64(len(all))}
		if err := b.compareTails(ctx, &t); err != nil {
			return err
		}
		b.note("slow %v: %v after %.1f s", slow, t.Rows, t.Took.Seconds())
		if err := paired.Keep(b.results, t); err != nil {
			return err
		}
		have[slow]++
		all = append(all, t)
	}
	b.showTails(all)
	return nil
}

// compareTails runs one comparison.
func (b *bench) compareTails(ctx context.Context, t *tailed) error {
	server := func(share float64) string { return fmt.Sprintf("%s %s {{addr}} %g", b.self, tailCommand, share) }
	candidate := server(0)
	if t.Slow {
		candidate = server(slowShare)
	}
	began := time.Now()
	text, err := exec.CommandContext(ctx, b.contend, "compare", "--url", "http://{{addr}}/", "--json", "-c", "8", "-d", "90s",
		"--seed", strconv.FormatUint(t.Seed, 10), "--metric", "p99,throughput,p50", "--", server(0), candidate).Output()
	t.Took = time.Since(began)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() != 1 {
		err = nil
	}
	if err != nil {
		return err
	}
	return t.read(text)
}

// read reads the rows of a document.
func (t *tailed) read(text []byte) error {
	var doc struct {
		Comparisons []struct {
			Metric metric.Name
			Reason *struct{ Code string }
			tailRow
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	t.Rows = map[metric.Name]tailRow{}
	for _, c := range doc.Comparisons {
		if c.Reason != nil {
			c.Code = c.Reason.Code
		}
		t.Rows[c.Metric] = c.tailRow
	}
	return nil
}

// showTails writes what the comparisons add up to.
func (b *bench) showTails(all []tailed) {
	slow, equal := newTally(), newTally()
	var took, p50, throughput []float64
	for _, t := range all {
		row := t.Rows[metric.ResponseP99]
		sum := equal
		if t.Slow {
			sum = slow
			took = append(took, t.Took.Seconds())
		}
		sum.verdicts[row.Verdict]++
		if row.Code != "" {
			sum.refused[row.Code]++
		}
		width := func(m metric.Name) float64 { return 100 * math.Log(t.Rows[m].High/t.Rows[m].Low) / 2 }
		if !t.Slow && t.Rows[metric.ResponseP50].Low > 0 && t.Rows[metric.Throughput].Low > 0 {
			p50, throughput = append(p50, width(metric.ResponseP50)), append(throughput, width(metric.Throughput))
		}
	}
	b.show("o", atLeast("2 % of requests that take 5 ms longer: p99 longer within 90 s", slow.verdicts[stat.Slower], slow.total(), 0.9))
	fmt.Fprintf(b.out, "     p99: %v; after %.1f s (median), %.1f s (nine of ten)\n", slow, quantile(took, 0.5), quantile(took, 0.9))
	b.show("o", atMost("p99 of equal servers called different", equal.told(), equal.total(), 5, 100))
	fmt.Fprintf(b.out, "     p99: %v\n", equal)
	ofP50, ofThroughput := quantile(p50, 0.5), quantile(throughput, 0.5)
	b.show("o", figure{"interval of p50 of equal servers, median", fmt.Sprintf("≤ ±%.2f %%, that of the throughput", ofThroughput),
		fmt.Sprintf("±%.2f %% of %d", ofP50, len(p50)), len(p50) > 0 && ofP50 <= ofThroughput})
}
