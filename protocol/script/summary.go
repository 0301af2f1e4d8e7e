package script

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"contend/load"
)

// defaultTrendStats are the figures of trends that summaries have unless options say otherwise.
var defaultTrendStats = []string{"avg", "min", "med", "max", "p(90)", "p(95)"}

// A summary is what a run came to, in the form that handleSummary is given.
type summary struct {
	Root    *groupSummary             `json:"root_group"`
	Options map[string]any            `json:"options"`
	State   map[string]any            `json:"state"`
	Metrics map[string]*metricSummary `json:"metrics"`
	Setup   json.RawMessage           `json:"setup_data,omitempty"`
}

type groupSummary struct {
	Name   string          `json:"name"`
	Path   string          `json:"path"`
	ID     string          `json:"id"`
	Groups []*groupSummary `json:"groups"`
	Checks []*checkSummary `json:"checks"`
}

type checkSummary struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	ID     string `json:"id"`
	Passes int64  `json:"passes"`
	Fails  int64  `json:"fails"`
}

type metricSummary struct {
	Type       string                     `json:"type"`
	Contains   string                     `json:"contains"` // time, data or default
	Values     map[string]float64         `json:"values"`
	Thresholds map[string]map[string]bool `json:"thresholds,omitempty"`
}

// summarise puts a result into that form.
func (t *Target) summarise(r *load.Result) *summary {
	stats := t.Options.TrendStats
	if stats == nil {
		stats = defaultTrendStats
	}
	s := &summary{Root: newGroup("", ""), Metrics: map[string]*metricSummary{},
		Options: map[string]any{"summaryTrendStats": stats, "summaryTimeUnit": "", "noColor": true},
		State:   map[string]any{"isStdOutTTY": false, "isStdErrTTY": false, "testRunDurationMs": milliseconds(r.MeterTime())}}
	for _, path := range t.groups.all {
		s.Root.group(strings.Split(path, groupSeparator))
	}
	for _, c := range r.Checks {
		names := strings.Split(c.Name, groupSeparator)
		within := s.Root.group(names[:len(names)-1])
		one := newGroup(names[len(names)-1], within.Path)
		within.Checks = append(within.Checks, &checkSummary{one.Name, one.Path, one.ID, c.Passed, c.Failed})
	}
	for _, m := range r.Meters {
		s.Metrics[m.Name] = summaryOf(m, stats, r.MeterTime())
	}
	for _, claim := range t.Options.Thresholds {
		if m := s.Metrics[claim.Metric]; m != nil {
			held, _ := claim.parsed.Check(r)
			m.Thresholds[claim.Expression] = map[string]bool{"ok": held}
		}
	}
	if t.data != "" {
		s.Setup = json.RawMessage(t.data)
	}
	return s
}

// newGroup makes a group within the path of another one. Its ID is the MD5 of its path.
func newGroup(name, within string) *groupSummary {
	path := ""
	if name != "" || within != "" {
		path = within + groupSeparator + name
	}
	sum := md5.Sum([]byte(path))
	return &groupSummary{Name: name, Path: path, ID: hex.EncodeToString(sum[:]), Groups: []*groupSummary{}, Checks: []*checkSummary{}}
}

// group returns the group of that path, which is made where it is new.
func (g *groupSummary) group(names []string) *groupSummary {
	if len(names) == 0 {
		return g
	}
	i := slices.IndexFunc(g.Groups, func(sub *groupSummary) bool { return sub.Name == names[0] })
	if i < 0 {
		g.Groups = append(g.Groups, newGroup(names[0], g.Path))
		i = len(g.Groups) - 1
	}
	return g.Groups[i].group(names[1:])
}

func summaryOf(m *load.MeterResult, stats []string, during time.Duration) *metricSummary {
	s := &metricSummary{Type: string(m.Kind), Contains: "default", Values: map[string]float64{}, Thresholds: map[string]map[string]bool{}}
	switch {
	case m.Time:
		s.Contains = "time"
	case m.Name == builtIn[mSent].name || m.Name == builtIn[mReceived].name:
		s.Contains = "data"
	}
	if m.Kind != load.TrendMeter {
		stats = load.MeterStats(m.Kind)
	}
	for _, stat := range stats {
		s.Values[stat], _ = m.Stat(stat, during)
	}
	if m.Kind == load.RateMeter {
		s.Values["passes"], s.Values["fails"] = float64(m.Nonzero), float64(m.Total-m.Nonzero)
	}
	return s
}

// Export returns what a run came to as JSON in the form of --summary-export: groups and checks by their
// names, the figures of each metric, and true for thresholds that did not hold.
func (t *Target) Export(r *load.Result) ([]byte, error) {
	s := t.summarise(r)
	metrics := map[string]map[string]any{}
	for name, m := range s.Metrics {
		flat := map[string]any{}
		for stat, value := range m.Values {
			if m.Type == string(load.RateMeter) && stat == "rate" {
				stat = "value"
			}
			flat[stat] = value
		}
		if len(m.Thresholds) > 0 {
			crossed := map[string]bool{}
			for expression, outcome := range m.Thresholds {
				crossed[expression] = !outcome["ok"]
			}
			flat["thresholds"] = crossed
		}
		metrics[name] = flat
	}
	all := map[string]any{"root_group": s.Root.byName(), "metrics": metrics}
	if s.Setup != nil {
		all["setup_data"] = s.Setup
	}
	return json.MarshalIndent(all, "", "    ")
}

// byName is the group with those in it, and its checks, by their names.
func (g *groupSummary) byName() map[string]any {
	groups, checks := map[string]any{}, map[string]*checkSummary{}
	for _, sub := range g.Groups {
		groups[sub.Name] = sub.byName()
	}
	for _, c := range g.Checks {
		checks[c.Name] = c
	}
	return map[string]any{"name": g.Name, "path": g.Path, "id": g.ID, "groups": groups, "checks": checks}
}

// summaryTimeout bounds handleSummary.
const summaryTimeout = 2 * time.Minute

// Summary calls the script's handleSummary with what a run came to, and returns what it wants to be
// written, by destination: stdout, stderr, or a file. nil: it has no such function.
func (t *Target) Summary(ctx context.Context, r *load.Result) (map[string][]byte, error) {
	text, err := json.Marshal(t.summarise(r))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
	defer cancel()
	returned, err := t.runOnce(ctx, handleSummary, func(v *vu) (sobek.Value, error) {
		data, err := v.parse(string(text))
		if o, ok := data.(*sobek.Object); ok && o.Get("setup_data") == nil {
			err = o.Set("setup_data", sobek.Undefined()) // as in k6, whose keys some count
		}
		return data, err
	})
	if err != nil || returned == nil || !isObject(returned.value) {
		return nil, err
	}
	o, ok := returned.value.(*sobek.Object)
	if !ok {
		return nil, fmt.Errorf("handleSummary of %s returned %q; expected an object of texts by destination", t.config.Script, harmless(returned.value))
	}
	return writings(o)
}

// writings are texts and bytes by destination.
func writings(o *sobek.Object) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, destination := range o.Keys() {
		switch content := o.Get(destination).Export().(type) {
		case string:
			all[destination] = []byte(content)
		case sobek.ArrayBuffer:
			all[destination] = slices.Clone(content.Bytes())
		default:
			return nil, fmt.Errorf("handleSummary returned for %s what is neither text nor an ArrayBuffer", destination)
		}
	}
	return all, nil
}
