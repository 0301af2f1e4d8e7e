package script

import (
	"fmt"
	"strings"

	"github.com/grafana/sobek"
	"github.com/tidwall/gjson"
)

// parse is JSON.parse.
func (v *vu) parse(text string) (sobek.Value, error) {
	if isDeeper(text, mostNested) {
		return nil, fmt.Errorf("more than %d arrays and objects within each other", mostNested)
	}
	if value := v.valueOf(text); value != nil {
		return value, nil
	}
	return v.functions.parse(sobek.Undefined(), v.rt.ToValue(text))
}

// valueOf makes what JSON.parse makes of a text, in less than half the time. It is nil where that is to decide:
// what is no JSON, deeper than deepest, or has escapes, with which strings may hold what is no UTF-8.
func (v *vu) valueOf(text string) sobek.Value {
	if strings.Contains(text, `\u`) || !gjson.Valid(text) {
		return nil
	}
	return v.valueOfPart(gjson.Parse(text), 0)
}

// mostNested is how deep arrays and objects may be within each other: those who parse recurse.
const mostNested = 10_000

// isDeeper reports whether brackets outside of strings are open more often than that.
func isDeeper(text string, most int) bool {
	if len(text) <= most {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > most {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

// deepest bounds how deep objects and arrays may be nested.
const deepest = 500

func (v *vu) valueOfPart(part gjson.Result, depth int) (value sobek.Value) {
	switch {
	case depth > deepest:
		return nil
	case part.IsArray():
		var all []any
		deep := false
		part.ForEach(func(_, one gjson.Result) bool {
			element := v.valueOfPart(one, depth+1)
			all, deep = append(all, element), element == nil
			return !deep
		})
		if deep {
			return nil
		}
		return v.rt.NewArray(all...)
	case part.IsObject():
		o := v.rt.NewObject()
		deep := false
		part.ForEach(func(name, one gjson.Result) bool {
			member := v.valueOfPart(one, depth+1)
			if deep = member == nil; !deep {
				_ = o.DefineDataProperty(strings.Clone(name.String()), member, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_TRUE) // __proto__ is a name like any other
			}
			return !deep
		})
		if deep {
			return nil
		}
		return o
	}
	switch part.Type {
	case gjson.String:
		return v.rt.ToValue(strings.Clone(part.String())) // without a reference to the whole text
	case gjson.Number:
		return v.rt.ToValue(part.Float())
	case gjson.Null:
		return sobek.Null()
	}
	return v.rt.ToValue(part.Bool())
}
