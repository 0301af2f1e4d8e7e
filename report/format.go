package report

import (
	"fmt"
	"strings"
)

// atConcurrency names a level.
func atConcurrency(n int) string { return fmt.Sprintf("at concurrency %d", n) }

// plural counts a noun: 1 round, 10 rounds.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// percent formats a ratio as a signed difference.
func percent(ratio float64) string {
	text := fmt.Sprintf("%+.1f%%", 100*(ratio-1))
	return strings.NewReplacer("+0.0%", "0.0%", "-0.0%", "0.0%").Replace(text)
}
