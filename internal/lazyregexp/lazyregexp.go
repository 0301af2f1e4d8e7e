// Package lazyregexp has regular expressions that are compiled when they are first needed: a command needs few of
// those that there are, and to compile all takes a tenth of a start.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns what compiles an expression at its first call, and what that returned from then on.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
