package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"contend/internal/unit"
	"contend/sweep"
	"contend/usl"
)

func curve(v *view, c sweep.Curve) {
	explored(v, c)
	if c.Fit != nil || c.Bound == nil {
		law(v, c)
	}
	levels(v, c)
	bound(v, c)
	if c.Fit != nil {
		v.table(residuals(c.Fit.Residuals))
		warnings(v, c.Fit.Warnings)
	}
}

// law prints the fitted law, or why there is no fit.
func law(v *view, c sweep.Curve) {
	of := ""
	if c.Arm != "" {
		of = " of " + c.Arm
	}
	switch {
	case c.Fit == nil:
		v.say("No fit%s: %s", of, cmp.Or(c.NoFit, c.LeftOut))
	case c.Fit.Peak == nil:
		v.say("Universal Scalability Law%s: %s. No peak: %s", of, coefficients(c.Fit), c.Fit.NoPeak)
	default:
		p := c.Fit.Peak
		v.say("Universal Scalability Law%s: %s. Its peak is %s at concurrency %s.", of, coefficients(c.Fit),
			estimate(p.Throughput, unit.Rate), estimate(p.N, unit.Number))
	}
	if c.LeftOut != "" {
		v.say("The fit excludes %s.", c.LeftOut)
	}
}

// explored says how levels were chosen.
func explored(v *view, c sweep.Curve) {
	if len(c.Explored) == 0 {
		return
	}
	if first, last := c.Explored[0], c.Explored[len(c.Explored)-1]; len(c.Design.Levels) == 0 {
		v.say("The levels were chosen by a run of their own, doubling from concurrency %s to %s; it is not in the results.",
			unit.Count(first.Concurrency), unit.Count(last.Concurrency))
	}
	if c.Ceiling != "" {
		v.say("No higher level was tried: %s.", c.Ceiling)
	}
}

// levels names the best measured level where the law has no peak, and the
// smallest that is enough.
func levels(v *view, c sweep.Curve) {
	if c.Enough == nil || c.Best == nil || c.Knee == nil {
		return
	}
	text := ""
	if c.Bound == nil && (c.Fit == nil || c.LeftOut != "") {
		text = "With that reservation: "
	}
	if c.Fit == nil || c.Fit.Peak == nil {
		text += fmt.Sprintf("The best level measured: concurrency %s (%s). ", estimate(c.Best.N, unit.Number), unit.Rate(c.Best.Throughput))
	}
	v.say("%sThe smallest level within %s of the best throughput: concurrency %s (%s). The level with the highest throughput ÷ response time: concurrency %s (%s).",
		text, unit.Percent(cmp.Or(c.Design.Within, sweep.WithinBest)), estimate(c.Enough.N, unit.Number), unit.Rate(c.Enough.Throughput),
		estimate(c.Knee.N, unit.Number), unit.Rate(c.Knee.Throughput))
}

// residuals shows how far the law is from what was measured: the mean of the
// visits to each level, and a bar to the left where it is below the law.
func residuals(list []usl.Residual) table {
	var rows []usl.Residual // one for each level, whose Residual is a share of the law
	for i := 0; i < len(list); {
		level := usl.Residual{Point: usl.Point{N: list[i].N}, Fitted: list[i].Fitted}
		visits := 0.0
		for ; i < len(list) && list[i].N == level.N; i++ {
			level.X += list[i].X
			visits++
		}
		level.X /= visits
		if level.Fitted > 0 {
			level.Residual = level.X/level.Fitted - 1
		}
		rows = append(rows, level)
	}
	most := 0.0
	for _, r := range rows {
		most = max(most, math.Abs(r.Residual))
	}
	t := table{columns: []string{"concurrency", "measured", "law", "measured ÷ law", "below │ above"}}
	for _, r := range rows {
		t.rows = append(t.rows, []string{unit.Number(r.N), unit.Rate(r.X), unit.Rate(r.Fitted),
			unit.Change(1 + r.Residual), offBy(r.Residual, max(most, barAtLeast))})
	}
	return t
}

// Bars have that many marks to either side, and the longest means at least 5%,
// so that small residuals look small.
const (
	barMarks   = 10
	barAtLeast = 0.05
)

// offBy draws a share of full: ····██│·········· is −20% of it.
func offBy(share, full float64) string {
	marks := int(math.Round(barMarks * math.Abs(share) / full))
	drawn, empty := strings.Repeat("█", marks), strings.Repeat("·", barMarks-marks)
	rest := strings.Repeat("·", barMarks)
	if share < 0 {
		return empty + drawn + "│" + rest
	}
	return rest + "│" + drawn + empty
}

func coefficients(f *usl.Result) string {
	text := fmt.Sprintf("contention α %s, coherency β %s, one caller γ %s", estimate(f.Alpha, unit.Digits), estimate(f.Beta, unit.Digits), estimate(f.Gamma, unit.Rate))
	if f.RSquared != nil {
		text += fmt.Sprintf("; it explains %s of the variance", unit.Percent(max(0, *f.RSquared)))
	}
	return text
}

func estimate(e usl.Estimate, format func(float64) string) string {
	if e.Interval == nil {
		return format(e.Value)
	}
	return fmt.Sprintf("%s [%s … %s]", format(e.Value), format(e.Interval.Low), format(e.Interval.High))
}
