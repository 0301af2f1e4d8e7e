package script

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/grafana/sobek"

	"contend/internal/lazyregexp"
	"contend/load"
)

// throw ends the script's call with an exception.
func (v *vu) throw(format string, args ...any) {
	panic(v.exception(format, args...))
}

// exception is an Error of the script.
func (v *vu) exception(format string, args ...any) *sobek.Object {
	return v.exceptionOf("Error", format, args...)
}

// exceptionOf is one of a class, such as RangeError.
func (v *vu) exceptionOf(class, format string, args ...any) *sobek.Object {
	e, err := v.rt.New(v.rt.Get(class), v.rt.ToValue(fmt.Sprintf(format, args...)))
	if err != nil { // the script has replaced it
		return v.rt.NewGoError(fmt.Errorf(format, args...))
	}
	return e
}

// explain says what went wrong in a script, and where.
func (v *vu) explain(err error) error {
	var thrown *sobek.Exception
	var interrupted *sobek.InterruptedError
	var deep *sobek.StackOverflowError
	switch {
	case errors.As(err, &deep):
		return fmt.Errorf("%stoo much recursion: more than %d calls", place(deep.Stack()), maxDepth)
	case errors.As(err, &interrupted):
		if cause, ok := interrupted.Value().(error); ok {
			return fmt.Errorf("%s%w", place(interrupted.Stack()), cause)
		}
	case errors.As(err, &thrown):
		text := "undefined"
		if value := thrown.Value(); value != nil {
			text = harmless(value)
		}
		return errors.New(place(thrown.Stack()) + text)
	}
	return err
}

// harmless is a thrown value as text; a getter of the script may throw in turn.
func harmless(value sobek.Value) (text string) {
	defer func() {
		if recover() != nil {
			text = "an exception that has no text"
		}
	}()
	if text = value.String(); len(text) > maxText {
		text = text[:maxText] + "…"
	}
	return text
}

// maxText bounds what is shown of an exception.
const maxText = 300

// place is the innermost position in a file of the user's.
func place(stack []sobek.StackFrame) string {
	for _, frame := range stack {
		at := frame.Position()
		if at.Filename != "" && at.Line > 0 && !strings.Contains(at.Filename, native+":") {
			return fmt.Sprintf("%s:%d:%d: ", strings.TrimPrefix(at.Filename, "./"), at.Line, at.Column)
		}
	}
	return ""
}

// guarded calls functions of the script. Where the interpreter itself fails the run ends: nothing can be
// said of a runtime after that.
func (v *vu) guarded(call func() (sobek.Value, error)) (value sobek.Value, err error) {
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case runtime.Error:
			v.aborted = &load.Abort{Reason: fmt.Sprintf("%sthe interpreter failed: %v", place(v.rt.CaptureCallStack(0, nil)), caught)}
			err = v.aborted
		default:
			panic(caught)
		}
	}()
	return call()
}

// rejections are the promises that were rejected and that nobody has asked for since.
type rejections []*sobek.Promise

// note keeps them.
func (r *rejections) note(p *sobek.Promise, what sobek.PromiseRejectionOperation) {
	if what == sobek.PromiseRejectionReject {
		*r = append(*r, p)
		return
	}
	*r = slices.DeleteFunc(*r, func(one *sobek.Promise) bool { return one == p })
}

// take returns why the first was rejected, nil where none was, and forgets all.
func (r *rejections) take(v *vu) error {
	if len(*r) == 0 {
		return nil
	}
	first := (*r)[0]
	*r = nil
	return v.rejected(first)
}

// rejected is why a promise was rejected, with the line of an Error.
func (v *vu) rejected(p *sobek.Promise) error {
	return errors.New(placeOf(p.Result()) + harmless(p.Result()))
}

// stackLine is a line of an Error's stack, as in "	at f (flow.js:3:7(12))".
var stackLine = lazyregexp.New(`(?m)^\tat (?:.* \()?([^\s()]+:\d+:\d+)\(\d+\)\)?$`)

// placeOf is where an Error was made; "" of another value, and where its stack has a getter that throws.
func placeOf(value sobek.Value) (where string) {
	defer func() { _ = recover() }()
	o, ok := value.(*sobek.Object)
	if !ok || o.ClassName() != "Error" || o.Get("stack") == nil {
		return ""
	}
	for _, at := range stackLine().FindAllStringSubmatch(o.Get("stack").String(), -1) {
		if !strings.Contains(at[1], native+":") {
			return strings.TrimPrefix(at[1], "./") + ": "
		}
	}
	return ""
}
