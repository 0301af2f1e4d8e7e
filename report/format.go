package report

import (
	"fmt"
	"strings"
)

// plural counts a noun: 1 VU, 10 VUs.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// percent formats a ratio as a signed difference.
func percent(ratio float64) string {
	text := fmt.Sprintf("%+.1f %%", 100*(ratio-1))
	return strings.NewReplacer("+0.0 ", "0.0 ", "-0.0 ", "0.0 ").Replace(text)
}
