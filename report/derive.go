package report

import "contend/trial"

// Derive computes every figure that follows from others: results and
// comparisons from their trials, fits from their points, and our figures next
// to published ones.
func (d *Document) Derive() {
	derived := d.derivedPlaces()
	kept := d.Results
	d.Results, d.Comparisons = []Result{}, nil
	for _, r := range kept {
		if !derived[r.Place] {
			r.Cell.Derive()
			d.Results = append(d.Results, r)
		}
	}
	for i := range d.Trials {
		t := &d.Trials[i]
		t.Derive()
		d.addDerived(t.Place, t.Results, t.Comparisons)
	}
	for i := range d.Curves {
		c := &d.Curves[i]
		c.Derive()
		d.addCells(c.Place, c.Results)
	}
	for i := range d.Searches {
		s := &d.Searches[i]
		s.Derive()
		if s.Found != nil {
			d.addCells(s.Place, []trial.Cell{*s.Found})
		}
	}
	d.deriveApart()
	if d.Bisection != nil {
		d.Bisection.Derive()
	}
	for i := range d.Experiments {
		d.Experiments[i].derive(d)
	}
	d.Expect()
}

// Expect decides which of the claims about a run hold.
func (d *Document) Expect() {
	for i := range d.Expectations {
		cells := d.Cells(Place{})
		if d.Expectations[i].Check(cells); d.Command == "run" && len(cells) == 1 {
			d.Expectations[i].Weigh(cells[0])
		}
	}
}

func (e *Experiment) derive(d *Document) {
	for i := range e.Published {
		p := &e.Published[i]
		cells := d.Cells(Place{e.ID, p.Part})
		for j := range p.Rows {
			p.Rows[j].derive(cells)
		}
	}
	for i := range e.Expectations {
		x := &e.Expectations[i]
		x.Check(d.Cells(Place{e.ID, x.Part}))
	}
}

func (f *PublishedFigure) derive(cells []trial.Cell) {
	f.Ours, f.Ratio = nil, nil
	for _, c := range cells {
		if c.Arm != f.Arm || f.Concurrency != 0 && c.Concurrency != f.Concurrency {
			continue
		}
		if ours, ok := f.Metric.Beside(c.Result); ok {
			f.Ours = &ours
			if f.Theirs != 0 {
				ratio := ours / f.Theirs
				f.Ratio = &ratio
			}
		}
	}
}
