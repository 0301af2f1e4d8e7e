package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

// A tag is a name and its value.
type tag struct{ name, value string }

// readTagList reads name:value,name:value, values perhaps in quotes.
func readTagList(list string) (tags []tag, err error) {
	for one := range strings.SplitSeq(list, ",") {
		name, value, found := strings.Cut(one, ":")
		name, value = strings.Trim(strings.TrimSpace(name), `"'`), strings.Trim(strings.TrimSpace(value), `"'`)
		if !found || name == "" {
			return nil, fmt.Errorf("%q has no value", one)
		}
		tags = append(tags, tag{name, value})
	}
	return tags, nil
}

// A tagged knows the tags of a value, by their names: those that the script gave it, and those of the system, which it
// has by what it is.
type tagged interface {
	given() tagMap
	system(name string) (value string, ok bool)
}

// has reports whether a value has all of the tags.
func (v *vu) has(tags []tag, of tagged) bool {
	for _, t := range tags {
		if value, ok := v.tagOf(t.name, of); !ok || value != t.value {
			return false
		}
	}
	return true
}

// tagOf is a tag of a value: its own, the virtual user's, or the script's.
func (v *vu) tagOf(name string, of tagged) (string, bool) {
	system := v.target.Options.wants(name)
	if of != nil {
		if value, ok := of.given()[name]; ok {
			return value, true
		}
		if value, ok := of.system(name); ok && system {
			return value, true
		}
	}
	if value, ok := v.tags[name]; ok {
		return value, true
	}
	switch {
	case name == "group" && system:
		return v.groupPath(), true
	case name == "scenario" && system:
		return v.of.load.scenario(), true
	}
	value, ok := v.of.load.Tags[name]
	if !ok {
		value, ok = v.target.Options.tags[name]
	}
	return value, ok
}

// groupPath is the group that the script is in, as paths of groups are: "" outside, else ::name::name.
func (v *vu) groupPath() string {
	if v.group == "" {
		return ""
	}
	return groupSeparator + v.group
}

// tagMap are tags that a script gave.
type tagMap map[string]string

func (m tagMap) given() tagMap { return m }

func (m tagMap) system(string) (string, bool) { return "", false }

// readTagMap reads an object of tags; values are text, numbers and truths.
func (v *vu) readTagMap(value sobek.Value) (tagMap, error) {
	if !isObject(value) {
		return nil, nil
	}
	o, ok := value.(*sobek.Object)
	if !ok {
		return nil, nil // as in k6
	}
	tags := tagMap{}
	for _, name := range o.Keys() {
		one := o.Get(name)
		if _, object := one.(*sobek.Object); object || !isObject(one) {
			return nil, fmt.Errorf("has %s, whose value is %.20q; expected text, numbers, true and false", name, harmless(one))
		}
		tags[name] = one.String()
	}
	return tags, nil
}

// readTags takes text, numbers and truths.
func (o *Options) readTags(raw json.RawMessage) error {
	var given map[string]any
	if err := decode(raw, &given); err != nil {
		return err
	}
	var err error
	o.tags, err = tagsOf(given)
	return err
}

func tagsOf(given map[string]any) (map[string]string, error) {
	tags := map[string]string{}
	for name, value := range given {
		switch value.(type) {
		case string, float64, bool:
			tags[name] = fmt.Sprint(value)
		default:
			return nil, fmt.Errorf("has the tag %s, which is neither text nor a number", name)
		}
	}
	return tags, nil
}

// ownTags is an object with the tags of all that the virtual user measures; those that a script gives it are for what
// it measures afterwards.
func (v *vu) ownTags() *sobek.Object {
	if v.tags == nil {
		v.tags = map[string]string{}
	}
	return v.rt.NewDynamicObject(&tagObject{v})
}

// fixed is an object whose values cannot be replaced.
func (v *vu) fixed(values exports) sobek.Value {
	return orThrow(v.functions.freeze(sobek.Undefined(), v.object(values)))
}

// metadata is an object that keeps what a script gives it: nothing that is measured has metadata here.
func (v *vu) metadata() *sobek.Object {
	if v.kept == nil {
		v.kept = v.rt.NewObject()
	}
	return v.kept
}

// A tagObject is those tags as the script sees them.
type tagObject struct{ v *vu }

var _ sobek.DynamicObject = (*tagObject)(nil)

func (o *tagObject) Get(name string) sobek.Value {
	if value, ok := o.v.tagOf(name, nil); ok {
		return o.v.rt.ToValue(value)
	}
	return nil
}

// Set keeps text, numbers and truths.
func (o *tagObject) Set(name string, value sobek.Value) bool {
	if _, is := value.(*sobek.Object); is || sobek.IsUndefined(value) || sobek.IsNull(value) {
		o.v.throw("tag %s is set to %s; expected text, numbers, true and false", name, harmless(value))
	}
	o.v.tags[name] = value.String()
	return true
}

func (o *tagObject) Has(name string) bool { _, ok := o.v.tagOf(name, nil); return ok }

func (o *tagObject) Delete(name string) bool { delete(o.v.tags, name); return true }

func (o *tagObject) Keys() []string {
	v := o.v
	names := slices.Concat([]string{"group", "scenario"}, slices.Collect(maps.Keys(v.tags)), slices.Collect(maps.Keys(v.of.load.Tags)), slices.Collect(maps.Keys(v.target.Options.tags)))
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return !o.Has(name) })
}

// usualTags are the tags of the system that what is measured has unless options.systemTags says otherwise, and
// otherTags those that it may ask for. No threshold sees vu and iter, as in k6, and nothing has ocsp_status.
var (
	usualTags = []string{"proto", "subproto", "status", "method", "url", "name", "group", "check", "error", "error_code",
		"tls_version", "scenario", "service", "expected_response"}
	otherTags = []string{"ip", "vu", "iter", "ocsp_status"}
)

func (o *Options) readSystemTags(raw json.RawMessage) error {
	if err := decode(raw, &o.system); err != nil {
		return err
	}
	known := slices.Concat(usualTags, otherTags)
	for _, name := range o.system {
		if !slices.Contains(known, name) {
			return fmt.Errorf("has %q; expected %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// wants reports whether what is measured has a tag if it is one of the system.
func (o *Options) wants(name string) bool {
	if o.system == nil {
		return !slices.Contains(otherTags, name)
	}
	return slices.Contains(o.system, name)
}
