package script

import (
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

// listeners are functions of a script that wait for events.
type listeners struct {
	throw  func(format string, args ...any)
	known  []string // events
	called map[string][]sobek.Callable
}

func (v *vu) listeners(known ...string) listeners {
	return listeners{v.throw, known, map[string][]sobek.Callable{}}
}

// on is the script's on(event, function).
func (l *listeners) on(event string, function sobek.Value) { l.add("on", event, function) }

// add has a function wait for an event, by a method of the script's.
func (l *listeners) add(method, event string, function sobek.Value) {
	f, ok := sobek.AssertFunction(function)
	if !ok {
		l.throw("%s(%q) needs a function", method, event)
	}
	if !slices.Contains(l.known, event) {
		l.throw("event is %q; expected %s", event, strings.Join(l.known, ", "))
	}
	l.called[event] = append(l.called[event], f)
}

// emit calls what waits for an event.
func (l *listeners) emit(event string, values ...sobek.Value) error {
	return callAll(l.called[event], sobek.Undefined(), values...)
}
