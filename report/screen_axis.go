package report

import (
	"math"
	"slices"
	"strings"

	"contend/stat"
	"contend/trial"
)

// axisHalf is how many columns an axis has on either side of 0.
const axisHalf = 24

// An axis is the same for all intervals of a page: the logarithm of the ratio, with 0
// in the middle.
type axis struct{ full float64 }

// axisOf has room for all valid intervals and twice the margin.
func axisOf(list []Comparison) axis {
	full := 0.0
	for _, c := range list {
		if c.Rounds == 0 || c.Verdict == stat.Invalid {
			continue
		}
		full = max(full, 2*math.Log1p(c.Margin), math.Abs(math.Log(c.Ratio)))
		if c.Bounded() {
			full = max(full, math.Abs(math.Log(c.Low)), math.Abs(math.Log(c.High)))
		}
	}
	return axis{full}
}

// at is the column of a ratio, 0 to twice axisHalf.
func (a axis) at(ratio float64) int {
	share := math.Log(ratio) / a.full
	if math.IsNaN(share) {
		return axisHalf
	}
	return axisHalf + int(math.Round(axisHalf*min(1, max(-1, share))))
}

// draw draws the interval of a comparison against its margin: ──●── ├ 0 ┤.
func (a axis) draw(c trial.Comparison) string {
	line := slices.Repeat([]string{" "}, 2*axisHalf+1)
	if a.full == 0 {
		return strings.Join(line, "")
	}
	line[a.at(1-c.Margin)], line[axisHalf], line[a.at(1+c.Margin)] = "├", "0", "┤"
	if c.Bounded() {
		for i := a.at(c.Low); i <= a.at(c.High); i++ {
			line[i] = "─"
		}
	}
	line[a.at(c.Ratio)] = "●"
	return strings.Join(line, "")
}
