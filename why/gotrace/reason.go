package gotrace

import (
	"cmp"
	"iter"
	"strings"

	"contend/why/symbol"
	"contend/why/symbol/work"
)

// A Reason is what a goroutine waits for.
type Reason string

// The reasons.
const (
	Sleep      Reason = "sleep"
	Receive    Reason = "channel receive"
	Send       Reason = "channel send"
	Select     Reason = "select"
	Lock       Reason = "lock"
	Cond       Reason = "sync.Cond"
	WaitGroup  Reason = "sync.WaitGroup"
	Network    Reason = "network"
	SystemCall Reason = "system call"
	Collection Reason = "garbage collection"
	Other      Reason = "something else"
	// Processor is that it could run, and GOMAXPROCS others did.
	Processor Reason = "a free processor"
)

// reasons are those that the runtime gives (traceBlockReasonStrings in its traceruntime.go) where the
// stack says no more. The waits of its own goroutines are left out.
var reasons = map[string]Reason{
	"":                             Other,
	"unspecified":                  Other,
	"network":                      Network,
	"select":                       Select,
	"forever":                      Select,
	"sync.(*Cond).Wait":            Cond,
	"sync":                         Lock,
	"chan send":                    Send,
	"chan receive":                 Receive,
	"sleep":                        Sleep,
	"preempted":                    Processor,
	"GC mark assist wait for work": Collection,
	"wait until GC ends":           Collection,
	"GC weak to strong wait":       Collection,
}

// waits are the functions in which goroutines wait, as far as a reason is known by them. The
// runtime alone does not tell a lock from a WaitGroup, and gives no reason for those that wait all along.
var waits = []struct {
	prefix string
	reason Reason
}{
	{"time.Sleep", Sleep},
	{"runtime.chanrecv", Receive},
	{"runtime.chansend", Send},
	{"runtime.selectgo", Select},
	{"runtime.block", Select},
	{"sync.(*Mutex)", Lock},
	{"internal/sync.(*Mutex)", Lock},
	{"sync.(*RWMutex)", Lock},
	{"sync.(*WaitGroup)", WaitGroup},
	{"sync.(*Cond)", Cond},
	{"internal/poll.(*FD)", Network},
	{"runtime.gcAssist", Collection},
}

// places are where goroutines with one stack wait, without what they wait for.
type places struct {
	reason            Reason // by the functions; empty: they do not say
	function, through string
	none              bool // of the program's own
}

func (p places) in(r Reason) Place {
	if p.none && r != Collection || r == "" {
		return Place{}
	}
	if r == Processor {
		return Place{For: r}
	}
	return Place{r, p.function, p.through}
}

// PlaceOf returns where a goroutine with these functions waits, from the one that waits to its
// outermost caller; false: not in one of the program's own.
func PlaceOf(functions iter.Seq[string]) (Place, bool) {
	p := placesOf(functions)
	return p.in(cmp.Or(p.reason, Other)), !p.none
}

// placesOf reads a stack from the function that waits to its outermost caller.
func placesOf(functions iter.Seq[string]) places {
	var p places
	for f := range functions {
		if symbol.Tells(f) {
			return places{none: true}
		}
		if p.function != "" {
			continue
		}
		if p.reason == "" {
			p.reason = reasonOf(f)
		}
		frame := symbol.GoFrame(f, "", 0)
		switch kind := work.Of(frame.Function, frame.Package); {
		case kind == "":
			p.function = frame.Function
		case tells(frame.Package, kind):
			p.through = frame.Function
		}
	}
	p.none = p.function == ""
	return p
}

func reasonOf(function string) Reason {
	for _, w := range waits {
		if strings.HasPrefix(function, w.prefix) {
			return w.reason
		}
	}
	return ""
}

// tells reports whether a function of a library tells more than what is waited for.
func tells(in string, kind work.Kind) bool {
	switch kind {
	case work.Scheduling, work.Channels, work.Runtime, work.Time, work.Copying, work.SystemCalls, work.Polling:
		return false
	}
	return in != "sync" && in != "runtime" && !strings.HasPrefix(in, "internal/")
}
