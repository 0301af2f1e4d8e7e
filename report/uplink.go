package report

import (
	"fmt"
	"time"

	"contend/internal/unit"
	"contend/load"
	"contend/report/plain"
	"contend/trial"
)

// Uplink is what a run of uplinks reports in addition to its result.
type Uplink struct {
	// Redis is embedded, managed, or given: one that was running.
	Redis      string `json:"redis"`
	Generation string `json:"generation"` // of the stream: A; B in older documents
	Duplicated int64  `json:"duplicated"`
	Reordered  int64  `json:"reordered"`
	Unsolved   int64  `json:"unsolved"`
	Foreign    int64  `json:"foreign,omitempty"` // messages for other devices than the sink's
	// Silent is of how many of its devices nothing came that must have sent something.
	Silent int `json:"silent_devices,omitempty"`
	// SentUnknown is why more may have been sent than was planned for all that is known:
	// NoEndMarker or SeveralDevices; "": it is known how many were sent.
	SentUnknown string `json:"sent_unknown,omitempty"`
	// FirstChallenge is the trust that the run began with, as the number of
	// entries of the first MIC challenge; MeanChallenge is over all of them.
	FirstChallenge int     `json:"first_challenge"`
	MeanChallenge  float64 `json:"mean_challenge"`
	// Parts are the programs that shared the machine.
	Parts []UplinkPart `json:"parts"`
}

// An UplinkPart is one of the programs that an uplink passes.
type UplinkPart struct {
	Name   string  `json:"name"`
	CPUSec float64 `json:"cpu_s"`
}

// What SentUnknown may be.
const (
	NoEndMarker    = "no_end_marker"   // the last that is sent did not come
	SeveralDevices = "several_devices" // it came, and is that of the first device
)

// AddUplink takes the result of a run of uplinks into the document.
func (d *Document) AddUplink(c trial.Cell, u Uplink) {
	d.AddCell(c)
	d.Results[len(d.Results)-1].Uplink = &u
}

// uplink returns what a part's run of uplinks reports in addition to its result;
// nil for other runs.
func (d *Document) uplink(at Place) *Uplink {
	for _, r := range d.Results {
		if r.Place == at && r.Uplink != nil {
			return r.Uplink
		}
	}
	return nil
}

// uplinks answers for a run of uplinks. It returns true where some are missing, or may
// be, since then nothing else matters.
func (d *Document) uplinks(v *view) (answered bool) {
	if len(d.Results) != 1 || d.Results[0].Uplink == nil {
		return false
	}
	r := d.Results[0]
	v.answer("%s", r.arrived())
	switch {
	case r.Uplink.Silent > 0:
		v.say("What to do: nothing came of %s devices; give the number of the generator's devices to --devices of the sink.", unit.Count(r.Uplink.Silent))
	case r.Uplink.Foreign > 0:
		v.say("What to do: %s messages were for other devices; give --devices and --seed of the generator to the sink.", unit.Count(r.Uplink.Foreign))
	case r.Uplink.SentUnknown != "":
		v.say("What to do: give the number of uplinks that are sent to --expect.")
	}
	incomplete := r.Uplink.incomplete(r.Result)
	if incomplete && r.BytesOut == 0 && r.Uplink.FirstChallenge > shortChallenge {
		v.say("What to do: nothing was answered, and a device whose uplinks are not answered gets few of them: "+
			"--trust-start %d --no-trust-reduction.", shortChallenge)
	}
	return incomplete
}

// shortChallenge is the shortest MIC challenge, in entries.
const shortChallenge = 2

// arrived says how many uplinks arrived, and how late.
func (r Result) arrived() string {
	said := func(n int64) string { return unit.Count(n) }
	sent, lost := said(r.Planned)+" uplinks sent, ", said(r.lost())+" lost"
	switch r.Uplink.SentUnknown {
	case NoEndMarker:
		sent, lost = "no end marker came, so it is not known how many uplinks were sent; ", said(r.lost())+" known to be lost"
	case SeveralDevices:
		sent, lost = "at least "+sent, said(r.lost())+" known to be lost"
	}
	text := fmt.Sprintf("%s%s arrived, %s, %s duplicated", sent, said(r.Completed), lost, said(r.Uplink.Duplicated))
	which := ""
	if r.Uplink.incomplete(r.Result) {
		text, which = "INCOMPLETE: "+text, "those that arrived were "
	}
	if r.Completed == 0 {
		return text
	}
	late := func(d time.Duration) string { return unit.Duration(float64(d)) }
	return fmt.Sprintf("%s; %s%s late in the median, %s at p99, %s at most", text, which,
		late(r.Response.Quantile(0.5)), late(r.Response.Quantile(0.99)), late(r.Response.Max()))
}

// incomplete says that uplinks are missing, or that nobody knows.
func (u *Uplink) incomplete(r *load.Result) bool {
	return r.Completed < r.Planned || u.SentUnknown == NoEndMarker
}

// lost is how many uplinks did not arrive, or not so that they could be read.
func (r Result) lost() int64 { return r.Planned - r.Completed }

func (u *Uplink) write(v *view, r *load.Result) {
	v.head("uplinks")
	v.bullet("%s duplicated, %s reordered, %s unsolved, through a Redis that was %s", unit.Count(u.Duplicated),
		unit.Count(u.Reordered), unit.Count(u.Unsolved), plain.Line(u.Redis))
	v.bullet("stream of generation %s; MIC challenges of %s entries at first, %s on average", plain.Line(u.Generation),
		unit.Count(u.FirstChallenge), unit.Number(u.MeanChallenge))
	t := table{columns: []string{"program", "CPU", "CPU per uplink"}}
	for _, p := range u.Parts {
		perUplink := "–"
		if r.Completed > 0 {
			perUplink = unit.Duration(p.CPUSec * 1e9 / float64(r.Completed))
		}
		t.rows = append(t.rows, []string{plain.Line(p.Name), unit.Duration(p.CPUSec * 1e9), perUplink})
	}
	v.table(t)
}
