package load

import (
	"os"
	"slices"
	"time"

	"contend/hist"
	"contend/stat"
)

// A Result is what one run of a Plan showed. Only iterations due inside the
// measured window count, and they add up:
//
//	Planned = Completed + Failed + sum of Errored + Dropped + Unfinished
type Result struct {
	// Target names what was driven.
	Target string `json:"target"`
	// Local is set when the target ran in this process (LocalTarget).
	Local bool  `json:"local,omitempty"`
	Model Model `json:"model"`
	// Concurrency is the number of VUs.
	Concurrency int  `json:"concurrency"`
	Plan        Plan `json:"plan"`
	// Duration is the length of the measured window as it was.
	Duration time.Duration `json:"duration_ns"`

	Planned   int64 `json:"planned"`   // due in the measured window
	Completed int64 `json:"completed"` // right answers
	Failed    int64 `json:"failed"`    // wrong answers
	// Errored counts the iterations without a valid answer, by kind.
	Errored    map[ErrorKind]int64 `json:"errored"`
	Dropped    int64               `json:"dropped"`    // never started
	Unfinished int64               `json:"unfinished"` // cut off by the end
	// Ops is the number of operations of the completed iterations.
	Ops int64 `json:"ops"`
	// ThroughputPerSec is Ops ÷ Duration, right answers only.
	ThroughputPerSec float64 `json:"throughput_per_s"`

	// Response is due → completion, Service is start → completion and StartLag
	// is start − due, of the completed iterations.
	Response *hist.Histogram `json:"response_ns"`
	Service  *hist.Histogram `json:"service_ns"`
	StartLag *hist.Histogram `json:"start_lag_ns"`
	// Service times of answers that were wrong, and of iterations without one.
	FailedService  *hist.Histogram `json:"failed_service_ns,omitempty"`
	ErroredService *hist.Histogram `json:"errored_service_ns,omitempty"`
	// Phases of the completed iterations, where the target measures them.
	Connect   *hist.Histogram `json:"connect_ns,omitempty"`
	FirstByte *hist.Histogram `json:"first_byte_ns,omitempty"`
	Exchange  *hist.Histogram `json:"exchange_ns,omitempty"`

	// Message holds the latencies of the single messages of streams.
	Message *hist.Histogram `json:"message_ns,omitempty"`

	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	// BodyIn is the part of BytesIn that is content, where the protocol tells.
	BodyIn int64 `json:"body_in_bytes,omitempty"`
	// Statuses counts answers by the protocol's status, where it has one.
	Statuses map[int]int64 `json:"statuses,omitempty"`
	// Faults are the causes of the failed answers, in the order of their first.
	Faults []Fault `json:"faults,omitempty"`
	// Requests holds the shares of the named requests, if the target has several.
	Requests map[string]*RequestResult `json:"requests,omitempty"`
	// Examples holds the first error text of each kind.
	Examples map[ErrorKind]string `json:"examples,omitempty"`
	// Series is the course of the run: one entry for each second of the
	// measured window, by completion. The last may be a part of a second.
	Series []Second `json:"series,omitempty"`

	// Engine is what drove the VUs, and EngineReason why it was not event loops.
	Engine       Engine `json:"engine"`
	EngineReason string `json:"engine_reason,omitempty"`
	// Loops is the number of event loops, each of which can use one core.
	Loops int `json:"loops,omitempty"`
	// GeneratorCPUSec is the user and system time of this process over the
	// measured window (of the target too, if that is in process), and
	// GeneratorCores how many cores it may use. 0: not known on this system.
	GeneratorCPUSec float64 `json:"generator_cpu_s"`
	GeneratorCores  int     `json:"generator_cores"`
	// GeneratorCPUs is the number of CPUs that the process may run on, and
	// GeneratorCPULimit that of its control group, in cores; 0: none, or not known.
	GeneratorCPUs     int     `json:"generator_cpus,omitempty"`
	GeneratorCPULimit float64 `json:"generator_cpu_limit,omitempty"`
	// GeneratorWaitedSec is how long threads of the generator (those of the event
	// loops, or all) were able to run and had no core, and GeneratorStalledSec how
	// long the whole process could not run for another reason: it was stopped, or
	// its virtual machine was. MachineCPUSec is the CPU time that was not idle, of
	// all processes on the machine, which has MachineCores. Of the measured window;
	// 0: none, or not known.
	GeneratorWaitedSec  float64 `json:"generator_waited_s,omitempty"`
	GeneratorStalledSec float64 `json:"generator_stalled_s,omitempty"`
	MachineCPUSec       float64 `json:"machine_cpu_s,omitempty"`
	MachineCores        int     `json:"machine_cores,omitempty"`
	// GeneratorShare is the share of a VU's cycle spent in the generator,
	// 1 − X·(S+Z)/N with throughput X of all answers, mean service time S,
	// think time Z and N VUs (Little's law on service time). Closed model only,
	// and not for a local target.
	GeneratorShare *float64 `json:"generator_share,omitempty"`
	// Timer is what waited for due times; open model only.
	Timer Timer `json:"timer,omitempty"`
	// Stopped says why the run ended.
	Stopped  StopReason     `json:"stopped"`
	Warnings []stat.Warning `json:"warnings"`
}

// An Engine is what drives the VUs of a run.
type Engine string

// The engines.
const (
	EventLoop  Engine = "event_loop" // one thread holds many connections
	Goroutines Engine = "goroutines" // one for each VU
)

// A Fault is one cause of failed answers: a check that they broke or, where
// that is empty, their status.
type Fault struct {
	Check  string `json:"check,omitempty"`
	Status int    `json:"status,omitempty"`
	Count  int64  `json:"count"`
	// Example is the beginning of the first such answer.
	Example string `json:"example,omitempty"`
}

// A RequestResult is one named request's share of a result.
type RequestResult struct {
	Completed int64           `json:"completed"`
	Failed    int64           `json:"failed"`
	Errored   int64           `json:"errored"`
	Service   *hist.Histogram `json:"service_ns"`
}

// A Second is one second of the course of a run.
type Second struct {
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed,omitempty"`
	Errored   int64 `json:"errored,omitempty"`
	// ResponseSum is the sum of the response times of the completed.
	ResponseSum time.Duration `json:"response_sum_ns,omitempty"`
}

// A StopReason says why a run ended.
type StopReason string

// The stop reasons.
const (
	StoppedByDuration   StopReason = "duration"
	StoppedByIterations StopReason = "iterations"
	StoppedByArrivals   StopReason = "arrivals" // the pacer planned no more
	Interrupted         StopReason = "interrupted"
)

// ErroredTotal returns the number of iterations without a valid answer.
func (r *Result) ErroredTotal() int64 {
	var sum int64
	for _, n := range r.Errored {
		sum += n
	}
	return sum
}

// Derive computes every figure that follows from others: the throughput, the
// generator's share and the warnings.
func (r *Result) Derive() {
	r.ThroughputPerSec, r.GeneratorShare = 0, nil
	if seconds := r.Duration.Seconds(); seconds > 0 {
		r.ThroughputPerSec = float64(r.Ops) / seconds
		r.GeneratorShare = r.generatorShare(seconds)
	}
	r.Warnings = r.judge()
}

func (r *Result) generatorShare(seconds float64) *float64 {
	if r.Model != ClosedModel || r.Completed == 0 || r.Local {
		return nil
	}
	busy := 0.0
	for _, h := range []*hist.Histogram{r.Service, r.FailedService, r.ErroredService} {
		if h != nil && h.Count() > 0 {
			busy += float64(h.Count()) * (h.Mean() + r.Plan.Think).Seconds()
		}
	}
	share := max(0, 1-busy/seconds/float64(r.Concurrency))
	return &share
}

// Merge adds up results of the same target and plan: counts and durations are
// summed and histograms merged. Series are left out, since the results are not
// one course.
func Merge(results ...*Result) *Result {
	sum := newResult()
	for i, r := range results {
		if i == 0 {
			sum.Target, sum.Model, sum.Concurrency, sum.Plan = r.Target, r.Model, r.Concurrency, r.Plan
			sum.Engine, sum.EngineReason, sum.Loops = r.Engine, r.EngineReason, r.Loops
			sum.GeneratorCores, sum.Timer, sum.Stopped, sum.Local = r.GeneratorCores, r.Timer, r.Stopped, r.Local
			sum.GeneratorCPUs, sum.GeneratorCPULimit = r.GeneratorCPUs, r.GeneratorCPULimit
			sum.MachineCores = r.MachineCores
		}
		if r.Stopped == Interrupted {
			sum.Stopped = Interrupted
		}
		sum.add(r)
		sum.Duration += r.Duration
		sum.GeneratorCPUSec += r.GeneratorCPUSec
		sum.GeneratorWaitedSec += r.GeneratorWaitedSec
		sum.GeneratorStalledSec += r.GeneratorStalledSec
		sum.MachineCPUSec += r.MachineCPUSec
		sum.Planned += r.Planned
		sum.Dropped += r.Dropped
		sum.Unfinished += r.Unfinished
	}
	sum.Derive()
	return sum
}

// take takes over what the process and the machine used in the measured window.
func (r *Result) take(w watched) {
	if w.spent.cpuKnown {
		r.GeneratorCPUSec = w.spent.cpu.Seconds()
	}
	r.GeneratorWaitedSec = w.spent.waited.Seconds()
	r.GeneratorStalledSec = w.stalled.Seconds()
	r.MachineCPUSec, r.MachineCores = w.spent.machine.Seconds(), w.spent.cores
	r.GeneratorCPUs, r.GeneratorCPULimit = cpuSet(), CPULimit(os.DirFS("/"))
}

func newResult() *Result {
	return &Result{
		Errored:  map[ErrorKind]int64{},
		Statuses: map[int]int64{},
		Examples: map[ErrorKind]string{},
		Response: hist.New(), Service: hist.New(), StartLag: hist.New(),
	}
}

// add merges what a shard counts: everything that iterations brought.
func (r *Result) add(o *Result) {
	r.Completed += o.Completed
	r.Failed += o.Failed
	r.Ops += o.Ops
	r.BytesIn += o.BytesIn
	r.BytesOut += o.BytesOut
	r.BodyIn += o.BodyIn
	for _, f := range o.Faults {
		r.addFault(f)
	}
	for name, n := range o.Requests {
		mine := r.request(name)
		mine.Completed += n.Completed
		mine.Failed += n.Failed
		mine.Errored += n.Errored
		mine.Service.Merge(n.Service)
	}
	for kind, n := range o.Errored {
		r.Errored[kind] += n
	}
	for status, n := range o.Statuses {
		r.Statuses[status] += n
	}
	for kind, text := range o.Examples {
		if _, known := r.Examples[kind]; !known {
			r.Examples[kind] = text
		}
	}
	mergeHist(&r.Response, o.Response)
	mergeHist(&r.Service, o.Service)
	mergeHist(&r.StartLag, o.StartLag)
	mergeHist(&r.FailedService, o.FailedService)
	mergeHist(&r.ErroredService, o.ErroredService)
	mergeHist(&r.Connect, o.Connect)
	mergeHist(&r.FirstByte, o.FirstByte)
	mergeHist(&r.Exchange, o.Exchange)
	mergeHist(&r.Message, o.Message)
}

// fault counts a failed answer by its cause.
func (r *Result) fault(out *Outcome) {
	f := Fault{Check: out.Check, Count: 1}
	if f.Check == "" {
		f.Status = out.Status
	}
	if i := r.faultIndex(f); i >= 0 {
		r.Faults[i].Count++
		return
	}
	f.Example = clip(string(out.Detail))
	r.addFault(f)
}

// addFault adds up faults. Their number is bounded, because a hostile server's
// statuses are not; what is beyond it is counted as failed only.
func (r *Result) addFault(f Fault) {
	if i := r.faultIndex(f); i >= 0 {
		r.Faults[i].Count += f.Count
	} else if len(r.Faults) < maxStatuses {
		r.Faults = append(r.Faults, f)
	}
}

func (r *Result) faultIndex(f Fault) int {
	return slices.IndexFunc(r.Faults, func(g Fault) bool { return g.Check == f.Check && g.Status == f.Status })
}

// request returns the share of a named request.
func (r *Result) request(name string) *RequestResult {
	if r.Requests == nil {
		r.Requests = map[string]*RequestResult{}
	}
	if r.Requests[name] == nil {
		r.Requests[name] = &RequestResult{Service: hist.New()}
	}
	return r.Requests[name]
}

func mergeHist(into **hist.Histogram, from *hist.Histogram) {
	if from == nil {
		return
	}
	if *into == nil {
		*into = hist.New()
	}
	(*into).Merge(from)
}
