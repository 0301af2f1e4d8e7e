// Package counter is the reference service of the published experiments
// grpc-guard and http-guard: one counter behind HTTP and behind gRPC, whose
// only variable is the guard design that protects it.
//
// Over HTTP, GET /status, /statusV2 and /status/{design} add one and respond
//
//	{"counter":305689,"status":true,"lastChanged":"2023-12-11T04:45:08Z"}
//
// /status is guarded by atomic, /statusV2 by mutex, and every path has a
// counter of its own. HEAD does what GET does, without the body. The three
// fields describe one change: status is true exactly when counter is odd, and
// lastChanged is a time between the call and its answer, read inside the
// critical section where the design has one. The published atomic version keeps
// three separate atomics, so its answers can mix two changes.
//
// Over gRPC, /counter.incrementCounter/increment adds a value to a further
// counter, guarded by Config.Guard. The published mutex version reads the
// counter after unlocking, so two callers can be told the same value; here the
// answer is the value of the caller's own change.
//
// With Config.Shared there is one counter for both protocols, /status and
// /status/{design}, and other processes may also change it. The other counting paths
// respond with 404, so no replica counts for itself under a name that callers know.
// Increments carry an idempotency key if the caller gives one. 503 and UNAVAILABLE mean
// that nothing was counted, 504 and DEADLINE_EXCEEDED that it may have been.
//
// /openapi.yaml and /counter.proto describe both for authors of clients.
//
// No request is logged: the published gRPC server prints a line per request,
// and so measures the printing.
package counter
