package grpc

import (
	"fmt"
	"strconv"
	"strings"
)

// A Mode says who shares a connection.
type Mode int

// The modes.
const (
	Shared       Mode = iota // a pool that all VUs share
	PerVU                    // one connection for each VU, opened before the clock starts
	PerIteration             // each iteration connects, calls once and closes
)

// Connections is a Mode and, for Shared, the size of the pool. Its text forms
// are "shared:4", "shared" (one connection), "per-vu" and "per-iteration". The
// zero value is shared:1.
type Connections struct {
	Mode Mode
	// N is the number of shared connections; 0 means 1. It is 0 in other modes.
	N int
}

// ParseConnections reads the text form.
func ParseConnections(text string) (Connections, error) {
	var c Connections
	err := c.UnmarshalText([]byte(text))
	return c, err
}

// String returns the text form.
func (c Connections) String() string {
	switch c.Mode {
	case Shared:
		return "shared:" + strconv.Itoa(c.poolSize())
	case PerVU:
		return "per-vu"
	case PerIteration:
		return "per-iteration"
	}
	return fmt.Sprintf("Mode(%d)", int(c.Mode))
}

// MarshalText returns the text form.
func (c Connections) MarshalText() ([]byte, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return []byte(c.String()), nil
}

// UnmarshalText reads the text form.
func (c *Connections) UnmarshalText(text []byte) error {
	mode, count, counted := strings.Cut(string(text), ":")
	var parsed Connections
	switch mode {
	case "shared":
		parsed = Connections{Mode: Shared, N: 1}
	case "per-vu":
		parsed = Connections{Mode: PerVU}
	case "per-iteration":
		parsed = Connections{Mode: PerIteration}
	default:
		return unknownConnections(text)
	}
	if counted {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || parsed.Mode != Shared {
			return unknownConnections(text)
		}
		parsed.N = n
	}
	*c = parsed
	return nil
}

func unknownConnections(text []byte) error {
	return fmt.Errorf("connections %q: want shared:N with N ≥ 1, per-vu or per-iteration", text)
}

func (c Connections) validate() error {
	switch {
	case c.Mode < Shared || c.Mode > PerIteration:
		return fmt.Errorf("connections: unknown mode %d", int(c.Mode))
	case c.N < 0 || c.N > 0 && c.Mode != Shared:
		return fmt.Errorf("connections: a pool of %d with mode %v", c.N, Connections{Mode: c.Mode})
	}
	return nil
}

// poolSize is 1 in the other modes: the connection over which New asks the server.
func (c Connections) poolSize() int { return max(1, c.N) }
