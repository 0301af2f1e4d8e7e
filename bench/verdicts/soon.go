package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/bench/internal/foreign"
	"contend/bench/internal/paired"
	"contend/metric"
	"contend/stat"
)

// workCommand makes this program a server of net/http that works for each request; an
// address and the time follow.
const workCommand = "work"

// serveWorking serves requests that each keep a thread busy for a time.
func serveWorking(address, each string) error {
	work, err := time.ParseDuration(each)
	if err != nil {
		return err
	}
	answer := make([]byte, 100)
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for start := time.Now(); time.Since(start) < work; {
		}
		_, _ = w.Write(answer)
	}))
}

// usual is what the baseline does for a request, by language: steps of arithmetic, or ns of work in Go, which has no name.
var usual = map[string]int64{"": 50_000, "node": 20_000, "java": 20_000, "python": 1_000}

// serverOf is the command of a server that does so much for a request.
func (b *bench) serverOf(ctx context.Context, language string, work int64) (string, error) {
	if language == "" {
		return fmt.Sprintf("%s %s {{addr}} %dns", b.self, workCommand, work), nil
	}
	return foreign.Command(ctx, b.folder, language, work)
}

// A soon is a difference, and how soon the right verdict on it is due.
type soon struct {
	name         string
	language     string // "": Go
	vus          int
	less         float64       // throughput of the candidate, as a share; 0: the servers are equal
	median, nine time.Duration // of the right verdicts; 0: no bar
	bar          int           // how many of 30 must be right
	within       string        // --duration; "": the default
}

func (s soon) right() stat.Verdict {
	if s.less == 0 {
		return stat.Equivalent
	}
	return stat.Slower
}

// differences are those whose bars are known.
var differences = []soon{
	{"30%", "", 8, 0.3, 6 * time.Second, 10 * time.Second, 30, ""},
	{"10%", "", 8, 0.1, 9 * time.Second, 13 * time.Second, 29, ""},
	{"5%", "", 8, 0.05, 15 * time.Second, 30 * time.Second, 28, ""},
	{"2%", "", 8, 0.02, 0, 0, 25, ""},
	{"2% in 2m", "", 8, 0.02, 0, 0, 28, "2m"},
	{"equal", "", 8, 0, 30 * time.Second, 50 * time.Second, 26, ""},
	{"10%, 1 caller", "", 1, 0.1, 0, 0, 0, ""}, {"equal, 1 caller", "", 1, 0, 0, 0, 0, ""},
	{"10%, 100 callers", "", 100, 0.1, 0, 0, 0, ""}, {"equal, 100 callers", "", 100, 0, 0, 0, 0, ""},
	{"node 10%", "node", 8, 0.1, 0, 0, 26, "90s"}, {"node equal", "node", 8, 0, 0, 0, 24, "90s"},
	{"java 10%", "java", 8, 0.1, 0, 0, 26, "3m"}, {"java equal", "java", 8, 0, 0, 0, 24, "3m"},
	{"python 10%", "python", 8, 0.1, 0, 0, 0, ""}, {"python equal", "python", 8, 0, 0, 0, 0, ""},
}

// A verdict is what a program said of a difference.
type verdict struct {
	Difference string        `json:"difference"`
	Program    string        `json:"program"` // new or old
	Seed       uint64        `json:"seed"`
	Extra      int64         `json:"extra"` // work of the candidate for a request, see usual
	Verdict    stat.Verdict  `json:"verdict"`
	Code       string        `json:"code,omitempty"` // of its reason
	Codes      []string      `json:"warnings"`       // caveats of the primary comparison
	Ratio      float64       `json:"ratio"`
	Low        float64       `json:"ratio_low"`
	High       float64       `json:"ratio_high"`
	Took       time.Duration `json:"took_ns"`
}

// dueSoon takes the time that contend compare takes to the right verdict on servers of net/http, and
// the time of an older program, if one is given. Verdicts of earlier sessions count.
func dueSoon(ctx context.Context, b *bench) error {
	all, err := paired.Kept[verdict](b.results)
	if err != nil {
		return err
	}
	programs := map[string]string{"new": b.contend}
	if b.old != "" {
		programs["old"] = b.old
	}
	for n := range b.soon {
		for i, s := range differences {
			if b.differences != "" && !slices.Contains(strings.Split(b.differences, "/"), s.name) {
				continue
			}
			extra, err := b.extra(ctx, s, all)
			if err != nil {
				return err
			}
			for _, name := range slices.Sorted(maps.Keys(programs)) {
				v := verdict{Difference: s.name, Program: name, Seed: b.seed + uint64(1000*n+i), Extra: extra}
				if err := b.judge(ctx, &v, programs[name], s); err != nil {
					return err
				}
				if err := paired.Keep(b.results, v); err != nil {
					return err
				}
				all = append(all, v)
			}
		}
	}
	for _, s := range differences {
		for _, name := range []string{"new", "old"} {
			s.show(b, name, all)
		}
	}
	return nil
}

// extra is how much longer the candidate works: as long as in earlier verdicts, or else by a comparison of
// servers on a CPU of their own.
func (b *bench) extra(ctx context.Context, s soon, earlier []verdict) (int64, error) {
	for _, v := range earlier {
		if v.Difference == s.name {
			return v.Extra, nil
		}
	}
	if s.less == 0 {
		return 0, nil
	}
	key := fmt.Sprint(s.language, s.vus)
	if b.costs == nil {
		b.costs = map[string]float64{}
	}
	if b.costs[key] == 0 {
		v := verdict{Extra: usual[s.language]}
		err := b.compared(ctx, &v, b.contend, s, "--placement", "apart", "--precision", "1%", "-d", "3m")
		if err == nil && v.Ratio >= 1 {
			err = errors.New("more work did not lower the throughput")
		}
		if err != nil {
			return 0, fmt.Errorf("calibration: %w", err)
		}
		b.costs[key] = float64(v.Extra) / (1/v.Ratio - 1) // of a request, in work of its server
		b.note("calibration: a request costs %.5g with %d callers (ratio %.4f [%.4f, %.4f])", b.costs[key], s.vus, v.Ratio, v.Low, v.High)
	}
	return int64((1/(1-s.less) - 1) * b.costs[key]), nil
}

func (b *bench) judge(ctx context.Context, v *verdict, program string, s soon) error {
	var more []string
	if s.within != "" {
		more = []string{"-d", s.within}
	}
	err := b.compared(ctx, v, program, s, more...)
	b.note("%s, %s: %s %s %.4f [%.4f, %.4f] after %.1f s %v", s.name, v.Program, v.Verdict, v.Code, v.Ratio, v.Low, v.High, v.Took.Seconds(), v.Codes)
	return err
}

// compared has a program compare the server with one that does v.Extra more.
func (b *bench) compared(ctx context.Context, v *verdict, program string, s soon, more ...string) error {
	words := slices.Concat([]string{"compare", "--url", "http://{{addr}}/", "--json", "-c", strconv.Itoa(s.vus), "--seed", strconv.FormatUint(v.Seed, 10)},
		more, []string{"--"})
	for _, extra := range []int64{0, v.Extra} {
		server, err := b.serverOf(ctx, s.language, usual[s.language]+extra)
		if err != nil {
			return err
		}
		words = append(words, server)
	}
	began := time.Now()
	text, err := exec.CommandContext(ctx, program, words...).Output()
	v.Took = time.Since(began)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() != 1 {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	var doc struct {
		Comparisons []struct {
			Primary  bool
			Verdict  stat.Verdict
			Reason   *struct{ Code string }
			Ratio    float64
			Low      float64 `json:"ratio_low"`
			High     float64 `json:"ratio_high"`
			Warnings []struct{ Code string }
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	for _, c := range doc.Comparisons {
		if c.Primary {
			v.Verdict, v.Ratio, v.Low, v.High = c.Verdict, c.Ratio, c.Low, c.High
			if c.Reason != nil {
				v.Code = c.Reason.Code
			}
			for _, w := range c.Warnings {
				v.Codes = append(v.Codes, w.Code)
			}
		}
	}
	return nil
}

// show writes what the verdicts of a program on a difference add up to.
func (s soon) show(b *bench, program string, all []verdict) {
	var took, half []float64
	runs, right, wrong, invalid := 0, 0, 0, 0
	codes := map[string]int{}
	for _, v := range all {
		if v.Difference != s.name || v.Program != program {
			continue
		}
		runs++
		switch {
		case v.Verdict == s.right():
			right++
			took = append(took, v.Took.Seconds())
		case v.Verdict == stat.Invalid:
			invalid++
			codes[v.Code+" (refused)"]++
		case v.Verdict != stat.Inconclusive:
			wrong++
		}
		for _, code := range v.Codes {
			codes[code]++
		}
		if v.Low > 0 {
			half = append(half, 50*(v.High-v.Low))
		}
	}
	if runs == 0 {
		return
	}
	fmt.Fprintf(b.out, "n  %s, %s program: %s right (bar %d of 30), %d wrong, %d INVALID; right ones after %.1f s (median), %.1f s (nine of ten); interval ±%.1f%% (median); %v\n",
		s.name, program, paired.Counted(right, runs), s.bar, wrong, invalid, quantile(took, 0.5), quantile(took, 0.9), quantile(half, 0.5), codes)
}

// quantile returns the smallest value that so many are at most; 0 of none.
func quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[max(0, int(math.Ceil(share*float64(len(values))))-1)]
}

// A worker makes servers that work for a time on each request.
type worker struct {
	program, command string
	least            time.Duration // what the baseline works
}

// working are the server and one for each of the times that it works longer; a time of 0 is
// a candidate just like the server.
func (w worker) working(longer ...time.Duration) servers {
	command := func(each time.Duration) string { return fmt.Sprintf("%s %s {{addr}} %v", w.program, w.command, each) }
	list := servers{map[string]string{baseline: command(w.least)}, "http://{{addr}}/"}
	for _, extra := range longer {
		list.commands[armOf(extra)] = command(w.least + extra)
	}
	return list
}

// slowdowns measures the baseline and two servers that work much longer, so that their
// ratios exceed the noise, with so many connections.
func (b *bench) slowdowns(ctx context.Context, seed uint64, w worker, vus int) ([]slowdown, error) {
	far := []time.Duration{w.least / 4, w.least / 2}
	s := shape{rounds: 33, pairs: 4, block: 50 * time.Millisecond, warmup: 200 * time.Millisecond, precision: 0.03,
		metrics: []metric.Name{metric.Throughput}, vus: vus}
	t, err := b.compare(ctx, seed, s, w.working(far...))
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	var seen []slowdown
	for _, extra := range far {
		for _, c := range t.Comparisons {
			if c.Candidate == armOf(extra) && c.Ratio > 0 {
				seen = append(seen, slowdown{extra, c.Ratio})
				b.note("calibration: %v: ratio %.3f [%.3f, %.3f]", c.Candidate, c.Ratio, c.Low, c.High)
			}
		}
	}
	return seen, nil
}
