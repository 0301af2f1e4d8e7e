package gen

import (
	"fmt"
	"strings"
)

// barSize is the length of the published progress bar.
const barSize = 80

// Bar returns the published progress line, without its end.
func Bar(done, total int64) string {
	share := 1.0
	if total > 0 {
		share = min(1, float64(done)/float64(total))
	}
	full := int(share * barSize)
	return fmt.Sprintf("Completed: [%s%s] %3d%%", strings.Repeat("=", full), strings.Repeat(" ", barSize-full), int(share*100))
}

// Plan returns the published first line: what will be generated.
func (c *Config) Plan() string {
	switch c.Mode {
	case Batch:
		return fmt.Sprintf("Generating %d uplinks: %d batches of %d uplinks, %v s between batches",
			c.Total(), c.Batches, c.N, c.Delay.Seconds())
	case Rate:
		return fmt.Sprintf("Generating %d uplinks at %v, stamped with the intended time", c.Total(), c.Pacer)
	default:
		return fmt.Sprintf("Generating %d sequential uplinks (no delay between them)", c.Total())
	}
}
