package report

import (
	"cmp"
	"fmt"
	"slices"

	"contend/internal/unit"
	"contend/load"
	"contend/report/chart"
	"contend/report/plain"
)

// mostWorkers is how many workers a table lists; of more it lists endWorkers with the shortest, and as many with
// the longest times, and of those that are lost, or unlike the others.
const (
	mostWorkers = 20
	endWorkers  = 5
)

// generatorTable lists the workers that drove a run together.
func generatorTable(r *load.Result) table {
	t := table{columns: []string{"worker", "callers", "completed", "wrong", "throughput", "response p50", "p99", "start lag p99", "CPU", "began late", "clock known to"}}
	list, left := someGenerators(r.Generators)
	for _, g := range list {
		t.rows = append(t.rows, generatorRow(g))
	}
	if left > 0 {
		t.rows = append(t.rows, []string{fmt.Sprintf("and %d more between these", left)})
	}
	return t
}

func generatorRow(g load.Generator) []string {
	row := []string{plain.Line(g.Name), unit.Count(g.VUs)}
	if g.Lost != "" {
		return append(row, "lost: "+plain.Clip(plain.Line(g.Lost), longestExample))
	}
	share := "-"
	if g.CPUShare > 0 {
		share = fmt.Sprintf("%.0f%%", 100*g.CPUShare)
	}
	row = append(row, unit.Count(g.Completed), unit.Count(g.Wrong), unit.Rate(g.ThroughputPerSec))
	for _, d := range []float64{float64(g.ResponseP50), float64(g.ResponseP99), float64(g.StartLagP99)} {
		row = append(row, unit.Duration(d))
	}
	return append(row, share, unit.Duration(float64(g.BeganLate)), "±"+unit.Duration(float64(g.ClockBound)))
}

// someGenerators are those that are listed, by their times where these are not all, and how many are left out.
func someGenerators(all []load.Generator) (list []load.Generator, left int) {
	if len(all) <= mostWorkers {
		return all, 0
	}
	var lost, odd, like []load.Generator
	for _, g := range all {
		text, _ := g.Odd(len(all))
		switch {
		case g.Lost != "":
			lost = append(lost, g)
		case text != "":
			odd = append(odd, g)
		default:
			like = append(like, g)
		}
	}
	byTime := func(a, b load.Generator) int { return cmp.Compare(a.ResponseP50, b.ResponseP50) }
	slices.SortStableFunc(odd, byTime)
	slices.SortStableFunc(like, byTime)
	for _, some := range [][]load.Generator{lost, odd, like} {
		if n := len(some); n > 2*endWorkers {
			some = slices.Concat(some[:endWorkers], some[n-endWorkers:])
		}
		list = append(list, some...)
	}
	return list, len(all) - len(list)
}

// drivenBy says how many workers drove a run, and on how many machines; "": this process alone did.
func drivenBy(r *load.Result) string {
	if len(r.Generators) == 0 {
		return ""
	}
	machines := map[string]bool{}
	for _, g := range r.Generators {
		machines[g.Machine] = true
	}
	return "driven by " + plural(len(r.Generators), "worker") + " on " + plural(len(machines), "machine")
}

// workerColumns has the response times of workers as columns; false: there are no two.
func workerColumns(r *load.Result, of string) (picture, bool) {
	h := load.HeatmapOfGenerators(r.Generators)
	if len(r.Generators) < 2 || h == nil {
		return picture{}, false
	}
	pic, rows := heatOf(h)
	pic.Alt = "Response times of each worker: how many answers took how long"
	pic.X = chart.Axis{Label: fmt.Sprintf("%d workers, %s to %s", len(r.Generators), plain.Line(r.Generators[0].Name), plain.Line(r.Generators[len(r.Generators)-1].Name)),
		Format: func(float64) string { return "" }}
	pic.XEnds = [2]float64{0, float64(len(h.Columns))}
	return picture{title: "Workers side by side" + of, svg: pic.SVG(), table: rows,
		how: "Each column is a worker, in the order of their names; the darker, the more of its answers took so long. A column unlike the others is a worker that measured something else."}, true
}
