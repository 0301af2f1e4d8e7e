package script

import (
	"github.com/grafana/sobek"
)

// dataModule is "k6/data".
func (v *vu) dataModule() exports {
	return exports{"SharedArray": v.newShared}
}

// newShared makes a SharedArray. Its function is called by the first virtual user alone.
func (v *vu) newShared(call sobek.ConstructorCall) *sobek.Object {
	if v.started {
		v.throw("a SharedArray is made in the outermost part of the script only")
	}
	name := call.Argument(0)
	if !isObject(name) || name.String() == "" {
		v.throw("a SharedArray needs a name")
	}
	make, ok := sobek.AssertFunction(call.Argument(1))
	if !ok {
		v.throw("SharedArray %q needs a function that returns an array", name)
	}
	elements, known := v.target.shared.Load(name.String())
	if !known {
		value, err := make(sobek.Undefined())
		if err != nil {
			panic(err)
		}
		elements, _ = v.target.shared.LoadOrStore(name.String(), v.elements(name.String(), value))
	}
	return v.rt.NewDynamicArray(&sharedArray{v: v, elements: elements.([]string), last: -1})
}

// elements are those of an array, each as JSON.
func (v *vu) elements(name string, value sobek.Value) []string {
	o, ok := value.(*sobek.Object)
	if !ok || o.ClassName() != "Array" {
		v.throw("the function of SharedArray %q returned no array", name)
	}
	all := make([]string, o.Get("length").ToInteger())
	for i := range all {
		text, err := v.stringify(sobek.Undefined(), v.index(o, i))
		if err != nil {
			panic(err)
		}
		if all[i] = text.String(); sobek.IsUndefined(text) {
			all[i] = "null" // as within an array
		}
	}
	return all
}

// index is an element of an array.
func (v *vu) index(o *sobek.Object, i int) sobek.Value {
	if value := o.Get(v.rt.ToValue(i).String()); value != nil {
		return value
	}
	return sobek.Undefined()
}

// A sharedArray is a shared one as a virtual user sees it: elements are frozen, and read when they
// are asked for. It keeps the latest one, as scripts often ask for several of its fields.
type sharedArray struct {
	v        *vu
	elements []string
	last     int // -1: none
	value    sobek.Value
}

func (s *sharedArray) Len() int { return len(s.elements) }

func (s *sharedArray) Get(i int) sobek.Value {
	if i < 0 || i >= len(s.elements) {
		return sobek.Undefined()
	}
	if i != s.last {
		value, err := s.v.functions.parse(sobek.Undefined(), s.v.rt.ToValue(s.elements[i]), s.v.rt.ToValue(s.v.frozen))
		if err != nil {
			panic(err)
		}
		s.last, s.value = i, value
	}
	return s.value
}

func (s *sharedArray) Set(int, sobek.Value) bool {
	panic(s.v.rt.NewTypeError("a SharedArray cannot be changed"))
}

func (s *sharedArray) SetLen(int) bool {
	panic(s.v.rt.NewTypeError("a SharedArray cannot be changed"))
}

// frozen freezes what JSON.parse has read.
func (v *vu) frozen(call sobek.FunctionCall) sobek.Value {
	value := call.Argument(1)
	if _, ok := value.(*sobek.Object); ok {
		if _, err := v.functions.freeze(sobek.Undefined(), value); err != nil {
			panic(err)
		}
	}
	return value
}
