package deploy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A dashboard is what the checks need of Grafana's JSON.
type dashboard struct {
	UID    string
	Panels []panel
}

type panel struct {
	ID          int
	Type, Title string
	GridPos     struct{ X, Y, W, H int }
	Targets     []target
}

type target struct {
	Datasource         struct{ Type, UID string }
	Expr, LegendFormat string
}

// A series is a metric with the names of its labels.
type series map[string][]string

var (
	sample   = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? \S+$`)
	label    = regexp.MustCompile(`([a-z_]+)="`)
	metric   = regexp.MustCompile(`\b(?:contend|go|process)_[a-z_]+`)
	grouping = regexp.MustCompile(`by \(([^)]*)\)`)
	matchers = regexp.MustCompile(`(\w+)\{([^}]*)\}`)
	legend   = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// scrape reads the metrics of a service. Prometheus adds two labels of its own.
func scrape(t *testing.T, found series, address string) {
	t.Helper()
	for _, m := range sample.FindAllStringSubmatch(page(t, address, "/metrics"), -1) {
		labels := []string{"instance", "job"}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			labels = append(labels, l[1])
		}
		found[m[1]] = labels
	}
}

// page returns the body of an answer, which must be 200.
func page(t *testing.T, address, path string) string {
	t.Helper()
	answer, err := http.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s%s: %s %v", address, path, answer.Status, err)
	}
	return string(text)
}

// checkDashboard returns everything that Grafana or Prometheus would not find.
func checkDashboard(text, source string, found series) error {
	var d dashboard
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	var errs []error
	failf := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	taken := make(map[string]string)
	ids := make(map[int]bool)
	for _, p := range d.Panels {
		if ids[p.ID] {
			failf("%s: id %d is not its own", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				at := fmt.Sprint(x, ",", y)
				if other := taken[at]; other != "" || x >= 24 {
					failf("%s: lies over %q, or beyond 24 columns", p.Title, other)
				}
				taken[at] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			failf("%s: shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			if !strings.Contains(source, "uid: "+target.Datasource.UID+"\n") {
				failf("%s: there is no data source %q", p.Title, target.Datasource.UID)
			}
			if err := checkExpression(target, found); err != nil {
				failf("%s: %s: %w", p.Title, target.Expr, err)
			}
		}
	}
	return errors.Join(errs...)
}

// checkExpression requires that metrics and labels exist, and that the legend names
// labels that are left.
func checkExpression(t target, found series) error {
	var errs []error
	failf := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	metrics := metric.FindAllString(t.Expr, -1)
	if len(metrics) == 0 {
		failf("no metric of ours")
	}
	var left []string
	for _, m := range grouping.FindAllStringSubmatch(t.Expr, -1) {
		left = append(left, strings.Split(m[1], ", ")...)
	}
	for _, name := range metrics {
		labels, ok := found[name]
		if !ok {
			failf("nobody exports %s", name)
			continue
		}
		for _, l := range left {
			if !slices.Contains(labels, l) {
				failf("%s has no label %s", name, l)
			}
		}
	}
	for _, m := range matchers.FindAllStringSubmatch(t.Expr, -1) {
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(found[m[1]], l[1]) {
				failf("%s has no label %s", m[1], l[1])
			}
		}
	}
	for _, m := range legend.FindAllStringSubmatch(t.LegendFormat, -1) {
		if !slices.Contains(left, m[1]) {
			failf("the legend names %s, the expression keeps %v", m[1], left)
		}
	}
	return errors.Join(errs...)
}

// Everything that the dashboard shows is exported by the services of the stack, and
// the checks find what is not.
func TestDashboard(t *testing.T) {
	t.Parallel()
	_, counter, router := startStack(t)
	page(t, counter, "/status")
	found := make(series)
	scrape(t, found, counter)
	scrape(t, found, router)
	good, source := readFile(t, composeDir, "grafana", "contend.json"), readFile(t, composeDir, "grafana", "datasource.yaml")
	if err := checkDashboard(good, source, found); err != nil {
		t.Errorf("%v\nexported are %v", err, slices.Sorted(maps.Keys(found)))
	}
	for _, tt := range []struct{ name, old, new, want string }{
		{"metric", "contend_counter_redis_commands_total", "contend_counter_redis_calls_total", "nobody exports"},
		{"label", "by (fate)", "by (fade)", "no label fade"},
		{"matcher", `{job=\"counter\"}`, `{name=\"counter\"}`, "no label name"},
		{"legend", "{{fate}}", "{{what}}", "the legend names what"},
		{"source", `"uid": "prometheus"`, `"uid": "mimir"`, "no data source"},
		{"id", `"id": 2,`, `"id": 3,`, "not its own"},
		{"place", `"x": 8,`, `"x": 9,`, "lies over"},
	} {
		broken := strings.ReplaceAll(good, tt.old, tt.new)
		if err := checkDashboard(broken, source, found); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

// Prometheus' own tool reads its configuration and every expression of the dashboard.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool on the PATH")
	}
	var d dashboard
	if err := json.Unmarshal([]byte(readFile(t, composeDir, "grafana", "contend.json")), &d); err != nil {
		t.Fatal(err)
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			rules = append(rules, rule{fmt.Sprintf("panel:%d", len(rules)), strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")})
		}
	}
	text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "config", filepath.Join(composeDir, "prometheus.yml")}, {"check", "rules", file}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
