// Static compares contend serve static with nginx: requests per second of the
// server's CPU, each with one worker, on loopback.
//
//	go run ./bench/static
//	go run ./bench/static -clients wrk -rounds 20 -c 50
//
// All servers run all the time. A round has one block of each server, begun by
// another one in each round; the blocks of a round give one ratio for each pair
// of servers. CPU time is user plus system time of the server's processes as the
// kernel accounts it, which includes its share of the loopback network.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"contend/bench/internal/paired"
	"contend/stat"
)

// options are the flags.
type options struct {
	clients     string
	connections int
	contend     string
	paired.Blocks
}

func main() {
	var o options
	o.Flags(time.Second, 12)
	flag.StringVar(&o.clients, "clients", "wrk,contend", "who asks: wrk, contend")
	flag.IntVar(&o.connections, "c", 50, "connections")
	paired.Main("static", func(ctx context.Context, w io.Writer, s paired.Setup) error {
		o.contend = s.Contend
		return run(ctx, w, o)
	})
}

func run(ctx context.Context, w io.Writer, o options) error {
	if _, err := o.Seconds(); err != nil {
		return err
	}
	all, err := startServers(ctx, o.contend)
	if err != nil {
		return err
	}
	defer all.stop()
	fmt.Fprintf(w, "contend serve static with one thread against %s with one worker, %d connections, blocks of %v, "+
		"%d rounds of one block each, each begun by another server\n", all.version, o.connections, o.Length, o.Rounds)
	paired.PrintEnvironment(w)
	for client := range strings.SplitSeq(o.clients, ",") {
		for _, row := range rows {
			tool, err := o.tool(client)
			if errors.Is(err, exec.ErrNotFound) {
				fmt.Fprintf(w, "%s: not found on PATH\n", client)
				break
			}
			if err == nil {
				fmt.Fprintf(w, "%s, client %s\n", row.title, client)
				err = o.compare(ctx, w, all.arms(row), tool)
			}
			if err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(w, "load average now %s\n", paired.LoadAverage())
	return nil
}

// tool makes the client of that name, to be completed by a URL.
func (o options) tool(name string) (paired.Tool, error) {
	seconds, c := strconv.Itoa(int(o.Length/time.Second)), strconv.Itoa(o.connections)
	t := paired.Tool{Name: name}
	switch name {
	case "contend":
		t.Path, t.Count = o.contend, paired.CountContend
		t.Args = []string{"run", "-c", c, "-d", seconds + "s", "--warmup", "0s", "--json"}
		return t, nil
	case "wrk":
		t.Count = countWrk
		t.Args = []string{"-t1", "-c" + c, "-d" + seconds + "s"}
		var err error
		t.Path, err = paired.Find(name)
		return t, err
	}
	return t, fmt.Errorf("-clients: %q is none of wrk, contend", name)
}

func countWrk(report []byte) (completed, wrong int64, err error) {
	found := regexp.MustCompile(`(\d+) requests in`).FindSubmatch(report)
	if found == nil {
		return 0, 0, errors.New("no number of requests")
	}
	completed, err = strconv.ParseInt(string(found[1]), 10, 64)
	wrong = int64(len(regexp.MustCompile(`Non-2xx or 3xx responses|Socket errors`).FindAll(report, -1)))
	return completed, wrong, err
}

// compare runs the rounds of one row and prints what they gave. The first arm is
// ours.
func (o options) compare(ctx context.Context, w io.Writer, arms []arm, tool paired.Tool) error {
	for _, a := range arms {
		if err := a.check(ctx); err != nil {
			return err
		}
	}
	rates := make([][]float64, len(arms))
	for round := range o.Rounds {
		for i := range arms {
			which := (round + i) % len(arms)
			rate, err := arms[which].measure(ctx, tool)
			if err != nil {
				return err
			}
			rates[which] = append(rates[which], rate)
		}
	}
	for i, a := range arms[1:] {
		c := comparison{ours: arms[0], theirs: a, rates: rates[0], theirRates: rates[i+1]}
		if err := c.print(w); err != nil {
			return err
		}
	}
	return nil
}

// check asks once, so that what is compared is the same page.
func (a arm) check(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept-Encoding", "identity")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !bytes.Equal(body, a.body)) {
		err = fmt.Errorf("%s: %s with %d bytes that are not the page", a.url, resp.Status, len(body))
	}
	return err
}

// measure runs one block: requests per second of the server's CPU.
func (a arm) measure(ctx context.Context, tool paired.Tool) (float64, error) {
	tool.Args = append(tool.Args[:len(tool.Args):len(tool.Args)], a.url)
	before, err := a.server.Sample()
	if err != nil {
		return 0, err
	}
	m, err := tool.Measure(ctx)
	if err != nil {
		return 0, err
	}
	after, err := a.server.Sample()
	if err != nil {
		return 0, err
	}
	return float64(m.Completed) / after.Sub(before).CPU.Seconds(), nil
}

// A comparison is what the rounds of two arms gave.
type comparison struct {
	ours, theirs      arm
	rates, theirRates []float64
}

// tolerance is how far the lower end of an interval may stay below its bar.
const tolerance = 0.02

func (c comparison) print(w io.Writer) error {
	var ratios, logs []float64
	for i := range c.rates {
		ratios = append(ratios, c.rates[i]/c.theirRates[i])
		logs = append(logs, math.Log(ratios[i]))
	}
	effect, err := stat.Paired(logs, 0.95)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "  %s: requests per server-CPU-s: %.0f, contend %.0f; ratio: median %.3f",
		c.theirs.name, paired.Median(c.theirRates), paired.Median(c.rates), paired.Median(ratios))
	if effect.Bounded() {
		fmt.Fprintf(w, ", %.1f %% interval %.3f to %.3f", 100*effect.Confidence, effect.Low, effect.High)
	}
	var verdict string
	switch bar := c.theirs.bar; {
	case bar == 0:
		verdict = "no bar"
	case !effect.Bounded():
		verdict = "too few rounds to tell"
	case effect.Low < bar-tolerance:
		verdict = fmt.Sprintf("bar %.2f MISSED", bar)
	default:
		verdict = fmt.Sprintf("bar %.2f reached", bar)
	}
	fmt.Fprintf(w, ", n = %d; %s\n", len(ratios), verdict)
	for _, warning := range effect.Warnings {
		fmt.Fprintf(w, "  %s: warning: %s\n", c.theirs.name, warning.Text)
	}
	return nil
}
