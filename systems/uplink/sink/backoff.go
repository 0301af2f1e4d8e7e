package sink

import "time"

// The delays before a lost connection is made again, and how long one must have
// lived for the delays to begin anew: those of the public bridges to network
// servers.
var retryDelays = [...]time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second}

const longLife = 5 * time.Second

// A backoff hands out the delays between connections.
type backoff struct {
	first  time.Duration // before the first of retryDelays; 0: none
	failed int           // connections in a row that lived shortly
}

// next returns how long to wait after a connection that lived so long.
func (b *backoff) next(lived time.Duration) time.Duration {
	if lived >= longLife {
		b.failed = 0
	}
	n := b.failed
	b.failed++
	if b.first > 0 {
		if n == 0 {
			return b.first
		}
		n--
	}
	return retryDelays[min(n, len(retryDelays)-1)]
}
