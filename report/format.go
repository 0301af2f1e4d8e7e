package report

import "contend/internal/unit"

// atConcurrency names a level.
func atConcurrency(n int) string { return "at concurrency " + unit.Count(n) }

// plural counts a noun: 1 round, 10 rounds.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return unit.Count(n) + " " + noun + "s"
}
