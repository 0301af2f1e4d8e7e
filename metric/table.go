package metric

import (
	"slices"
	"strings"
	"sync"
	"time"

	"contend/errkind"
	"contend/hist"
	"contend/internal/perf"
	"contend/load"
)

// The metrics that the program itself refers to.
const (
	Throughput         Name = "throughput_per_s"
	ServerCPUPerOp     Name = "server_cpu_ns_per_op"
	GeneratorCPUPerOp  Name = "generator_cpu_ns_per_op"
	ServerInstructions Name = "server_instructions_per_op"
	ServerRSS          Name = "server_rss_bytes"
	WallPerOp          Name = "wall_ns_per_op"
	Errors             Name = "errors"
	ResponseP50        Name = "response_p50_ns"
	ResponseP99        Name = "response_p99_ns"
)

// A Row is one metric.
type Row struct {
	Name Name
	Kind Kind
	// Words is its name in tables, Means what it is and Read how it is read, each in
	// a line.
	Words, Means, Read string
	// Also is what other tools call it.
	Also []string
	// read is false where a result has no such figure.
	read func(*load.Result) (float64, bool)
	// histogram and quantile are those of a metric of times; 0: no percentile.
	histogram func(*load.Counts) *hist.Histogram
	quantile  float64
	event     perf.Event // of a metric that is counted; "": it is not
}

// rows are the metrics that are read from a result as they are.
var rows = []Row{
	{Name: Throughput, Kind: Rate, Words: "throughput", Means: "operations of successful responses ÷ measured window",
		Read: "More is better. At a rate it is that rate, as long as the server keeps up",
		Also: []string{"RPS", "QPS", "TPS", "requests per second", "transactions per second", "requests/sec", "req/s"},
		read: func(r *load.Result) (float64, bool) { return r.Throughput(), r.Completed > 0 }},
	{Name: ServerCPUPerOp, Kind: Cost, Words: "server CPU per op",
		Means: "CPU time of the server and its children ÷ operations",
		Read:  "To compare, not absolute: on loopback a part is the load generator's",
		read: func(r *load.Result) (float64, bool) {
			if r.Server == nil {
				return 0, false
			}
			return perOp(r, r.Server.CPUSec)
		}},
	{Name: GeneratorCPUPerOp, Kind: Cost, Words: "generator CPU per op",
		Means: "CPU time of the load generator ÷ operations",
		Read:  "Much more than the server's: it may be the bottleneck",
		read: func(r *load.Result) (float64, bool) {
			value, ok := perOp(r, r.GeneratorCPUSec)
			return value, ok && value > 0
		}},
	counted(ServerInstructions, perf.Instructions, "instructions per op",
		"instructions of the server in user space ÷ operations, in blocks of their own",
		"Small differences show. Not time: without waiting and caches"),
	counted("server_kernel_instructions_per_op", perf.KernelInstructions, "kernel instructions per op",
		"instructions of the kernel for the server ÷ operations",
		"Network, disk, locks. Counting takes the right to"),
	counted("server_cycles_per_op", perf.Cycles, "cycles per op", "cycles of the processor for the server in user space ÷ operations",
		"More cycles for each instruction is waiting for memory"),
	counted("server_kernel_cycles_per_op", perf.KernelCycles, "kernel cycles per op",
		"cycles of the processor in the kernel for the server ÷ operations", "Compare with the kernel's instructions"),
	counted("server_cache_misses_per_op", perf.CacheMisses, "cache misses per op",
		"accesses of the server that the last cache did not have ÷ operations", "Each takes about 100 ns: keep what is used together closer"),
	counted("server_branch_misses_per_op", perf.BranchMisses, "branch misses per op",
		"branches of the server that the processor guessed wrong ÷ operations", "Each takes about 15 cycles: code that decides by unpredictable data"),
	counted("server_page_faults_per_op", perf.PageFaults, "page faults per op",
		"accesses of the server to memory that the kernel had to map first ÷ operations", "Near 0 once it is warm"),
	ofServer("server_voluntary_switches_per_op", Events, "waits per op",
		"how often a thread of the server gave up its core to wait ÷ operations", "Network, locks, disk. Without threads that have ended",
		func(u *load.Usage) float64 { return float64(u.VoluntarySwitches) }),
	ofServer("server_involuntary_switches_per_op", Events, "preemptions per op",
		"how often a thread of the server had to give up its core ÷ operations", "Others wanted it: more threads than cores, or other programs",
		func(u *load.Usage) float64 { return float64(u.InvoluntarySwitches) }),
	ofServer("server_waited_ns_per_op", Cost, "waiting for a core per op",
		"how long ready threads of the server had no core ÷ operations", "In the response times: give it more cores",
		func(u *load.Usage) float64 { return u.WaitedSec * 1e9 }),
	{Name: "server_disk_written_bytes_per_op", Kind: Size, Words: "written to disk per op",
		Means: "bytes of the server that went or will go to a disk ÷ operations", Read: "Logs, data, fsync. Whole pages: 4 kB for a line that is synced",
		read: func(r *load.Result) (float64, bool) {
			if r.Server == nil || r.Ops == 0 || r.Server.DiskWritten <= 0 {
				return 0, false
			}
			return float64(r.Server.DiskWritten) / float64(r.Ops), true
		}},
	{Name: ServerRSS, Kind: Size, Words: "server memory",
		Means: "resident memory of the server and its children, the largest at the end of a block",
		Read:  "Shared pages count once for each process",
		read: func(r *load.Result) (float64, bool) {
			if r.Server == nil {
				return 0, false
			}
			return float64(r.Server.RSSBytes), true
		}},
	{Name: WallPerOp, Kind: Time, Words: "time per op", Means: "measured window ÷ operations, where an iteration is many",
		Read: "Of all callers together: with 2 it is half of what one waits",
		read: func(r *load.Result) (float64, bool) { return perOp(r, r.Duration.Seconds()) }},
	{Name: Errors, Kind: Count, Words: "errors", Means: "iterations without a successful response: failed + errored",
		read: count((*load.Counts).Wrong)},
	{Name: "planned", Kind: Count, Words: "planned",
		Means: "iterations due in the measured window",
		Read:  "Of an experiment: it cannot run yet",
		read:  count(func(c *load.Counts) int64 { return c.Planned })},
	{Name: "completed", Kind: Count, Words: "completed", Means: "iterations with a successful response", Read: "Throughput and times are of these alone",
		read: count(func(c *load.Counts) int64 { return c.Completed })},
	{Name: "failed", Kind: Count, Words: "failed", Means: "iterations with a wrong response: its status, or a failed check",
		Read: "Of an expectation: it is not true; of an experiment: it could not run",
		read: count(func(c *load.Counts) int64 { return c.Failed })},
	{Name: "errored", Kind: Count, Words: "errored",
		Means: "iterations without a response, by kind of error",
		Read:  reasons(),
		read:  count((*load.Counts).ErroredTotal)},
	{Name: "resent", Kind: Count, Words: "sent again",
		Means: "requests sent again: the server closed an idle connection, or refused them",
		Read:  "Raise the server's keep-alive timeout above the pauses",
		read:  count(func(c *load.Counts) int64 { return c.Resent })},
	{Name: "dropped", Kind: Count, Words: "dropped", Means: "iterations that were due and never started: no caller was free in time",
		Read: "Lower the rate, or allow more callers (`-c`)",
		read: count(func(c *load.Counts) int64 { return c.Dropped })},
	{Name: "unfinished", Kind: Count, Words: "unfinished", Means: "iterations that had started and were in flight at the end",
		Read: "Missing from the percentiles: allow more time (`--grace`, `-d`)",
		read: count(func(c *load.Counts) int64 { return c.Unfinished })},
	{Name: "bytes_in", Kind: Size, Words: "bytes in", Means: "bytes received in all iterations with a response", Read: "Of HTTP heads and bodies, before TLS; of scripts what k6 counts",
		read: count(func(c *load.Counts) int64 { return c.BytesIn })},
	{Name: "bytes_out", Kind: Size, Words: "bytes out", Means: "bytes sent in all iterations with a response", Read: "Of HTTP heads and bodies, before TLS; of scripts what k6 counts",
		read: count(func(c *load.Counts) int64 { return c.BytesOut })},
	{Name: "bytes_in_per_s", Kind: Traffic, Words: "bytes in per second", Means: "bytes received ÷ measured window", Read: "Near what the network carries, the network is the limit",
		read: func(r *load.Result) (float64, bool) { return perSecond(r, r.BytesIn) }},
	{Name: "bytes_out_per_s", Kind: Traffic, Words: "bytes out per second", Means: "bytes sent ÷ measured window", Read: "Near what the network carries, the network is the limit",
		read: func(r *load.Result) (float64, bool) { return perSecond(r, r.BytesOut) }},
}

// counted is the row of an event.
func counted(name Name, event perf.Event, words, means, read string) Row {
	return Row{Name: name, Kind: Events, Words: words, Means: means, Read: read, event: event,
		read: func(r *load.Result) (float64, bool) { return r.Counted.PerOp(event) }}
}

// ofServer is the row of what the server used per operation.
func ofServer(name Name, kind Kind, words, means, read string, of func(*load.Usage) float64) Row {
	return Row{Name: name, Kind: kind, Words: words, Means: means, Read: read,
		read: func(r *load.Result) (float64, bool) {
			if r.Server == nil || r.Ops == 0 {
				return 0, false
			}
			return of(r.Server) / float64(r.Ops), true
		}}
}

// reasons lists why there may be no valid answer.
func reasons() string {
	var names []string
	for _, k := range errkind.All() {
		names = append(names, string(k))
	}
	return strings.Join(names, " ")
}

func count(of func(*load.Counts) int64) func(*load.Result) (float64, bool) {
	return func(r *load.Result) (float64, bool) { return float64(of(&r.Counts)), true }
}

// perOp is in nanoseconds.
func perOp(r *load.Result, seconds float64) (float64, bool) {
	return seconds / float64(max(1, r.Ops)) * 1e9, r.Ops > 0
}

func perSecond(r *load.Result, n int64) (float64, bool) {
	if r.Duration <= 0 {
		return 0, false
	}
	return float64(n) / r.Duration.Seconds(), true
}

// A Histogram is one of a result's; each statistic of it is a metric.
type Histogram struct {
	// Name begins the names of its metrics; "" is of one that is shown and not
	// compared.
	Name               string
	Words, Means, Read string
	Of                 func(*load.Counts) *hist.Histogram // nil: the result has none
}

var histograms = []Histogram{
	{"response", "response time", "from when an iteration was due to its response: what a user feels",
		"At a rate it includes the wait before the start",
		func(c *load.Counts) *hist.Histogram { return c.Response }},
	{"service", "service time", "from the actual start of an iteration to its response",
		"The server and the way to it. Shorter than the response time by the start lag",
		func(c *load.Counts) *hist.Histogram { return c.Service }},
	{"start_lag", "start lag", "from when an iteration was due to its actual start",
		"How late the load generator was, or how long no caller was free",
		func(c *load.Counts) *hist.Histogram { return c.StartLag }},
	{"connect", "connect time", "opening a connection, name look-up and TLS included",
		"With kept connections hardly any",
		func(c *load.Counts) *hist.Histogram { return c.Connect }},
	{"first_byte", "first byte", "from the start of an iteration to the first byte of its response",
		"Far below the service time: long responses, or in pieces",
		func(c *load.Counts) *hist.Histogram { return c.FirstByte }},
	{"exchange", "exchange time", "from request to complete response on a connection that is ready",
		"The server without connecting and closing, if iterations do that",
		func(c *load.Counts) *hist.Histogram { return c.Exchange }},
	{"message", "message time", "from one message of a stream or WebSocket to its response",
		"The service time is of all messages of an iteration",
		func(c *load.Counts) *hist.Histogram { return c.Message }},
	{"", "service time, failed", "service time of the iterations with a wrong response",
		"Often shorter than right ones, which would make a failing server look fast",
		func(c *load.Counts) *hist.Histogram { return c.FailedService }},
	{"", "service time, errored", "service time of the iterations without a response",
		"Near the timeout, it is that; near 0, nobody listened",
		func(c *load.Counts) *hist.Histogram { return c.ErroredService }},
}

// A Statistic is a figure of a histogram.
type Statistic struct {
	Name, Words, Means, Read string
	Quantile                 float64 // from 0 to 1; 0: not a percentile
	Of                       func(*hist.Histogram) time.Duration
}

var statistics = []Statistic{
	{"mean", "mean", "the average of all", "One slow response can move it: read p50 and p99", 0, (*hist.Histogram).Mean},
	{"min", "min", "the shortest of all", "What it takes when nothing is in the way", 0, (*hist.Histogram).Min},
	percentile("p50", "p50", "50%", "The median, what a typical response takes", 0.5),
	percentile("p75", "p75", "75%", "One in 4 took longer", 0.75),
	percentile("p90", "p90", "90%", "One in 10 took longer", 0.9),
	percentile("p95", "p95", "95%", "One in 20 took longer", 0.95),
	percentile("p99", "p99", "99%", "One in 100 took longer", 0.99),
	percentile("p999", "p99.9", "99.9%", "One in 1000 took longer", 0.999),
	{"max", "max", "the longest of all", "A single event: it need not happen again", 0, (*hist.Histogram).Max},
}

// percentile is of the histogram that all blocks share: nearest rank, at most 0.1% too high.
func percentile(name, words, share, read string, q float64) Statistic {
	return Statistic{name, words, share + " of all took at most this long", read,
		q, func(h *hist.Histogram) time.Duration { return h.Quantile(q) }}
}

// byName has all metrics.
var byName = sync.OnceValue(index)

func index() map[Name]Row {
	all := map[Name]Row{}
	for _, row := range rows {
		all[row.Name] = row
	}
	for _, h := range histograms {
		for _, s := range statistics {
			if h.Name != "" {
				row := timeRow(h, s)
				all[row.Name] = row
			}
		}
	}
	return all
}

// bySpelling has all metrics by how they are written for people.
var bySpelling = sync.OnceValue(spellings)

func spellings() map[string]Name {
	all := map[string]Name{}
	for name, row := range byName() {
		for _, text := range []string{string(name), row.Words, name.ShortWords()} {
			all[spelling(text)] = name
		}
	}
	for _, h := range histograms {
		if h.Name == "" {
			continue
		}
		for _, s := range statistics {
			for _, statistic := range []string{s.Name, s.Words} {
				all[spelling(h.Name+" "+statistic)] = timeRow(h, s).Name
				if h.Name == "response" {
					all[statistic] = timeRow(h, s).Name
				}
			}
		}
	}
	return all
}

// elsewhere has metrics by what other tools call them.
var elsewhere = sync.OnceValue(otherSpellings)

func otherSpellings() map[string]Name {
	all := map[string]Name{}
	for _, row := range rows {
		for _, text := range row.Also {
			all[spelling(text)] = row.Name
		}
	}
	return all
}

// timeRow is the row of a statistic of a histogram.
func timeRow(h Histogram, s Statistic) Row {
	return Row{Name: Name(h.Name + "_" + s.Name + "_ns"), Kind: Time, Words: h.Words + " " + s.Words, Means: h.Means + "; " + s.Means,
		histogram: h.Of, quantile: s.Quantile,
		read: func(r *load.Result) (float64, bool) {
			times := h.Of(&r.Counts)
			if times == nil || times.Count() == 0 {
				return 0, false
			}
			return float64(s.Of(times)), true
		}}
}

// Rows returns the metrics that are not of times.
func Rows() []Row { return slices.Clone(rows) }

// Histograms returns the histograms of a result, in the order in which they are
// shown.
func Histograms() []Histogram { return slices.Clone(histograms) }

// Statistics returns the statistics of a histogram, in the order in which they
// are shown.
func Statistics() []Statistic { return slices.Clone(statistics) }
