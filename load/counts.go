package load

import (
	"strings"
	"time"

	"contend/errkind"
	"contend/hist"
)

// Counts is what iterations brought. Only iterations due inside the measured
// window count, and they add up:
//
//	Planned = Completed + Failed + sum of Errored + Dropped + Unfinished
//
// NewCounts makes one to record into; the zero value can only be read. It is not
// safe for concurrent use.
type Counts struct {
	Planned   int64 `json:"planned"`   // due in the measured window
	Completed int64 `json:"completed"` // right answers
	Failed    int64 `json:"failed"`    // wrong answers
	// Errored counts the iterations without a valid answer, by kind.
	Errored    map[errkind.Kind]int64 `json:"errored"`
	Dropped    int64                  `json:"dropped"`    // never started
	Unfinished int64                  `json:"unfinished"` // cut off by the end
	// Ops is the number of operations of the completed iterations.
	Ops int64 `json:"ops"`

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
	// Resent is how many requests were sent again, because the server had closed the
	// connection, or refused the request, before any of its answer came.
	Resent int64 `json:"resent,omitempty"`
	// Stray is how many iterations got bytes that belong to no answer.
	Stray int64 `json:"stray,omitempty"`
	// Parted is how many answers ended a connection that was to be kept.
	Parted int64 `json:"parted,omitempty"`
	// PartedLeast and PartedMost are how many answers such a connection carried.
	PartedLeast int `json:"parted_least,omitempty"`
	PartedMost  int `json:"parted_most,omitempty"`
	// Continued is how many right answers came after 100 Continue, and ContinueWait the time until that, summed over these.
	Continued    int64         `json:"continued,omitempty"`
	ContinueWait time.Duration `json:"continue_wait_ns,omitempty"`
	// Statuses counts answers by the protocol's status, where it has one.
	Statuses map[int]int64 `json:"statuses,omitempty"`
	// Answers is what the right answers were like; nil: there are none, or the target does
	// not tell.
	Answers *Answers `json:"answers,omitempty"`
	// Faults are the causes of the failed answers, in the order of their first.
	Faults []Fault `json:"faults,omitempty"`
	// Requests holds the shares of the named requests, if the target has several.
	Requests map[string]*RequestResult `json:"requests,omitempty"`
	// Checks is how often the checks of flows held, in the order of their first.
	Checks []CheckResult `json:"checks,omitempty"`
	// Meters is what flows measured of themselves, in the order of the names.
	Meters []*MeterResult `json:"meters,omitempty"`
	// Examples holds the first error text of each kind.
	Examples map[errkind.Kind]string `json:"examples,omitempty"`
	// Course is how a single run went over time; nil: it is a sum of runs, or an older
	// version's, which have Series in its place.
	Course *Course `json:"course,omitempty"`
	// Series is what documents of contend/1 have: one entry for each second of the measured
	// window, by completion.
	Series []Second `json:"series,omitempty"`
}

// A RequestResult is one named request's share of a result.
type RequestResult struct {
	Completed int64           `json:"completed"`
	Failed    int64           `json:"failed"`
	Errored   int64           `json:"errored"`
	Service   *hist.Histogram `json:"service_ns"`
}

// A Second is one second of the course of a run in a document of contend/1.
type Second struct {
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed,omitempty"`
	Errored   int64 `json:"errored,omitempty"`
	// ResponseSum is the sum of the response times of the completed.
	ResponseSum time.Duration `json:"response_sum_ns,omitempty"`
}

// NewCounts returns counts of nothing, to be recorded into.
func NewCounts() Counts {
	c := newSum()
	c.Response, c.Service, c.StartLag = hist.New(), hist.New(), hist.New()
	return c
}

// newSum returns counts of nothing, to which others are added: its histograms take the memory that these need.
func newSum() Counts {
	return Counts{
		Errored:  map[errkind.Kind]int64{},
		Statuses: map[int]int64{},
		Examples: map[errkind.Kind]string{},
		Response: new(hist.Histogram), Service: new(hist.Histogram), StartLag: new(hist.Histogram),
	}
}

// times are the histograms that every iteration with a right answer is recorded in.
func (c *Counts) times() [3]**hist.Histogram {
	return [...]**hist.Histogram{&c.Response, &c.Service, &c.StartLag}
}

// ErroredTotal returns the number of iterations without a valid answer.
func (c *Counts) ErroredTotal() int64 {
	var sum int64
	for _, n := range c.Errored {
		sum += n
	}
	return sum
}

// Wrong returns the number of iterations that failed or errored.
func (c *Counts) Wrong() int64 { return c.Failed + c.ErroredTotal() }

// Accounted returns how many iterations are known to have completed, failed,
// errored, been dropped or not finished: Planned, unless one was lost or counted
// twice.
func (c *Counts) Accounted() int64 {
	return c.Completed + c.Failed + c.ErroredTotal() + c.Dropped + c.Unfinished
}

// Record counts an iteration that ended at the given time: as errored if err is
// not nil, and otherwise as its outcome says. All times are offsets from the
// opening of the measured window, none before it. Planned, Dropped and Unfinished
// are the caller's to count.
func (c *Counts) Record(it Iteration, end time.Duration, out *Outcome, err error) {
	if out.Flow != nil {
		c.flow(out.Flow, end)
	}
	c.Resent += int64(out.Resent)
	if out.Stray {
		c.Stray++
	}
	if n := out.Parted; n > 0 {
		c.parted(1, n, n)
	}
	switch {
	case err != nil:
		kind := errkind.Of(err)
		if c.Course != nil {
			c.Course.At(end).errored(kind)
		}
		c.errored(end-it.Start, kind, out, err)
	case out.Failed:
		if c.Course != nil {
			c.Course.At(end).Failed++
		}
		c.failed(end-it.Start, out)
	default:
		if c.Course != nil {
			c.Course.At(end).completed(end-it.Due, it.Start-it.Due, max(1, out.Ops))
		}
		c.completed(it, end, out)
	}
}

func (c *Counts) errored(service time.Duration, kind errkind.Kind, out *Outcome, err error) {
	c.Errored[kind]++
	if _, known := c.Examples[kind]; !known {
		c.Examples[kind] = clip(err.Error())
	}
	if out.Request != "" {
		c.request(out.Request).Errored++
	}
	record(&c.ErroredService, service)
}

func (c *Counts) failed(service time.Duration, out *Outcome) {
	c.answered(out)
	c.Failed++
	c.fault(out)
	if out.Request != "" {
		c.request(out.Request).Failed++
	}
	record(&c.FailedService, service)
}

func (c *Counts) completed(it Iteration, end time.Duration, out *Outcome) {
	c.answered(out)
	c.Completed++
	c.Ops += max(1, out.Ops)
	c.Response.Record(end - it.Due)
	c.Service.Record(end - it.Start)
	c.StartLag.Record(it.Start - it.Due)
	if out.Content != nil {
		if c.Answers == nil {
			c.Answers = new(Answers)
		}
		c.Answers.record(out.Status, out.BodyIn, out.Content)
	}
	c.recordPhases(&out.Phases)
	if out.Continued {
		c.Continued++
		c.ContinueWait += out.Phases.FirstByte
	}
	if out.Request != "" {
		r := c.request(out.Request)
		r.Completed++
		r.Service.Record(end - it.Start)
	}
	for _, m := range out.Messages {
		record(&c.Message, m)
	}
}

// parted counts connections that a server ended.
func (c *Counts) parted(n int64, least, most int) {
	if n > 0 && (c.Parted == 0 || least < c.PartedLeast) {
		c.PartedLeast = least
	}
	c.Parted += n
	c.PartedMost = max(c.PartedMost, most)
}

func (c *Counts) recordPhases(p *Phases) {
	if p.Connect > 0 {
		record(&c.Connect, p.Connect)
	}
	if p.FirstByte > 0 {
		record(&c.FirstByte, p.FirstByte)
	}
	if p.Exchange > 0 {
		record(&c.Exchange, p.Exchange)
	}
}

// answered counts what any answer brings.
func (c *Counts) answered(out *Outcome) {
	c.BytesIn += out.BytesIn
	c.BytesOut += out.BytesOut
	c.BodyIn += out.BodyIn
	if out.Status != 0 {
		c.countStatus(out.Status)
	}
}

// request returns the share of a named request.
func (c *Counts) request(name string) *RequestResult {
	if c.Requests == nil {
		c.Requests = map[string]*RequestResult{}
	}
	if c.Requests[name] == nil {
		c.Requests[name] = &RequestResult{Service: hist.New()}
	}
	return c.Requests[name]
}

// maxExample bounds an error text, which may contain what the server sent.
const maxExample = 500

func clip(text string) string {
	if len(text) <= maxExample {
		return text
	}
	return strings.ToValidUTF8(text[:maxExample], "") + "…"
}

// Add adds up the counts of two parts of a run, or of runs. The order of
// several additions only decides the order of Faults and whose examples are
// kept.
func (c *Counts) Add(o *Counts) {
	c.Planned += o.Planned
	c.Completed += o.Completed
	c.Failed += o.Failed
	addAll(c.Errored, o.Errored)
	c.Dropped += o.Dropped
	c.Unfinished += o.Unfinished
	c.Ops += o.Ops
	c.BytesIn += o.BytesIn
	c.BytesOut += o.BytesOut
	c.BodyIn += o.BodyIn
	c.Resent += o.Resent
	c.Stray += o.Stray
	c.parted(o.Parted, o.PartedLeast, o.PartedMost)
	c.Continued += o.Continued
	c.ContinueWait += o.ContinueWait
	addAll(c.Statuses, o.Statuses)
	if o.Answers != nil {
		if c.Answers == nil {
			c.Answers = new(Answers)
		}
		c.Answers.add(o.Answers)
	}
	for _, f := range o.Faults {
		if i := c.faultIndex(f); i >= 0 {
			c.Faults[i].Count += f.Count
		} else {
			c.Faults = append(c.Faults, f)
		}
	}
	c.addFlows(o)
	c.addMeters(o)
	for kind, text := range o.Examples {
		if _, known := c.Examples[kind]; !known {
			c.Examples[kind] = text
		}
	}
	if c.Course != nil && o.Course != nil {
		c.Course.Add(o.Course)
	}
	mergeHist(&c.Response, o.Response)
	mergeHist(&c.Service, o.Service)
	mergeHist(&c.StartLag, o.StartLag)
	mergeHist(&c.FailedService, o.FailedService)
	mergeHist(&c.ErroredService, o.ErroredService)
	mergeHist(&c.Connect, o.Connect)
	mergeHist(&c.FirstByte, o.FirstByte)
	mergeHist(&c.Exchange, o.Exchange)
	mergeHist(&c.Message, o.Message)
}

func addAll[K comparable](into, from map[K]int64) {
	for key, n := range from {
		into[key] += n
	}
}

func record(h **hist.Histogram, d time.Duration) {
	if *h == nil {
		*h = hist.New()
	}
	(*h).Record(d)
}

func mergeHist(into **hist.Histogram, from *hist.Histogram) {
	if from == nil {
		return
	}
	if *into == nil {
		*into = new(hist.Histogram)
	}
	(*into).Merge(from)
}
