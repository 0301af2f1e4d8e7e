// Static compares contend serve static with nginx: requests per second of the
// server's CPU, each with one worker, on loopback.
//
//	go run ./bench/static
//	go run ./bench/static -clients wrk -rounds 20 -c 50
//
// All servers run all the time. A round has one block of each server and begins with
// another one each time; its blocks give one ratio for each pair of servers. CPU time is
// user plus system time of the server's processes as the kernel accounts it, which
// includes its share of the loopback network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"contend/bench/internal/paired"
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
		for _, row := range rows() {
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
	seconds, c := fmt.Sprintf("%ds", int(o.Length/time.Second)), strconv.Itoa(o.connections)
	switch name {
	case "contend":
		return paired.Contend(o.contend, "-c", c, "-d", seconds, "--warmup", "0s"), nil
	case "wrk":
		path, err := paired.Find(name)
		return paired.Tool{Name: name, Path: path, Args: []string{"-t1", "-c" + c, "-d" + seconds}, Count: paired.CountWrk}, err
	}
	return paired.Tool{}, fmt.Errorf("-clients is %q; expected wrk, contend", name)
}

// compare runs the rounds of one row and prints what they gave. The first arm is
// ours.
func (o options) compare(ctx context.Context, w io.Writer, arms []arm, tool paired.Tool) error {
	for _, a := range arms {
		if err := a.check(ctx); err != nil {
			return err
		}
	}
	rates, err := paired.Alternate(len(arms), o.Rounds, func(which int) (float64, error) {
		return arms[which].measure(ctx, tool)
	})
	if err != nil {
		return err
	}
	for i, a := range arms[1:] {
		r, err := paired.NewRatio(rates[0], rates[i+1])
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  %s: requests per server-CPU-s: %.0f, contend %.0f; %s\n",
			a.name, paired.Median(r.Theirs), paired.Median(r.Ours), r.Report(r.Against(a.bar)))
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
	if err == nil && (resp.StatusCode != http.StatusOK || string(body) != a.body) {
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
	block, err := tool.Run(ctx)
	if err != nil {
		return 0, err
	}
	after, err := a.server.Sample()
	if err != nil {
		return 0, err
	}
	return float64(block.Completed) / after.Sub(before).CPU.Seconds(), nil
}
