package change_test

import (
	"fmt"
	"math"

	"contend/history/change"
)

// Of ten commits the last three take 5% longer.
func Example() {
	var series []change.Point
	for i := range 10 {
		p := change.Point{Value: 0.001 * float64(i%3), SE: 0.002, Rounds: 20}
		if i >= 7 {
			p.Value += math.Log(1.05)
		}
		series = append(series, p)
	}
	var known []change.Known
	steps := change.Find(series, change.Times())
	s, before, after, _ := change.Next(steps, known, len(series))
	fmt.Printf("suspected: %+.1f%% at %d; compare %d with %d\n", 100*math.Expm1(s.Size), s.At, before, after)
	known, c := change.Remember(known, s, change.Repetition{Value: 0.047, SE: 0.001}, len(series))
	fmt.Printf("confirmed: %v, %+.1f%%\n", c.Confirmed, 100*math.Expm1(c.Size))
	_, _, _, ok := change.Next(steps, known, len(series))
	fmt.Println("more to tell:", ok)
	// Output:
	// suspected: +5.0% at 7; compare 6 with 7
	// confirmed: true, +4.8%
	// more to tell: false
}
