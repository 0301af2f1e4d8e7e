package metric

import (
	"slices"
	"strings"
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
	ResponseMean       Name = "response_mean_ns"
	ResponseP50        Name = "response_p50_ns"
	ResponseP99        Name = "response_p99_ns"
	ServiceMean        Name = "service_mean_ns"
	ExchangeMean       Name = "exchange_mean_ns"
)

// A Row is one metric.
type Row struct {
	Name Name
	Kind Kind
	// Words is its name in tables, and Means explains it in a line.
	Words, Means string
	// read is false where a result has no such figure.
	read func(*load.Result) (float64, bool)
	// histogram and quantile are those of a metric of times; 0: no percentile.
	histogram func(*load.Counts) *hist.Histogram
	quantile  float64
	event     perf.Event // of a metric that is counted; "": it is not
}

// rows are the metrics that are read from a result as they are.
var rows = []Row{
	{Name: Throughput, Kind: Rate, Words: "throughput", Means: "operations of right answers ÷ measured window",
		read: func(r *load.Result) (float64, bool) { return r.Throughput(), r.Completed > 0 }},
	{Name: ServerCPUPerOp, Kind: Cost, Words: "server CPU per op",
		Means: "user and system CPU time of the server's process tree in the measured window ÷ operations. On loopback a part of its network cost is charged to the generator: for comparing arms, not an absolute",
		read: func(r *load.Result) (float64, bool) {
			if r.Server == nil {
				return 0, false
			}
			return perOp(r, r.Server.CPUSec)
		}},
	{Name: GeneratorCPUPerOp, Kind: Cost, Words: "generator CPU per op",
		Means: "likewise of the generator; in process that of the design, too",
		read: func(r *load.Result) (float64, bool) {
			value, ok := perOp(r, r.GeneratorCPUSec)
			return value, ok && value > 0
		}},
	counted(ServerInstructions, perf.Instructions, "instructions per op",
		"instructions of the server's process tree in user space ÷ operations, counted in runs of their own in which no time is taken"),
	counted("server_kernel_instructions_per_op", perf.KernelInstructions, "kernel instructions per op",
		"likewise in the kernel, which takes the right to count there. On loopback a part of the network's work is the generator's"),
	counted("server_cycles_per_op", perf.Cycles, "cycles per op", "cycles of the processor in user space, likewise: beside the instructions they say how well these run"),
	counted("server_kernel_cycles_per_op", perf.KernelCycles, "kernel cycles per op", "likewise in the kernel"),
	counted("server_cache_misses_per_op", perf.CacheMisses, "cache misses per op", "accesses in user space that the last level of caches did not have, likewise"),
	counted("server_branch_misses_per_op", perf.BranchMisses, "branch misses per op", "branches in user space that the processor guessed wrong, likewise"),
	counted("server_page_faults_per_op", perf.PageFaults, "page faults per op", "accesses to memory that the kernel had to map first, likewise"),
	ofServer("server_voluntary_switches_per_op", Events, "waits per op", "how often a thread of the server gave up its core to wait; what ended threads did is lost",
		func(u *load.Usage) float64 { return float64(u.VoluntarySwitches) }),
	ofServer("server_involuntary_switches_per_op", Events, "preemptions per op", "how often a thread of the server had to give up its core; likewise",
		func(u *load.Usage) float64 { return float64(u.InvoluntarySwitches) }),
	ofServer("server_waited_ns_per_op", Cost, "waiting for a core per op", "how long threads of the server could run and had no core ÷ operations",
		func(u *load.Usage) float64 { return u.WaitedSec * 1e9 }),
	{Name: ServerRSS, Kind: Size, Words: "server memory",
		Means: "resident memory of the server's process tree, the largest seen at the end of a block",
		read: func(r *load.Result) (float64, bool) {
			if r.Server == nil {
				return 0, false
			}
			return float64(r.Server.RSSBytes), true
		}},
	{Name: WallPerOp, Kind: Time, Words: "time per op", Means: "measured window ÷ operations, where an iteration is many",
		read: func(r *load.Result) (float64, bool) { return perOp(r, r.Duration.Seconds()) }},
	{Name: Errors, Kind: Count, Words: "errors", Means: "failed + errored iterations",
		read: count((*load.Counts).Wrong)},
	{Name: "planned", Kind: Count, Words: "planned",
		Means: "iterations due in the measured window = completed + failed + errored + dropped + unfinished",
		read:  count(func(c *load.Counts) int64 { return c.Planned })},
	{Name: "completed", Kind: Count, Words: "completed", Means: "a right answer arrived",
		read: count(func(c *load.Counts) int64 { return c.Completed })},
	{Name: "failed", Kind: Count, Words: "failed", Means: "a wrong answer arrived: its status, or a check that it breaks",
		read: count(func(c *load.Counts) int64 { return c.Failed })},
	{Name: "errored", Kind: Count, Words: "errored",
		Means: "no valid answer: " + reasons(),
		read:  count((*load.Counts).ErroredTotal)},
	{Name: "dropped", Kind: Count, Words: "dropped", Means: "due, but never started: no VU was free before the window's end",
		read: count(func(c *load.Counts) int64 { return c.Dropped })},
	{Name: "unfinished", Kind: Count, Words: "unfinished", Means: "started, and cut off by the end of the run",
		read: count(func(c *load.Counts) int64 { return c.Unfinished })},
	{Name: "bytes_in", Kind: Size, Words: "bytes in", Means: "bytes received, of all iterations with an answer",
		read: count(func(c *load.Counts) int64 { return c.BytesIn })},
	{Name: "bytes_out", Kind: Size, Words: "bytes out", Means: "bytes sent, of all iterations with an answer",
		read: count(func(c *load.Counts) int64 { return c.BytesOut })},
	{Name: "bytes_in_per_s", Kind: Traffic, Words: "bytes in per second", Means: "bytes in ÷ measured window",
		read: func(r *load.Result) (float64, bool) { return perSecond(r, r.BytesIn) }},
	{Name: "bytes_out_per_s", Kind: Traffic, Words: "bytes out per second", Means: "bytes out ÷ measured window",
		read: func(r *load.Result) (float64, bool) { return perSecond(r, r.BytesOut) }},
}

// counted is the row of an event.
func counted(name Name, event perf.Event, words, means string) Row {
	return Row{Name: name, Kind: Events, Words: words, Means: means, event: event,
		read: func(r *load.Result) (float64, bool) { return r.Counted.PerOp(event) }}
}

// ofServer is the row of what the server used per operation.
func ofServer(name Name, kind Kind, words, means string, of func(*load.Usage) float64) Row {
	return Row{Name: name, Kind: kind, Words: words, Means: means,
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
	return strings.Join(names, ", ")
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

// A Histogram is one of a result's, every statistic of which is a metric.
type Histogram struct {
	// Name begins the names of its metrics; "" is of one that is shown and not
	// compared.
	Name         string
	Words, Means string
	Of           func(*load.Counts) *hist.Histogram // nil: the result has none
}

var histograms = []Histogram{
	{"response", "response time", "due time → completion: what a user feels. In the closed model an iteration is due when the previous one has ended",
		func(c *load.Counts) *hist.Histogram { return c.Response }},
	{"service", "service time", "actual start → completion: what the server and the way to it take",
		func(c *load.Counts) *hist.Histogram { return c.Service }},
	{"start_lag", "start lag", "due time → actual start: how late the generator was",
		func(c *load.Counts) *hist.Histogram { return c.StartLag }},
	{"connect", "connect time", "opening a connection, name look-up and TLS included, where an iteration does that",
		func(c *load.Counts) *hist.Histogram { return c.Connect }},
	{"first_byte", "first byte", "start → first byte of the answer",
		func(c *load.Counts) *hist.Histogram { return c.FirstByte }},
	{"exchange", "exchange time", "request → complete answer on a connection that is ready",
		func(c *load.Counts) *hist.Histogram { return c.Exchange }},
	{"message", "message time", "one message of a stream or WebSocket → its answer",
		func(c *load.Counts) *hist.Histogram { return c.Message }},
	{"", "service time, failed", "of the iterations with a wrong answer",
		func(c *load.Counts) *hist.Histogram { return c.FailedService }},
	{"", "service time, errored", "of the iterations without a valid answer",
		func(c *load.Counts) *hist.Histogram { return c.ErroredService }},
}

// A Statistic is a figure of a histogram.
type Statistic struct {
	Name, Words, Means string
	Quantile           float64 // from 0 to 1; 0: it is no percentile
	Of                 func(*hist.Histogram) time.Duration
}

var statistics = []Statistic{
	{"mean", "mean", "average; it is what Little's law needs", 0, (*hist.Histogram).Mean},
	{"min", "min", "the shortest", 0, (*hist.Histogram).Min},
	percentile("p50", "p50", "50 %", 0.5),
	percentile("p75", "p75", "75 %", 0.75),
	percentile("p90", "p90", "90 %", 0.9),
	percentile("p95", "p95", "95 %", 0.95),
	percentile("p99", "p99", "99 %", 0.99),
	percentile("p999", "p99.9", "99.9 %", 0.999),
	{"max", "max", "the longest: a single event", 0, (*hist.Histogram).Max},
}

func percentile(name, words, share string, q float64) Statistic {
	return Statistic{name, words, "percentile: " + share + " of all iterations took at most this long. Of the histogram that all blocks share, nearest rank, at most 0.1 % too high",
		q, func(h *hist.Histogram) time.Duration { return h.Quantile(q) }}
}

// byName has all metrics.
var byName = index()

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
var bySpelling = spellings()

func spellings() map[string]Name {
	all := map[string]Name{}
	for name, row := range byName {
		all[spelling(string(name))], all[spelling(row.Words)] = name, name
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
