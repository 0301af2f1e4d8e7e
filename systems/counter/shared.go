package counter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"contend/guard"
	"contend/systems/counter/redis"

	"github.com/valyala/fasthttp"
	"google.golang.org/grpc/codes"
)

// A Shared is a counter that other processes may also change. It is redis.Counter.
type Shared interface {
	Increment(ctx context.Context, n int64, id string) (redis.Change, error)
	// Ready returns nil if the counter was reachable at the latest probe.
	Ready() error
	Stats() redis.Stats
}

// A sharing is the shared counter as a server has it: one for all paths and both
// protocols. A replica must not answer with a counter of its own under a name by
// which its callers know the shared one.
type sharing struct {
	Shared
	design string // in the spelling of the table

	// calls ends when the server lets go of callers that still wait.
	calls context.Context
	end   context.CancelFunc
}

func newSharing(s Shared, design string) *sharing {
	sh := &sharing{Shared: s, design: design}
	sh.calls, sh.end = context.WithCancel(context.Background())
	return sh
}

// routes are the two names of the shared counter.
func (s *sharing) routes() map[string]*statusRoute {
	routes := make(map[string]*statusRoute)
	for _, path := range []string{pathShared, pathDesigns + s.design} {
		routes[path] = &statusRoute{path: path, answered: new(atomic.Int64)}
	}
	return routes
}

// canonical is canonical for a server that shares its counter.
func (s *sharing) canonical(path string) (string, *problem) {
	name, found := strings.CutPrefix(path, pathDesigns)
	switch {
	case found && strings.EqualFold(name, s.design):
		return pathDesigns + s.design, nil
	case found || path == pathMutex:
		return "", &problem{code: fasthttp.StatusNotFound, text: fmt.Sprintf(
			"this server shares its counter with others, through Redis: the paths are %s and %s", pathShared, pathDesigns+s.design)}
	}
	return "", &problem{code: fasthttp.StatusNotFound, text: "no such path"}
}

// maxID is the length of the longest idempotency key, in bytes.
const maxID = 128

// The name of the idempotency key as a header field and in a call's metadata.
const (
	idHeader   = "Idempotency-Key"
	idMetadata = "idempotency-key"
)

var errID = fmt.Errorf("%s is wrong; expected 1 to %d printable ASCII characters", idHeader, maxID)

// validID reports whether text may be an idempotency key.
func validID[T string | []byte](text T) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return 1 <= len(text) && len(text) <= maxID
}

// meaning says in both protocols what the error of an increment means.
func meaning(err error) (p problem, code codes.Code) {
	switch {
	case errors.Is(err, redis.ErrIndeterminate):
		// Its definition: the operation may have completed (package codes).
		return problem{code: fasthttp.StatusGatewayTimeout, text: err.Error(), indeterminate: true}, codes.DeadlineExceeded
	case errors.Is(err, redis.ErrUnavailable), errors.Is(err, guard.ErrClosed), errors.Is(err, context.Canceled):
		return problem{code: fasthttp.StatusServiceUnavailable, text: err.Error()}, codes.Unavailable
	case errors.Is(err, context.DeadlineExceeded): // of the caller, before anything was sent
		return problem{code: fasthttp.StatusServiceUnavailable, text: err.Error()}, codes.DeadlineExceeded
	}
	return problem{code: fasthttp.StatusInternalServerError, text: err.Error()}, codes.Internal
}
