package stat_test

import (
	"fmt"
	"math"

	"contend/stat"
)

// The worked example of docs/statistics.md.
func ExamplePaired() {
	ratios := []float64{1.031, 1.042, 1.018, 1.055, 1.027, 1.036}
	logs := make([]float64, len(ratios))
	for i, r := range ratios {
		logs[i] = math.Log(r)
	}
	e, err := stat.Paired(logs, 0.95)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("ratio %.4f [%.3f, %.3f] at %.1f%%, p = %.3f\n", e.Ratio, e.Low, e.High, 100*e.Confidence, e.P)
	fmt.Println(stat.Decide(e, 0.02, stat.HigherIsFaster))

	e, _ = stat.Paired(logs[:5], 0.95)
	fmt.Println(stat.Decide(e, 0.02, stat.HigherIsFaster), e.Warnings[0].Text)
	// Output:
	// ratio 1.0345 [1.018, 1.055] at 96.9%, p = 0.031
	// FASTER
	// INCONCLUSIVE 5 rounds are too few for an interval at 95% confidence, which needs at least 6
}
