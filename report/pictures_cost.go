package report

import (
	"fmt"

	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/report/chart"
	"contend/report/plain"
	"contend/trial"
)

// A costPart is a part of what an operation costs.
type costPart struct {
	name string
	of   func(*load.Result) (float64, bool)
}

// timeOfAnOperation is CPU time of both sides an operation and, of one caller, where nothing
// happens at the same time, all of its service time.
func timeOfAnOperation(cells []trial.Cell, level int) (picture, bool) {
	perOp := func(seconds func(*load.Result) float64) func(*load.Result) (float64, bool) {
		return func(r *load.Result) (float64, bool) {
			if r.Server == nil || r.Ops == 0 {
				return 0, false
			}
			ns := 1e9 * seconds(r) / float64(r.Ops)
			return ns, ns > 0
		}
	}
	p := picture{title: "CPU time per op", how: "Compare it with other results with care: on loopback the kernel charges part of the receiver's work to the sender."}
	if level == 1 {
		p.how = "What the time of an operation is made of at one caller, where nothing happens at the same time."
	}
	return p.costs(cells, level, unit.Duration, tickTime, costPart{"server", metric.ServerCPUPerOp.Of},
		costPart{"server, waiting for a core", perOp(func(r *load.Result) float64 { return r.Server.WaitedSec })},
		costPart{"generator", perOp(func(r *load.Result) float64 { return r.GeneratorCPUSec })},
		costPart{"off the CPU and on the way", perOp(offCPU)})
}

// offCPU is the rest of the service times of one caller, in seconds.
func offCPU(r *load.Result) float64 {
	if r.Model != load.ClosedModel || r.Concurrency != 1 || r.Plan.Think > 0 {
		return 0
	}
	return r.Service.Mean().Seconds()*float64(r.Completed) - r.Server.CPUSec - r.Server.WaitedSec - r.GeneratorCPUSec
}

// instructionsOfAnOperation are those of the server, where they were counted.
func instructionsOfAnOperation(cells []trial.Cell, level int) (picture, bool) {
	p := picture{title: "Instructions of an operation", how: "What the server executes for an operation. Instructions are not time: waiting and caches are in the times only."}
	return p.costs(cells, level, metric.ServerInstructions.Format, short, costPart{"in the program", metric.ServerInstructions.Of}, costPart{"in the kernel", metric.Name("server_kernel_instructions_per_op").Of})
}

// costs fills the picture with the parts that are known of the variants at a level; without
// the first part of any variant there is no picture.
func (p picture) costs(cells []trial.Cell, level int, format, tick func(float64) string, parts ...costPart) (picture, bool) {
	p.title += " " + atConcurrency(level)
	p.table.columns = []string{"variant", "part", "an operation"}
	rows := chart.Rows{Bars: true, X: chart.Axis{Label: "an operation", Zero: true, Format: tick}}
	known := false
	for i, part := range parts {
		n := -1
		for _, cell := range cells {
			if cell.Concurrency != level || n == chart.Colours-1 {
				continue
			}
			n++
			value, ok := part.of(cell.Result)
			if !ok {
				continue
			}
			known = known || i == 0
			name := part.name
			if cell.Arm != "" {
				name = plain.Line(cell.Arm) + ": " + name
			}
			rows.Rows = append(rows.Rows, chart.Row{Name: name, Value: value, Text: format(value), Colour: n})
			rows.Alt += fmt.Sprintf("%s %s. ", name, format(value))
			p.table.rows = append(p.table.rows, []string{cell.Arm, part.name, format(value)})
		}
	}
	p.svg = rows.SVG()
	return p, known
}
