package faults_test

import (
	"context"
	"errors"
	"fmt"
)

// A kind is what an answer, or the lack of one, says about an increment.
type kind int

const (
	acknowledged  kind = iota + 1 // it happened
	refused                       // it did not happen
	indeterminate                 // it may have happened
	wrong                         // the answer breaks the contract
)

// An answer is the end of one call.
type answer struct {
	kind  kind
	value int64 // of an acknowledged increment
	err   error // why it was not acknowledged
}

func notDone(format string, args ...any) answer {
	return answer{kind: refused, err: fmt.Errorf(format, args...)}
}

func unknown(format string, args ...any) answer {
	return answer{kind: indeterminate, err: fmt.Errorf(format, args...)}
}

func broken(format string, args ...any) answer {
	return answer{kind: wrong, err: fmt.Errorf(format, args...)}
}

// errNoAnswer: a replica has to answer within its own time limit, whatever
// happens to the Redis.
var errNoAnswer = errors.New("no answer at all")

// A door is how a caller reaches a replica. It is for one caller.
type door interface {
	// increment adds n once; id, unless empty, is its idempotency key.
	increment(ctx context.Context, n int32, id string) answer
	close()
}
