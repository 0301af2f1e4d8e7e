package report_test

import (
	"time"

	"contend/expect"
	"contend/load"
	"contend/report"
)

// flows is a run of a script, one of whose checks does not always hold.
func flows() *report.Document {
	r := closedResult("shop.js", 20, 9_970)
	r.Planned, r.Failed = 10_000, 30
	r.Faults = []load.Fault{{Check: "shopping::has a basket", Count: 30, Example: "HTTP/1.1 200 OK\r\n\r\n[]"}}
	r.FailedService = spread(30, time.Millisecond, 2*time.Millisecond)
	r.Requests = map[string]*load.RequestResult{}
	for i, name := range []string{"POST /login", "GET /items", "GET /items/7", "POST /basket", "GET /basket", "POST /logout"} {
		each := time.Duration(1+i) * time.Millisecond
		r.Requests[name] = &load.RequestResult{Completed: 10_000, Service: spread(10_000, each/2, each*3/2)}
	}
	r.Requests["GET /basket"].Failed, r.Requests["GET /basket"].Completed = 30, 9_970
	r.Checks = []load.CheckResult{{Name: "logged in", Passed: 10_000}, {Name: "shopping::has a basket", Passed: 9_970, Failed: 30}}
	c := load.Counts{}
	c.AddMeter(&load.Meter{Name: "http_reqs", Kind: load.CounterMeter}).Sum = 60_000
	rate := c.AddMeter(&load.Meter{Name: "checks", Kind: load.RateMeter})
	rate.Nonzero, rate.Total = 19_970, 20_000
	gauge := c.AddMeter(&load.Meter{Name: "basket", Kind: load.GaugeMeter})
	gauge.Last, gauge.Min, gauge.Max, gauge.Total = 20, 1, 20, 9
	trend := c.AddMeter(&load.Meter{Name: "http_req_duration{name:login}", Kind: load.TrendMeter, Time: true})
	for i := range 1000 {
		trend.Trend.Record(float64(i) / 100)
	}
	r.Meters = c.Meters
	for i, name := range []string{"browse", "buy"} {
		n := int64(7_000 - 4_000*i)
		r.Scenarios = append(r.Scenarios, load.Scenario{Name: name, Kind: "constant-vus", VUs: 10, Planned: n, Completed: n - 30*int64(i), Wrong: 30 * int64(i),
			Duration: 10 * time.Second, Response: spread(n, 10*time.Millisecond, 30*time.Millisecond), StartLag: spread(n, 0, 1000)})
	}
	d := runDocument(r)
	for _, text := range []string{"http_req_duration{name:login} p(95)<9", "checks rate>0.99"} {
		d.Expectations = append(d.Expectations, expect.Expectation{Text: text})
	}
	d.Expect()
	return d
}
