package script

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"contend/load"
)

// Follow tells the script by which plan its only load is driven, flags included; it is for exec.test.options.
func (t *Target) Follow(plan load.Plan) { t.all.plan = &plan }

// testOptions is exec.test.options: all options, null where one is not set, and the load of the run as scenarios.
func (v *vu) testOptions() sobek.Value {
	if !v.started {
		v.throw("exec.test.options is known within an iteration, setup and teardown only")
	}
	if v.options == nil {
		text, err := json.Marshal(v.target.consolidated())
		if err == nil {
			v.options, err = v.functions.parse(sobek.Undefined(), v.rt.ToValue(string(text)), v.rt.ToValue(v.frozen))
		}
		if err != nil {
			v.throw("exec.test.options: %v", err)
		}
	}
	return v.options
}

// numeric are the options that are numbers in exec.test.options, however a script writes them.
var numeric = []string{"rps", "maxRedirects", "batch", "batchPerHost"}

func (t *Target) consolidated() map[string]any {
	o := &t.Options
	all := map[string]any{"summaryTrendStats": defaultTrendStats, "systemTags": slices.Sorted(slices.Values(usualTags))}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(optionReaders)), segments, []string{ofThresholds, "ext", "summaryTimeUnit", "metricSamplesBufferSize", "consoleOutput", "localIPs"}) {
		if all[name] == nil {
			all[name] = nil // is there, and null
		}
	}
	all["dns"] = map[string]any{"ttl": nil, "select": nil, "policy": nil}
	for name, raw := range o.given {
		all[name] = raw
		var n amount
		if _, text := strings.CutPrefix(string(raw), `"`); text && slices.Contains(numeric, name) && n.UnmarshalJSON(raw) == nil {
			all[name] = n
		}
	}
	for _, short := range []string{"vus", "iterations", "duration", "stages", "cloud", "noUsageReport"} {
		delete(all, short)
	}
	if all["scenarios"] = t.scenarios(); len(o.Scenarios) == 0 {
		all["scenarios"] = map[string]any{DefaultScenario: t.derived()}
	}
	return all
}

// scenarios are those of the script that are driven.
func (t *Target) scenarios() map[string]map[string]any {
	var given, driven map[string]map[string]any
	driven = map[string]map[string]any{}
	_ = json.Unmarshal(t.Options.given["scenarios"], &given) // it has been read by now
	for _, name := range t.Options.Names() {
		driven[name] = withNulls(given[name])
		if _, has := given[name]["vus"]; has && len(t.Options.Scenarios) == 1 && t.all.plan != nil {
			driven[name]["vus"] = t.all.plan.VUs
		}
	}
	return driven
}

// derived is the scenario that options without scenarios come to, or flags.
func (t *Target) derived() map[string]any {
	o, plan := &t.Options, t.all.plan
	if plan == nil {
		plan = &load.Plan{VUs: max(1, o.VUs), Iterations: o.Iterations, Duration: o.Duration}
	}
	within := func(d time.Duration) any {
		if d == 0 {
			return nil
		}
		return d.String()
	}
	switch {
	case plan.Pacer != nil && plan.Pacer.Flat():
		return withNulls(map[string]any{"executor": "constant-arrival-rate", "rate": plan.Pacer.Peak(), "timeUnit": "1s", "duration": within(plan.Duration), "preAllocatedVUs": plan.VUs, "maxVUs": plan.VUs})
	case plan.Pacer != nil:
		return withNulls(map[string]any{"executor": "ramping-arrival-rate", "timeUnit": "1s", "preAllocatedVUs": plan.VUs, "maxVUs": plan.VUs})
	case o.Ramps() && plan.Iterations == 0 && (t.all.plan == nil || plan.Callers != nil):
		from := cmp.Or(string(o.given["vus"]), "1")
		return withNulls(map[string]any{"executor": "ramping-vus", "startVUs": json.RawMessage(from), "stages": o.given["stages"], "gracefulRampDown": nil})
	case plan.Iterations > 0:
		return withNulls(map[string]any{"executor": "shared-iterations", "vus": plan.VUs, "iterations": plan.Iterations, "maxDuration": within(plan.Duration)})
	}
	return withNulls(map[string]any{"executor": "constant-vus", "vus": plan.VUs, "duration": within(plan.Duration)})
}

// withNulls adds what every scenario has.
func withNulls(scenario map[string]any) map[string]any {
	for _, name := range []string{"startTime", "gracefulStop", "env", "exec", "tags"} {
		if _, has := scenario[name]; !has {
			scenario[name] = nil
		}
	}
	return scenario
}
