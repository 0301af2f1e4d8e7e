package router

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"contend/systems/uplink/table"
)

const (
	// reachWait is how long Redis and the database may take to answer: less than the
	// second that the probes of Kubernetes wait.
	reachWait = 800 * time.Millisecond
	// reachFor is how long an answer is used again, whoever asks.
	reachFor = time.Second
)

// reachability is whether what a router works with answers. The zero value knows nothing.
type reachability struct {
	mu       sync.Mutex
	looked   time.Time
	redis    bool
	database error // nil: it answers and takes writes
}

// reachable asks Redis and the database, unless somebody just did.
func (r *Router) reachable() (redis bool, database error) {
	r.backends.mu.Lock()
	defer r.backends.mu.Unlock()
	if r.backends.looked.IsZero() || time.Since(r.backends.looked) >= reachFor {
		// Not with the caller's context: one who leaves says nothing about Redis.
		ctx, cancel := context.WithTimeout(r.working, reachWait)
		defer cancel()
		var group sync.WaitGroup
		group.Go(func() { r.backends.redis = r.config.Redis.Ping(ctx) == nil })
		group.Go(func() { r.backends.database = r.config.Table.Ping(ctx) })
		group.Wait()
		r.backends.looked = time.Now()
	}
	return r.backends.redis, r.backends.database
}

// answerReady refuses customers that would get nothing here: without Redis there
// are no uplinks. Without the database there are, from memory.
func (r *Router) answerReady(w http.ResponseWriter, _ *http.Request) {
	var redis bool
	var database error
	why := "the router is starting or stopping"
	if r.ready.Load() {
		redis, database = r.reachable()
		why = "Redis does not answer"
	}
	if !redis {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "not ready: "+why, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
	m := r.intake.Memory()
	switch {
	case m.Full():
		fmt.Fprintln(w, "Redis is full: gateways wait until routers have made room. Its maxmemory is too small for what waits, or something else fills it.")
	case m.NearlyFull():
		fmt.Fprintf(w, "Redis is nearly full: it uses %d of %d bytes, and the oldest uplinks that wait for customers are dropped.\n", m.Used, m.Limit)
	}
	if m.Hidden {
		fmt.Fprintln(w, "Nobody watches the memory of Redis, as its user may not use INFO: uplinks that wait for customers can fill it.")
	}
	switch {
	case errors.Is(database, table.ErrFull):
		fmt.Fprintln(w, "The disk of the database is full: the last change of the table failed. Routing goes on from memory.")
	case database != nil:
		fmt.Fprintln(w, "The database does not answer, or takes no writes: routing goes on from memory, and changes of the table fail.")
	}
	if !r.config.Table.Hears() {
		fmt.Fprintln(w, "Changes of the table by other routers are not heard: the log says why.")
	}
}
