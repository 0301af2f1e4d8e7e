package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"contend/internal/unit"
	"contend/trial"
)

// A Format is a form in which a document is written.
type Format string

var formats = []struct {
	name  Format
	write func(*Document, io.Writer) error
}{
	{"text", (*Document).Text},
	{"markdown", (*Document).Markdown},
	{"html", (*Document).HTML},
	{"json", (*Document).Write},
	{"csv", (*Document).CSV},
	{"junit", (*Document).JUnit},
	{"hdr", (*Document).HDR},
	{"benchfmt", (*Document).Benchmarks},
}

// Values are the names of all formats, that for terminals first.
func (Format) Values() []string {
	var names []string
	for _, f := range formats {
		names = append(names, string(f.name))
	}
	return names
}

// Write writes the document in this format.
func (f Format) Write(d *Document, w io.Writer) error {
	for _, known := range formats {
		if known.name == f {
			return known.write(d, w)
		}
	}
	return fmt.Errorf("format is %q; expected %s", f, strings.Join(f.Values(), ", "))
}

// Text writes the document for a terminal.
func (d *Document) Text(w io.Writer) error { return d.view().write(w, apartInText, writeText) }

// Markdown writes the document as GitHub Flavored Markdown.
func (d *Document) Markdown(w io.Writer) error {
	return d.view().write(w, apartInMarkdown, writeMarkdown)
}

func (d *Document) view() *view {
	v := new(view)
	if s := d.screen(); s != nil {
		s.write(v)
	} else {
		d.answer(v)
	}
	d.below(v)
	return v
}

// below writes what is below the page of a terminal: every figure.
func (d *Document) below(v *view) {
	for _, e := range d.Experiments {
		d.experiment(v, e)
	}
	if len(d.Experiments) == 0 {
		d.place(v, Place{})
	}
	d.remainder(v)
}

// remainder writes what belongs to all of the document.
func (d *Document) remainder(v *view) {
	if why := d.failure(); why != "" && !d.isLab() {
		v.say("FAILED: %s", why)
	}
	expectations(v, d.Expectations)
	if d.Bisection != nil {
		d.Bisection.write(v)
	}
	d.calibration(v)
	notes := slices.Clone(d.Notes)
	if d.Command == "calibrate" {
		notes = nil // its page has them
	}
	if s := d.screen(); d.Settle != "" && (s == nil || s.next != d.settles()) {
		notes = append(notes, "To settle it: "+d.Settle)
	}
	if len(notes) > 0 {
		v.say("Notes:")
	}
	for _, n := range notes {
		v.bullet("%s", n)
	}
	d.aboutCPU(v)
	d.aboutCounting(v)
	d.builds(v)
	for i, s := range d.Sources {
		v.say("%s: %s", []string{"Baseline", "Candidate"}[i], s.sentence())
	}
	if len(d.Sources) == 0 {
		v.say("%s", d.Environment.sentence(d.Version))
	}
}

func (e Environment) sentence(version string) string {
	if e == (Environment{}) {
		return "Not measured by contend."
	}
	text := fmt.Sprintf("Measured %s by contend %s on %s, %s", e.Started.UTC().Format(time.RFC3339), version,
		cmp.Or(e.CPU, "an unknown CPU"), plural(e.Cores, "core"))
	if e.CPULimit > 0 {
		text += fmt.Sprintf(" (limited to %s)", unit.Exactly(e.CPULimit))
	}
	text += fmt.Sprintf(", GOMAXPROCS %d", e.GOMAXPROCS)
	if e.GeneratorCPUs+e.ServerCPUs+e.SharedBecause != "" {
		text += ", " + e.layout().String()
	}
	if e.Kernel != "" {
		text += ", " + e.Kernel
	}
	return text + fmt.Sprintf(", %s, %s/%s.", e.Go, e.OS, e.Arch)
}

// place writes the results, verdicts and curves of one part.
func (d *Document) place(v *view, at Place) {
	var cells []trial.Cell
	var guards []Result
	for _, r := range d.Results {
		switch {
		case r.Place != at:
		case r.InProcess != nil:
			guards = append(guards, r)
		default:
			cells = append(cells, r.Cell)
		}
	}
	inProcess(v, guards)
	if len(cells) == 1 && cells[0].Arm == "" {
		run(v, cells[0].Result, d.uplink(at))
	} else {
		results(v, cells)
	}
	var list []trial.Comparison
	for _, c := range d.Comparisons {
		if c.Place == at && c.ChangedOver == nil {
			list = append(list, c.Comparison)
		}
	}
	for len(list) > 0 { // with one baseline at a time: stored documents may have several
		n := slices.IndexFunc(list, func(c trial.Comparison) bool { return c.Baseline != list[0].Baseline })
		if n < 0 {
			n = len(list)
		}
		comparisons(v, list[:n], cells)
		scatter(v, list[:n], d.probes(at))
		list = list[n:]
	}
	d.countedIn(v, at)
	d.changedOver(v, at)
	d.diagnosed(v, at)
	for _, c := range d.Curves {
		if c.Place == at {
			curve(v, c.Curve)
		}
	}
	for _, s := range d.Searches {
		if s.Place == at {
			searched(v, s.Result)
		}
	}
}
