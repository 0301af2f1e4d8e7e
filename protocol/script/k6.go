package script

import (
	"context"
	"math"
	"math/rand" // whose sequences are those of k6
	"strings"
	"time"

	"github.com/grafana/sobek"

	"contend/load"
)

// k6Module is "k6": what every script needs.
func (v *vu) k6Module() exports {
	return exports{
		"check":      v.check,
		"group":      v.inGroup,
		"sleep":      v.sleep,
		"fail":       func(text string) { v.throw("%s", text) },
		"randomSeed": func(seed int64) { v.rt.SetRandSource(rand.New(rand.NewSource(seed)).Float64) },
	}
}

// check asks functions about a value, and returns whether all said yes. An exception in one of them is
// the script's.
func (v *vu) check(call sobek.FunctionCall) sobek.Value {
	v.usable("check")
	all := true
	of := call.Argument(0)
	set := call.Argument(1)
	if sobek.IsUndefined(set) || sobek.IsNull(set) {
		v.throw("check needs a value and an object of functions")
	}
	tags, err := v.readTagMap(call.Argument(2))
	if err != nil {
		v.throw("check: an argument that %v", err)
	}
	sets := set.ToObject(v.rt)
	for _, name := range sets.Keys() {
		v.simple("check", name)
		value := sets.Get(name)
		if f, ok := sobek.AssertFunction(value); ok {
			var err error
			function := value
			if value, err = f(sobek.Undefined(), of); err != nil {
				v.checked(name, false, tags)
				panic(err)
			}
			if _, object := value.(*sobek.Object); object {
				v.notAsync("check", function)
			}
		}
		passed := value.ToBoolean()
		all = all && passed
		v.checked(name, passed, tags)
	}
	return v.rt.ToValue(all)
}

func (v *vu) checked(name string, passed bool, of tagMap) {
	path := name
	if v.group != "" {
		path = v.group + groupSeparator + name
	}
	v.flow.Checks = append(v.flow.Checks, load.Check{Name: path, Passed: passed})
	v.measure(mChecks, truth(passed), checkTags{name, of})
	if !passed {
		v.wrong(load.Outcome{Check: path, Detail: v.http.detail()})
	}
}

// groupSeparator separates the names of groups.
const groupSeparator = "::"

// notAsync refuses a function whose outcome is a promise, which would be over before its work is.
func (v *vu) notAsync(what string, function sobek.Value) {
	if kind, ok := function.ToObject(v.rt).Get("constructor").(*sobek.Object); ok && kind.Get("name").String() == "AsyncFunction" {
		v.throw("%s takes no async function, as in k6: await what it waits for before", what)
	}
}

// simple refuses a name that would be read as several.
func (v *vu) simple(what, name string) {
	if strings.Contains(name, groupSeparator) {
		v.throw("a %s's name is %q, but %s stands between the names of groups", what, name, groupSeparator)
	}
}

// inGroup calls a function; what is checked in it has the group's name before its own.
func (v *vu) inGroup(call sobek.FunctionCall) sobek.Value {
	f, ok := sobek.AssertFunction(call.Argument(1))
	if !ok {
		v.throw("group needs a name and a function")
	}
	v.notAsync("group", call.Argument(1))
	name, outer, began := call.Argument(0).String(), v.group, time.Now()
	v.simple("group", name)
	defer func() { v.group = outer }()
	if v.group = name; outer != "" {
		v.group = outer + groupSeparator + name
	}
	v.target.groups.note(v.group)
	value, err := f(sobek.Undefined())
	if v.ctx.Err() == nil {
		v.measure(mGroup, milliseconds(time.Since(began)), nil)
	}
	if err != nil {
		panic(err)
	}
	return value
}

// sleep waits that many seconds, or until the run ends.
func (v *vu) sleep(seconds float64) {
	v.usable("sleep")
	if seconds > 0 && !math.IsNaN(seconds) {
		d := time.Duration(min(seconds, longest.Seconds()) * float64(time.Second))
		v.away(func(ctx context.Context) { wait(ctx, d) })
	}
}

// longest is a sleep that no run outlasts.
const longest = 1000 * time.Hour
