// Fleet measures what a coordinator costs: CPU time and memory for each worker, and how long it takes until all have
// begun a block and until all results are there. The workers send real results but drive no load.
//
//	go run ./bench/fleet
//	go run ./bench/fleet -workers 1000,3000 -blocks 20
//	go run ./bench/fleet -apart -callers 2
//	go run ./bench/fleet -apart -block 30s -blocks 1
//
// The workers are those of contend worker, all in another process. Instead of driving load each sleeps and sends a
// result measured before: of about 56,000 responses, or 300 for each of -callers. This process is the coordinator
// and, without -apart, the NATS server. Blocks follow each other at once, and each worker sends its counts once a
// second. It takes a minute.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"contend/bench/internal/paired"
	"contend/fleet"
	"contend/internal/cpu"
	"contend/load"
	"contend/pace"
	"contend/protocol"
	"contend/protocol/wire"
)

// The bars.
const (
	mostCPU     = 0.01 // cores for each 100 workers
	mostMemory  = 80e3 // bytes for each worker
	mostBarrier = 250 * time.Millisecond
)

// version is what coordinator and workers are of.
const version = "bench"

func main() {
	workers := flag.String("workers", "100,300,1000", "how many `workers` there are, one row each")
	blocks := flag.Int("blocks", 10, "how many `blocks` a row has")
	block := flag.Duration("block", time.Second, "how long a block takes")
	apart := flag.Bool("apart", false, "the NATS server is a process of its own")
	callers := flag.Int("callers", 200, "the `callers` whose answers a result has, some 300 a second each")
	if role := os.Getenv("BENCH_FLEET_ROLE"); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	paired.Main("fleet", func(ctx context.Context, w io.Writer, _ paired.Setup) error {
		paired.PrintEnvironment(w)
		fmt.Fprintf(w, "NATS server %s\n", map[bool]string{true: "in a process of its own", false: "in the coordinator"}[*apart])
		fmt.Fprintln(w, "workers  CPU of 100 workers  memory of a worker  until all begin  until results are there  began late, most")
		for _, text := range strings.Split(*workers, ",") {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return fmt.Errorf("-workers is %q; expected numbers from 1, as in 100,1000", *workers)
			}
			if err := row(ctx, w, n, *blocks, *block, *apart, *callers); err != nil {
				return err
			}
		}
		return nil
	})
}

// row measures one coordinator of n workers.
func row(ctx context.Context, w io.Writer, n, blocks int, block time.Duration, apart bool, callers int) error {
	at, end, err := serve(ctx, apart)
	if err != nil {
		return err
	}
	defer end()
	f, err := fleet.Gather(ctx, at, version, nil)
	if err != nil {
		return err
	}
	defer f.Close()
	before := memory()
	_, stop, err := start(ctx, "workers", at, n, callers)
	if err != nil {
		return err
	}
	defer stop()
	joining, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	all, err := f.Wait(joining, n)
	if err != nil {
		return err
	}
	target, err := f.Target(protocol.At("http://127.0.0.1:1/"), 1, all)
	if err != nil {
		return err
	}
	session, err := load.Open(ctx, "simulated", target, n)
	if err != nil {
		return err
	}
	defer session.Close()
	got, err := drive(ctx, session, n, blocks, block)
	if err != nil {
		return err
	}
	each := float64(memory()-before) / float64(n)
	barrier, perHundred := median(got.barriers), got.cores*100/float64(n)
	_, err = fmt.Fprintf(w, "%7d  %.2f %% %s  %.0f kB %s  %v %s  %v  %v\n", n, 100*perHundred, paired.Outcome(perHundred <= mostCPU),
		each/1e3, paired.Outcome(each <= mostMemory), barrier, paired.Outcome(barrier <= mostBarrier), median(got.results), slices.Max(got.late).Round(100*time.Microsecond))
	return err
}

// figures are those of blocks.
type figures struct {
	cores                   float64 // of this process
	barriers, results, late []time.Duration
}

// drive drives blocks by n workers, one after another.
func drive(ctx context.Context, session *load.Session, n, blocks int, block time.Duration) (got figures, err error) {
	spent, _ := cpu.Time()
	began := time.Now()
	for range blocks {
		start, end := time.Now(), time.Time{}
		r, err := session.Run(ctx, load.Plan{VUs: n, Duration: block, Grace: time.Second, Progress: func(load.Progress) {}, AtEdge: func(e load.Edge) {
			if e == load.WindowOpens {
				got.barriers = append(got.barriers, time.Since(start))
			} else {
				end = time.Now()
			}
		}})
		if err != nil {
			return got, err
		}
		got.results = append(got.results, time.Since(end))
		for _, g := range r.Generators {
			if g.Lost != "" {
				return got, fmt.Errorf("worker %s: %s", g.Name, g.Lost)
			}
			got.late = append(got.late, g.BeganLate)
		}
	}
	now, _ := cpu.Time()
	got.cores = (now - spent).Seconds() / time.Since(began).Seconds()
	return got, nil
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2].Round(time.Millisecond)
}

// serve opens the NATS server of a fleet.
func serve(ctx context.Context, apart bool) (at fleet.Address, end func(), err error) {
	token := rand.Text()
	if apart {
		at.Token = token
		at.URL, end, err = start(ctx, "engine", at, 0, 0)
		return at, end, err
	}
	engine, at, err := fleet.Serve("127.0.0.1:0", token, false)
	if err != nil {
		return at, nil, err
	}
	return at, engine.Close, nil
}

// memory returns what this process holds of the machine's, in bytes.
func memory() int64 {
	debug.FreeOSMemory()
	text, _ := os.ReadFile("/proc/self/statm") // Linux alone has it
	fields := append(strings.Fields(string(text)), "0", "0")
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// start starts this program in another role, and returns what it prints first and what ends it.
func start(ctx context.Context, role string, at fleet.Address, n, callers int) (line string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), "BENCH_FLEET_ROLE="+role, "BENCH_FLEET_URL="+at.URL, fleet.TokenVariable+"="+at.Token, "BENCH_FLEET_WORKERS="+strconv.Itoa(n), "BENCH_FLEET_CALLERS="+strconv.Itoa(callers))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if _, err := cmd.StdinPipe(); err != nil { // it ends when this does
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	_, err = fmt.Fscanln(out, &line)
	return line, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, err
}

// play is what this program does in another role, until its standard input ends.
func play(role string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { io.Copy(io.Discard, os.Stdin); cancel() }()
	token := os.Getenv(fleet.TokenVariable)
	if role == "engine" {
		engine, at, err := fleet.Serve("127.0.0.1:0", token, false)
		if err != nil {
			return err
		}
		defer engine.Close()
		fmt.Println(at.URL)
		<-ctx.Done()
		return nil
	}
	n, err := strconv.Atoi(os.Getenv("BENCH_FLEET_WORKERS"))
	if err != nil {
		return err
	}
	callers, err := strconv.Atoi(os.Getenv("BENCH_FLEET_CALLERS"))
	if err != nil {
		return err
	}
	sample, err := sampled(ctx, callers)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			host := fleet.Host{Name: fmt.Sprintf("worker %d", i+1), Version: version, Opener: func() (protocol.Opener, error) {
				return protocol.Opener{Remote: func(protocol.Target, wire.Surroundings) (load.Target, error) { return asleep{result: sample}, nil }}, nil
			}}
			if err := host.Work(ctx, fleet.Address{URL: os.Getenv("BENCH_FLEET_URL"), Token: token}); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	all.Wait()
	return nil
}

// sampled is the result of a second of callers whose answers take 10 µs to 10 ms.
func sampled(ctx context.Context, callers int) (*load.Result, error) {
	session, err := load.Open(ctx, "sampled", spread{}, callers)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Run(ctx, load.Plan{VUs: callers, Duration: time.Second, Grace: time.Second, Share: pace.Shares([]int{1})[0]})
}

// spread answers after some time.
type spread struct{}

func (s spread) NewVU(context.Context, int) (load.VU, error) { return s, nil }

func (spread) Do(context.Context) (load.Outcome, error) {
	time.Sleep(10*time.Microsecond + time.Duration(mathrand.ExpFloat64()*float64(3*time.Millisecond)))
	return load.Outcome{}, nil
}

// asleep are callers that do nothing, and have a result.
type asleep struct {
	load.Target
	result *load.Result
}

func (a asleep) OpenRemote(context.Context, int) (load.Remote, error) { return a, nil }
func (a asleep) Close() error                                         { return nil }

func (a asleep) Run(ctx context.Context, plan load.Plan) (*load.Result, error) {
	time.Sleep(time.Until(plan.Begin))
	late := time.Since(plan.Begin)
	end, tick := time.After(plan.Duration), time.NewTicker(time.Second)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-tick.C:
			elapsed := time.Since(plan.Begin)
			plan.Progress(load.Progress{Elapsed: elapsed, Measured: elapsed, Completed: a.result.Completed})
		case <-end:
			over = true
		case <-ctx.Done():
			over = true
		}
	}
	r := *a.result
	r.Plan, r.Concurrency, r.BeganLate = plan, plan.VUs, late
	plan.Progress(load.Progress{Elapsed: plan.Duration, Measured: plan.Duration, Completed: r.Completed, Last: true})
	return &r, nil
}
