package wire

import (
	"fmt"
	"strconv"
	"strings"

	"contend/setting"
)

// A Sharing says who shares a connection.
type Sharing int

// The ways to share.
const (
	PerVU        Sharing = iota // one connection for each VU, opened before the clock starts
	Shared                      // a pool that all VUs share
	PerIteration                // each iteration connects, does its part and closes
)

// Connections is a Sharing and, for Shared, the size of the pool. Its text
// forms are "per-vu", "shared:4", "shared" (one connection) and
// "per-iteration". The zero value is per-vu.
type Connections struct {
	Sharing Sharing
	// N is the number of shared connections; 0 means 1. It is 0 otherwise.
	N int
}

// parseConnections reads the text form.
func parseConnections(text string) (Connections, error) {
	sharing, count, counted := strings.Cut(text, ":")
	n := 1
	if counted {
		var err error
		if n, err = strconv.Atoi(count); err != nil {
			n = 0
		}
	}
	switch {
	case sharing == "shared" && n > 0:
		return Connections{Shared, n}, nil
	case sharing == "per-vu" && !counted:
		return Connections{}, nil
	case sharing == "per-iteration" && !counted:
		return Connections{Sharing: PerIteration}, nil
	}
	return Connections{}, setting.NotAllowed(text, "shared:N with N ≥ 1, per-vu, per-iteration")
}

// UnmarshalText reads the text form.
func (c *Connections) UnmarshalText(text []byte) (err error) {
	*c, err = parseConnections(string(text))
	return err
}

func (c Connections) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func (c Connections) String() string {
	switch c.Sharing {
	case PerVU:
		return "per-vu"
	case Shared:
		return "shared:" + strconv.Itoa(c.Pool())
	case PerIteration:
		return "per-iteration"
	}
	return fmt.Sprintf("Sharing(%d)", int(c.Sharing))
}

// Pool returns how many connections are shared: 0 unless c is Shared.
func (c Connections) Pool() int {
	if c.Sharing != Shared {
		return 0
	}
	return max(1, c.N)
}

// Check says what is wrong with c.
func (c Connections) Check() error {
	if c.Sharing < PerVU || c.Sharing > PerIteration || c.N < 0 || c.N > 0 && c.Sharing != Shared {
		return fmt.Errorf("Connections %v with N %d; expected shared with N ≥ 0, per-vu, per-iteration", c, c.N)
	}
	return nil
}
