package report

import (
	"slices"

	"contend/internal/unit"
	"contend/metric"
	"contend/trial"
)

// results writes one line per arm and level, and what is doubtful about them.
func results(v *view, cells []trial.Cell) {
	named := slices.ContainsFunc(cells, func(c trial.Cell) bool { return c.Arm != "" })
	if !named && len(cells) > 0 {
		v.head("%s", cells[0].Target)
	}
	t := table{columns: labels(named, "variant", "concurrency")}
	metrics := []metric.Name{metric.Throughput, "response_mean_ns", "response_p50_ns", "response_p99_ns", "exchange_mean_ns",
		metric.WallPerOp, metric.ServerCPUPerOp, metric.ServerInstructions, metric.GeneratorCPUPerOp, metric.Errors}
	metrics = slices.DeleteFunc(metrics, func(m metric.Name) bool {
		return !slices.ContainsFunc(cells, func(c trial.Cell) bool { return interesting(m, c) })
	})
	for _, m := range metrics {
		t.columns = append(t.columns, m.ShortWords())
	}
	for _, c := range cells {
		row := labels(named, c.Arm, unit.Count(c.Concurrency))
		for _, m := range metrics {
			row = append(row, figure(m, c))
		}
		t.rows = append(t.rows, row)
	}
	v.table(t)
	errored(v, cells, named)
	oneCaller(v, cells)
	ofCells(cells).write(v)
}

// figure is a metric of a cell in words; - if the cell does not have it.
func figure(m metric.Name, c trial.Cell) string {
	if value, ok := m.Beside(c.Result); ok {
		return m.Format(value)
	}
	return "-"
}

// labels leaves the arm out if it has no name.
func labels(named bool, arm, vus string) []string {
	if named {
		return []string{arm, vus}
	}
	return []string{vus}
}

// interesting leaves out columns that say nothing: the time per operation where
// an iteration is one operation, and the time of an iteration where it is many.
func interesting(m metric.Name, c trial.Cell) bool {
	if batches := c.Ops > c.Completed; m == metric.WallPerOp && !batches || m.IsResponse() && batches {
		return false
	}
	_, ok := m.Beside(c.Result)
	return ok
}

// errored says of what kind the errors were.
func errored(v *view, cells []trial.Cell, named bool) {
	t := table{columns: append(labels(named, "variant", "concurrency"), "errored", "count", "first example")}
	for _, c := range cells {
		for _, row := range wrongTable("errored", kindsOf(c.Result)).rows {
			t.rows = append(t.rows, append(labels(named, c.Arm, unit.Count(c.Concurrency)), row...))
		}
	}
	v.table(t)
}
