package report

import (
	"fmt"
	"strconv"

	"contend/trial"
	"contend/usl"
)

func curve(v *view, c trial.Curve) {
	of := ""
	if c.Arm != "" {
		of = " of " + c.Arm
	}
	switch {
	case c.Fit == nil:
		v.say("No fit%s: %s", of, c.NoFit)
	case c.Fit.Peak == nil:
		v.say("Universal Scalability Law%s: %s. No peak: %s", of, coefficients(c.Fit), c.Fit.NoPeak)
	default:
		p := c.Fit.Peak
		v.say("Universal Scalability Law%s: %s. Peak at %s VUs of %s; run at %d.", of, coefficients(c.Fit),
			estimate(p.N, Count), estimate(p.Throughput, perSec), p.Optimum)
	}
	if c.Enough != nil {
		reservation := ""
		if c.Fit == nil {
			reservation = "With that reservation: "
		}
		v.say("%sThe smallest level within 5 %% of the best throughput: %s (%s).", reservation,
			estimate(c.Enough.N, Count)+" VUs", perSec(c.Enough.Throughput))
	}
	if c.Fit != nil {
		v.table(residuals(c.Fit.Residuals))
		warnings(v, c.Fit.Warnings)
	}
}

// residuals shows how far the law is from what was measured.
func residuals(list []usl.Residual) table {
	t := table{columns: []string{"VUs", "measured", "law", "measured ÷ law"}}
	for _, r := range list {
		ratio := "-"
		if r.Fitted > 0 {
			ratio = percent(r.X / r.Fitted)
		}
		t.rows = append(t.rows, []string{strconv.FormatFloat(r.N, 'f', -1, 64), perSec(r.X), perSec(r.Fitted), ratio})
	}
	return t
}

func coefficients(f *usl.Result) string {
	text := fmt.Sprintf("contention α %s, coherency β %s, one VU γ %s", estimate(f.Alpha, small), estimate(f.Beta, small), estimate(f.Gamma, perSec))
	if f.RSquared != nil {
		text += fmt.Sprintf("; it explains %.1f %% of the variance", 100*max(0, *f.RSquared))
	}
	return text
}

func perSec(x float64) string { return Count(x) + "/s" }

func small(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

func estimate(e usl.Estimate, format func(float64) string) string {
	if e.Interval == nil {
		return format(e.Value)
	}
	return fmt.Sprintf("%s [%s … %s]", format(e.Value), format(e.Interval.Low), format(e.Interval.High))
}
