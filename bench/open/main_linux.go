// Open compares the open model of contend with other generators of a constant rate:
// the CPU time of a request, and how late requests arrive, by the kernel's time stamps
// on the server's side.
//
//	go run ./bench/open
//	go run ./bench/open -rates 5000 -lags 0s,1ms -rounds 12
//
// The server, in this process, responds with 61 bytes. Lateness is measured against a
// constant schedule of the rate, placed so that one request in a hundred is early. So
// the schedules that some generators keep for each connection count as late. Blocks
// alternate as in bench/internal/paired. Peers come from go install (fortio) and cargo
// install (oha); missing ones are named.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"contend/bench/internal/paired"
)

func main() {
	b := &bench{}
	b.Flags(3*time.Second, 10)
	flag.StringVar(&b.rates, "rates", "5000,20000,50000", "arrivals per second")
	flag.StringVar(&b.lags, "lags", "100us,1ms", "values of contend's --start-lag")
	flag.IntVar(&b.connections, "c", 50, "connections")
	paired.Main("open", b.run)
}

type bench struct {
	paired.Blocks
	rates, lags string
	connections int
}

func (b *bench) run(ctx context.Context, w io.Writer, s paired.Setup) error {
	seconds, err := b.Seconds()
	if err != nil {
		return err
	}
	server, err := serve()
	if err != nil {
		return err
	}
	defer server.stop()
	fmt.Fprintf(w, "blocks of %v, %d rounds, each begun by another tool; %d connections\n", b.Length, b.Rounds, b.connections)
	paired.PrintEnvironment(w)
	for _, text := range strings.Split(b.rates, ",") {
		rate, err := strconv.Atoi(text)
		if err != nil || rate <= 0 {
			return fmt.Errorf("-rates has %q; expected numbers above 0", text)
		}
		fmt.Fprintf(w, "\n%d/s\n", rate)
		if err := b.measure(ctx, w, server, rate, b.tools(w, s.Contend, rate, seconds, server.url)); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nload average now %s\n", paired.LoadAverage())
	return nil
}

// tools are contend with each start lag, which have no bar, and the installed peers.
func (b *bench) tools(w io.Writer, contend string, rate, seconds int, url string) (tools []paired.Tool) {
	for _, lag := range strings.Split(b.lags, ",") {
		t := paired.Contend(contend, "-c", strconv.Itoa(b.connections), "-d", fmt.Sprintf("%ds", seconds),
			"--rate", strconv.Itoa(rate), "--start-lag", lag, url)
		t.Name = "contend --start-lag " + lag
		tools = append(tools, t)
	}
	for _, peer := range peers(url, b.connections, seconds, rate) {
		var err error
		if peer.Path, err = paired.Find(peer.Name); err != nil {
			fmt.Fprintf(w, "  %s: %v\n", peer.Name, err)
			continue
		}
		tools = append(tools, peer)
	}
	return tools
}

func peers(url string, connections, seconds, rate int) []paired.Tool {
	c, d, r := strconv.Itoa(connections), fmt.Sprintf("%ds", seconds), strconv.Itoa(rate)
	return []paired.Tool{
		{Name: "oha", Count: paired.CountOha,
			Args: []string{"-z", d, "-c", c, "-q", r, "--latency-correction", "--no-tui", "--output-format", "json", url}},
		{Name: "fortio", Count: paired.CountFortio,
			Args: []string{"load", "-quiet", "-qps", r, "-r", "0.0001", "-c", c, "-t", d, "-json", "-", url}},
	}
}

// A block is what one block of a tool showed.
type block struct {
	cpu      float64 // µs a request, of the generator
	p50, p99 float64 // of the lateness, µs
	held     float64 // share of the rate
}

func (b *bench) measure(ctx context.Context, w io.Writer, server *server, rate int, tools []paired.Tool) error {
	blocks, err := paired.Alternate(len(tools), b.Rounds, func(which int) (block, error) {
		server.forget()
		did, err := tools[which].Run(ctx)
		if err != nil {
			return block{}, err
		}
		late := lateness(server.stamps(), rate)
		return block{cpu: float64(did.CPU.Microseconds()) / float64(did.Completed), p50: late.at(0.5), p99: late.at(0.99),
			held: float64(did.Completed) / (float64(rate) * b.Length.Seconds())}, nil
	})
	if err != nil {
		return err
	}
	column := func(which int, of func(block) float64) (values []float64) {
		for _, b := range blocks[which] {
			values = append(values, of(b))
		}
		return values
	}
	cpu := func(b block) float64 { return b.cpu }
	for i, t := range tools {
		fmt.Fprintf(w, "  %s: %.1f µs of CPU a request, late %.0f µs at p50, %.0f at p99, %.1f %% of the rate (medians)\n", t.Name,
			paired.Median(column(i, cpu)), paired.Median(column(i, func(b block) float64 { return b.p50 })),
			paired.Median(column(i, func(b block) float64 { return b.p99 })), 100*paired.Median(column(i, func(b block) float64 { return b.held })))
	}
	ours := len(strings.Split(b.lags, ","))
	for i := range ours {
		for j := ours; j < len(tools); j++ {
			ratio, err := paired.NewRatio(column(i, cpu), column(j, cpu))
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "  CPU of %s ÷ %s: %s\n", tools[i].Name, tools[j].Name, ratio.Report("no bar"))
		}
	}
	return nil
}
