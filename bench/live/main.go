// Live measures what a watched page of --ui costs: the load generator's CPU time for each response of contend run,
// and whether it changes the verdicts of comparisons of equal servers.
//
//	go run ./bench/live
//	go run ./bench/live -only run -block 10s -rounds 10
//	go run ./bench/live -only compare -rounds 40
//
// Blocks with and without a page take turns. A reader of its events in this process replaces the browser, which
// would take CPU time from what is measured on the same machine. The server, in this process, responds with 100
// bytes. CPU time is that of the measured window. It takes about three minutes.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/bench/internal/paired"
	"contend/report"
	"contend/stat"
)

func main() {
	b := &bench{only: paired.Only()}
	b.Flags(3*time.Second, 8)
	paired.Main("live", b.run)
}

type bench struct {
	paired.Blocks
	only *string
	out  io.Writer
	url  string
	path string // of contend
}

func (b *bench) run(ctx context.Context, w io.Writer, s paired.Setup) error {
	rows := map[string]func(context.Context) error{
		"run":     func(ctx context.Context) error { return b.runs(ctx, "closed model, 16 callers", "-c", "16") },
		"rate":    func(ctx context.Context) error { return b.runs(ctx, "open model, 2000/s", "--rate", "2000") },
		"compare": b.comparisons,
	}
	keys, err := paired.Choose("only", *b.only, []string{"run", "rate", "compare"})
	if err != nil {
		return err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 100)) }))
	defer server.Close()
	b.out, b.url, b.path = w, server.URL, s.Contend
	paired.PrintEnvironment(w)
	for _, key := range keys {
		if err := rows[key](ctx); err != nil {
			return fmt.Errorf("row %s: %w", key, err)
		}
	}
	return nil
}

// most is how much more an answer may cost.
const most = 1.01

// runs compares what an answer costs the generator.
func (b *bench) runs(ctx context.Context, title string, args ...string) error {
	args = append([]string{"run", "--json", "-d", b.Length.String(), b.url}, args...)
	perOp, err := paired.Alternate(2, b.Rounds, func(which int) (float64, error) {
		d, err := b.measure(ctx, which == 0, args)
		if err != nil {
			return 0, err
		}
		r := d.Results[0].Result
		return r.GeneratorCPUSec / float64(max(1, r.Completed)), nil
	})
	if err != nil {
		return err
	}
	ratio, err := paired.NewRatio(perOp[0], perOp[1])
	if err != nil {
		return err
	}
	verdict := "at most 1 % more: not shown"
	switch {
	case ratio.Bounded() && ratio.High <= most:
		verdict = "at most 1 % more: reached"
	case ratio.Bounded() && ratio.Low > most:
		verdict = "at most 1 % more: MISSED"
	}
	fmt.Fprintf(b.out, "\ngenerator CPU time of an answer, watched beside not; %s, blocks of %v\n  %s\n  without: %.2f µs\n",
		title, b.Length, ratio.Report(verdict), 1e6*paired.Median(perOp[1]))
	return nil
}

// comparisons compares equal servers.
func (b *bench) comparisons(ctx context.Context) error {
	args := []string{"compare", "--json", "--rounds", strconv.Itoa(equalRounds), "-c", "8", "--block", "50ms", b.url, b.url}
	found, err := paired.Alternate(2, b.Rounds, func(which int) (*report.Document, error) { return b.measure(ctx, which == 0, args) })
	if err != nil {
		return err
	}
	spreads := [2][]float64{}
	fmt.Fprintf(b.out, "\nequal servers, %d rounds in each comparison\n", equalRounds)
	for which, name := range []string{"watched", "not watched"} {
		alarms, judged := 0, 0
		for _, d := range found[which] {
			c := d.Comparisons[0]
			if spreads[which] = append(spreads[which], spread(c.RoundLogRatios)); c.Verdict != stat.Invalid {
				judged++
			}
			if c.Verdict == stat.Faster || c.Verdict == stat.Slower {
				alarms++
			}
		}
		fmt.Fprintf(b.out, "  %s: told apart %s, of %d comparisons that were not refused\n", name, paired.Counted(alarms, judged), judged)
	}
	ratio, err := paired.NewRatio(spreads[0], spreads[1])
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "  spread of rounds, watched beside not\n  %s\n", ratio.Report("1 would be none"))
	return nil
}

// equalRounds are those of each comparison.
const equalRounds = 8

// spread is the mean distance of rounds from no difference.
func spread(logRatios []float64) float64 {
	sum := 1e-9 // so that a sum of none also has a ratio
	for _, log := range logRatios {
		sum += math.Abs(log)
	}
	return sum / float64(max(1, len(logRatios)))
}

// measure runs contend, with a page that is watched or without, and returns its document.
func (b *bench) measure(ctx context.Context, watched bool, args []string) (*report.Document, error) {
	if watched {
		args = slices.Insert(slices.Clone(args), 1, "--ui")
	}
	cmd := exec.CommandContext(ctx, b.path, args...)
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	read := bufio.NewScanner(said)
	for read.Scan() {
		if address, ok := strings.CutPrefix(read.Text(), "page: "); ok {
			go watch(ctx, address)
		}
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() < 3 {
		return nil, fmt.Errorf("contend %s: %w", strings.Join(args, " "), err)
	}
	return report.Read(strings.NewReader(out.String()))
}

// watch reads events, and the report in the end, as a browser does.
func watch(ctx context.Context, address string) {
	for _, part := range []string{"events", "report"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+part, nil)
		if err != nil {
			return
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}
