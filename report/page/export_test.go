package page

import "time"

// WaitFor has the page wait so long for browsers between blocks.
func (l *Live) WaitFor(d time.Duration) { l.atOnce = d }
