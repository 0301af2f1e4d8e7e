package load

import "context"

// A LoopTarget can drive its VUs from event loops: one thread that holds many
// connections, instead of one goroutine per VU.
type LoopTarget interface {
	Target
	// Loops returns how many event loops would drive vus VUs, at most vus. Zero
	// means none, and then why says it in a few words: "TLS", "not Linux".
	Loops(vus int) (loops int, why string)
	// NewLoop makes one of the loops. Like NewVU it may be slow, runs before the
	// clock starts, and may be called concurrently.
	NewLoop(ctx context.Context, part LoopPart) (Loop, error)
}

// A LoopPart says which VUs of VUs a loop drives: Index, Index+Of, Index+2·Of
// and so on. A run may use fewer VUs than a session has: always the first.
type LoopPart struct {
	Index, Of, VUs int
}

// Len returns how many VUs below vus belong to the part.
func (p LoopPart) Len(vus int) int { return (vus - p.Index + p.Of - 1) / p.Of }

// A Loop drives VUs.
type Loop interface {
	// Drive drives the VUs by the shard until it has no further iteration for
	// them and none is in flight, or ctx is done; then it returns at once and what
	// is in flight is lost. It may be called again. The failure of a connection
	// ends an iteration and not Drive; an error of Drive ends the run.
	Drive(ctx context.Context, s *Shard) error
	Close() error
}
