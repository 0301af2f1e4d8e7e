package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

// listeners are functions of a script that wait for events.
type listeners struct {
	refuse func(format string, args ...any) // what cannot be waited for
	known  []string                         // events
	called map[string][]sobek.Callable
}

func (v *vu) listeners(known ...string) listeners {
	return listeners{v.throw, known, map[string][]sobek.Callable{}}
}

// socketListeners are those of a WebSocket: what cannot be waited for is ignored, as in k6.
func (v *vu) socketListeners(known ...string) listeners {
	l := v.listeners(known...)
	l.refuse = func(format string, args ...any) {
		v.target.console.once(place(v.rt.CaptureCallStack(0, nil)) + fmt.Sprintf(format, args...) + "; it is ignored")
	}
	return l
}

// on is the script's on(event, function).
func (l *listeners) on(event string, function sobek.Value) { l.add("on", event, function) }

// add has a function wait for an event, by a method of the script's.
func (l *listeners) add(method, event string, function sobek.Value) {
	switch f, ok := sobek.AssertFunction(function); {
	case !ok:
		l.refuse("%s(%q) needs a function", method, event)
	case !slices.Contains(l.known, event):
		l.refuse("event is %q; expected %s", event, strings.Join(l.known, ", "))
	default:
		l.called[event] = append(l.called[event], f)
	}
}

// emit calls what waits for an event.
func (l *listeners) emit(event string, values ...sobek.Value) error {
	return callAll(l.called[event], sobek.Undefined(), values...)
}
