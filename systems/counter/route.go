package counter

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"contend/guard"

	"github.com/valyala/fasthttp"
)

// The fixed paths. Each status path has a counter of its own, so /status and
// /status/atomic share a design but not a count.
const (
	pathAtomic  = "/status"
	pathShared  = "/status" // where the counter is shared
	pathMutex   = "/statusV2"
	pathDesigns = "/status/" // followed by the name of a design
	pathHealth  = "/health"
	pathReady   = "/ready"
	pathMetrics = "/metrics"
	pathOpenAPI = "/openapi.yaml"
	pathProto   = "/counter.proto"
)

// A statusRoute is one counting path.
type statusRoute struct {
	path   string
	own    guarded // nil where the counter is shared
	stamps stamper
	// answered counts the answers of a shared counter. A counter of its own counts
	// them itself.
	answered *atomic.Int64
}

// answers returns how many changes the path has answered.
func (r *statusRoute) answers() (int64, error) {
	if r.answered != nil {
		return r.answered.Load(), nil
	}
	return r.own.load()
}

// newStatusRoutes returns the counting paths with fresh counters, by path. On
// an error nothing is left open.
func newStatusRoutes() (map[string]*statusRoute, error) {
	routes := make(map[string]*statusRoute)
	add := func(path, design string) error {
		t, err := newGuarded(design)
		if err == nil {
			routes[path] = &statusRoute{path: path, own: t}
		}
		return err
	}
	err := errors.Join(add(pathAtomic, "atomic"), add(pathMutex, "mutex"))
	for _, name := range guard.Names(true) {
		err = errors.Join(err, add(pathDesigns+name, name))
	}
	if err != nil {
		for _, r := range routes {
			err = errors.Join(err, r.own.Close())
		}
		return nil, err
	}
	return routes, nil
}

// canonical returns path with the name of its design in the spelling of the
// table, or why it is not a counting path.
func canonical(path string) (string, *problem) {
	name, found := strings.CutPrefix(path, pathDesigns)
	if !found || name == "" || strings.Contains(name, "/") {
		return "", &problem{code: fasthttp.StatusNotFound, text: "no such path"}
	}
	design, bad := findDesign(name)
	if bad != nil {
		return "", bad
	}
	return pathDesigns + design, nil
}

// A problem is why the request has no status as its answer.
type problem struct {
	code int
	text string
	// indeterminate is set if the change may have happened.
	indeterminate bool
}

// findDesign returns the spelling in the table of a design that returns a
// value, from its name in any letter case.
func findDesign(name string) (string, *problem) {
	d, err := guard.Lookup(name)
	if err != nil {
		return "", &problem{code: fasthttp.StatusNotFound, text: fmt.Sprintf("design is %.40q; expected %s",
			name, strings.Join(guard.Names(true), ", "))}
	}
	if d.NewCounter == nil {
		return "", &problem{code: fasthttp.StatusBadRequest, text: fmt.Sprintf("design %s returns no value; expected %s",
			d.Name, strings.Join(guard.Names(true), ", "))}
	}
	return d.Name, nil
}
