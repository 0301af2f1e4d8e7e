package script

import (
	"fmt"
	"math"

	"github.com/grafana/sobek"

	"contend/internal/lazyregexp"
	"contend/load"
)

// metricsModule is "k6/metrics": what a script measures itself.
func (v *vu) metricsModule() exports {
	return exports{
		"Counter": v.newMetric(load.CounterMeter),
		"Gauge":   v.newMetric(load.GaugeMeter),
		"Rate":    v.newMetric(load.RateMeter),
		"Trend":   v.newMetric(load.TrendMeter),
	}
}

// metricName is what metrics may be called.
var metricName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{1,128}$`)

// newMetric is the constructor of a kind: new Trend(name, isTime).
func (v *vu) newMetric(kind load.MeterKind) func(sobek.ConstructorCall) *sobek.Object {
	return func(call sobek.ConstructorCall) *sobek.Object {
		if v.started {
			v.throw("a metric is made in the outermost part of the script only")
		}
		name := call.Argument(0).String()
		if !metricName().MatchString(name) {
			v.throw("a metric's name is %q; expected 2 to 129 letters, digits and _, and no digit first", name)
		}
		m, err := v.target.meters.make(name, kind, call.Argument(1).ToBoolean())
		if err != nil {
			v.throw("%v", err)
		}
		_ = call.This.DefineDataProperty("name", v.rt.ToValue(name), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
		_ = call.This.Set("add", func(call sobek.FunctionCall) sobek.Value { return v.rt.ToValue(v.add(m, call)) })
		return nil
	}
}

// add is metric.add(value, tags): false if the value is not a number, about which the script is warned once.
func (v *vu) add(m *meter, call sobek.FunctionCall) bool {
	v.usable(m.Name + ".add")
	value := math.NaN()
	switch given := call.Argument(0); {
	case sobek.IsUndefined(given) || sobek.IsNull(given):
	case given.Export() == true:
		value = 1
	default:
		value = given.ToFloat()
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		v.target.console.warn(fmt.Sprintf("%s.add(%s) is no number, and not counted", m.Name, harmless(call.Argument(0))))
		return false
	}
	tags, err := v.readTagMap(call.Argument(1))
	if err != nil {
		v.throw("tags of %s.add: an argument that %v", m.Name, err)
	}
	v.value(m, value, tags)
	return true
}
