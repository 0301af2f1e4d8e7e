package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/internal/lazyregexp"
	"contend/internal/unit"
	"contend/load"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

// comparedWithAB drives every server of the parts that are compared by ab and by our
// own client in turn: the same number of requests on as many connections.
func (r *runner) comparedWithAB(ctx context.Context) ([]report.Analysis, error) {
	a := report.Analysis{
		Name: "ab", Title: "Both clients on every server: contend and ab",
		Columns: []string{"server", "concurrency", "contend /s", "ab /s", "contend ÷ ab", "mean", "of ab", "p99", "of ab",
			"generator CPU", "of ab", "server CPU", "under ab", "errors", "of ab"},
	}
	if _, err := exec.LookPath("ab"); err != nil {
		a.Sentence = []string{"ab is not installed, so only contend was measured."}
		return []report.Analysis{a}, nil
	}
	for _, p := range r.Parts {
		if p.Swept {
			continue
		}
		for _, arm := range r.arms(p) {
			if err := r.bothClients(ctx, p, arm, &a); err != nil {
				return nil, fmt.Errorf("%s: %w", arm.Name, err)
			}
		}
	}
	a.Sentence = []string{"CPU is per request. Each figure is the median of all rounds, contend ÷ ab the paired ratio of the " +
		"throughputs with its 95% interval. ab computes its mean from throughput and connections; ours is measured."}
	return []report.Analysis{a}, nil
}

// bothClients starts a server and lets both clients drive it at every level.
func (r *runner) bothClients(ctx context.Context, p Part, arm trial.Arm, a *report.Analysis) (err error) {
	live, err := arm.Start(ctx, trial.Setup{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, live.Stop(context.WithoutCancel(ctx))) }()
	for _, vus := range p.Design.Levels {
		r.analysing(fmt.Sprintf("ab, %s, concurrency %d", arm.Name, vus))
		c := clients{live: live, vus: vus, keepAlive: p.Arms[arm.Name].Target.Get("no_keepalive") != "true"}
		if err := c.alternate(ctx, p); err != nil {
			return err
		}
		a.Rows = append(a.Rows, c.row(arm.Name))
	}
	return nil
}

// clients is one server at one level under both clients.
type clients struct {
	live      *trial.Live
	vus       int
	keepAlive bool
	ours, abs []clientRun // by round
}

// A clientRun is what one client said and cost.
type clientRun struct {
	perSec, mean, p99       float64 // per second; milliseconds
	generatorCPU, serverCPU time.Duration
	completed, failed       int64
}

// alternate lets the clients begin by turns. The number of requests is what our
// client does in one block, or in a second where its length is not given.
func (c *clients) alternate(ctx context.Context, p Part) error {
	trialRun, err := load.Run(ctx, c.live.Address, c.live.Target, load.Plan{VUs: c.vus, Duration: cmp.Or(p.Design.Block, time.Second),
		Grace: load.DefaultGrace})
	if err != nil {
		return err
	}
	n := max(trialRun.Completed, 10*int64(c.vus))
	for round := range cmp.Or(p.Design.Rounds, trial.RepeatedRounds) {
		first, second := c.driveOurs, c.driveAB
		if round%2 == 1 {
			first, second = second, first
		}
		if err := errors.Join(first(ctx, n), second(ctx, n)); err != nil {
			return err
		}
	}
	return nil
}

func (c *clients) driveOurs(ctx context.Context, n int64) error {
	server, err := c.watch()
	if err != nil {
		return err
	}
	result, err := load.Run(ctx, c.live.Address, c.live.Target, load.Plan{VUs: c.vus, Iterations: n, Timeout: abTimeout})
	if err != nil {
		return err
	}
	used, err := server()
	c.ours = append(c.ours, clientRun{
		perSec: result.ThroughputPerSec, mean: milliseconds(result.Response.Mean()), p99: milliseconds(result.Response.Quantile(0.99)),
		generatorCPU: time.Duration(result.GeneratorCPUSec * float64(time.Second)), serverCPU: used,
		completed: result.Completed, failed: result.Wrong(),
	})
	return errors.Join(err, ctx.Err())
}

// abTimeout is how long ab waits for an answer unless told otherwise.
const abTimeout = 30 * time.Second

func (c *clients) driveAB(ctx context.Context, n int64) error {
	dir, err := os.MkdirTemp("", "contend-ab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	csv := filepath.Join(dir, "percentiles.csv")
	args := []string{"-q", "-n", strconv.FormatInt(n, 10), "-c", strconv.Itoa(c.vus), "-e", csv}
	if c.keepAlive {
		args = append(args, "-k")
	}
	server, err := c.watch()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "ab", append(args, c.live.Address)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("ab: %w: %s", err, lastLine(out))
	}
	used, err := server()
	if err != nil {
		return err
	}
	run, err := readAB(string(out), csv)
	run.generatorCPU, run.serverCPU = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), used
	c.abs = append(c.abs, run)
	return err
}

// watch begins to count the server's CPU time.
func (c *clients) watch() (used func() (time.Duration, error), err error) {
	if c.live.Subject == nil {
		return func() (time.Duration, error) { return 0, nil }, nil
	}
	before, err := c.live.Subject.Sample()
	return func() (time.Duration, error) {
		after, err := c.live.Subject.Sample()
		return after.Sub(before).CPU, err
	}, err
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

var (
	abPerSec   = lazyregexp.New(`Requests per second: +([\d.]+)`)
	abMean     = lazyregexp.New(`Time per request: +([\d.]+) \[ms\] \(mean\)`)
	abComplete = lazyregexp.New(`Complete requests: +(\d+)`)
	abFailed   = lazyregexp.New(`Failed requests: +(\d+)`)
	abNon2xx   = lazyregexp.New(`Non-2xx responses: +(\d+)`)
	abP99      = lazyregexp.New(`(?m)^99,([\d.]+)`)
)

// readAB reads ab's report, and the 99th percentile from the file of its -e:
// in the report it is a whole number of milliseconds.
func readAB(text, csv string) (clientRun, error) {
	percentiles, err := os.ReadFile(csv)
	if err != nil {
		return clientRun{}, fmt.Errorf("ab: %w", err)
	}
	var missing error
	number := func(form func() *regexp.Regexp, text string) float64 {
		found := form().FindStringSubmatch(text)
		if found == nil {
			missing = fmt.Errorf("ab: its report does not say %s", form())
			return 0
		}
		x, _ := strconv.ParseFloat(found[1], 64)
		return x
	}
	run := clientRun{
		perSec: number(abPerSec, text), mean: number(abMean, text), p99: number(abP99, string(percentiles)),
		completed: int64(number(abComplete, text)), failed: int64(number(abFailed, text)),
	}
	if abNon2xx().MatchString(text) {
		run.failed += int64(number(abNon2xx, text))
	}
	return run, missing
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (c *clients) row(server string) []string {
	of := func(runs []clientRun, figure func(clientRun) float64) float64 {
		values := make([]float64, len(runs))
		for i, r := range runs {
			values[i] = figure(r)
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	row := []string{server, strconv.Itoa(c.vus)}
	perSec := func(r clientRun) float64 { return r.perSec }
	row = append(row, unit.Number(of(c.ours, perSec)), unit.Number(of(c.abs, perSec)), c.ratio())
	const ms = 1e6
	for _, figure := range []func(clientRun) float64{
		func(r clientRun) float64 { return r.mean * ms },
		func(r clientRun) float64 { return r.p99 * ms },
		func(r clientRun) float64 { return float64(r.generatorCPU) / float64(max(1, r.completed)) },
		func(r clientRun) float64 { return float64(r.serverCPU) / float64(max(1, r.completed)) },
	} {
		row = append(row, unit.Duration(of(c.ours, figure)), unit.Duration(of(c.abs, figure)))
	}
	var failed [2]int64
	for i := range c.ours {
		failed[0] += c.ours[i].failed
		failed[1] += c.abs[i].failed
	}
	return append(row, unit.Count(failed[0]), unit.Count(failed[1]))
}

// ratio compares the throughputs round by round.
func (c *clients) ratio() string {
	logs := make([]float64, 0, len(c.ours))
	for i := range c.ours {
		if c.ours[i].perSec > 0 && c.abs[i].perSec > 0 {
			logs = append(logs, math.Log(c.ours[i].perSec/c.abs[i].perSec))
		}
	}
	effect, err := stat.Paired(logs, trial.NewDesign().Confidence)
	switch {
	case err != nil:
		return "-"
	case !effect.Bounded():
		return fmt.Sprintf("%.2f", effect.Ratio)
	}
	return fmt.Sprintf("%.2f [%.2f … %.2f]", effect.Ratio, effect.Low, effect.High)
}
