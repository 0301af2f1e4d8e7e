package trial

import (
	"encoding/json"
	"time"

	"contend/errkind"
	"contend/load"
)

// Blocks are the cells of single blocks, in the order in which these were driven.
// Their results have only what their rows in the document have: the times of all
// blocks of a round are in the cell of the round.
type Blocks []Cell

// row is a block in the document.
type row struct {
	Arm              string        `json:"arm"`
	Concurrency      int           `json:"concurrency"`
	Round            int           `json:"round"`
	Pair             int           `json:"pair"`
	Order            int           `json:"order"`
	Stretch          int           `json:"stretch"`
	Start            time.Duration `json:"start_ns,omitempty"`
	Duration         time.Duration `json:"duration_ns"`
	Completed        int64         `json:"completed"`
	Failed           int64         `json:"failed"`
	Errored          int64         `json:"errored"` // of all kinds
	Ops              int64         `json:"ops"`
	ThroughputPerSec float64       `json:"throughput_per_s"`
	P50              time.Duration `json:"response_p50_ns,omitempty"`
	P99              time.Duration `json:"response_p99_ns,omitempty"`
	GeneratorCPUSec  float64       `json:"generator_cpu_s"`
	ServerCPUSec     float64       `json:"server_cpu_s,omitempty"`
	// Counted is set for a block in which events were counted; then nothing else was.
	Counted *load.Counted `json:"counted,omitempty"`
}

func (c Cell) row() row {
	r := row{Arm: c.Arm, Concurrency: c.Concurrency, Round: c.Round, Pair: c.Pair, Order: c.Order, Stretch: c.Stretch,
		Start: c.Start, P50: c.P50, P99: c.P99, Duration: c.Duration, Completed: c.Completed, Failed: c.Failed, Errored: c.ErroredTotal(), Ops: c.Ops,
		ThroughputPerSec: c.Throughput(), GeneratorCPUSec: c.GeneratorCPUSec, Counted: c.Counted}
	if c.Server != nil {
		r.ServerCPUSec = c.Server.CPUSec
	}
	return r
}

func (r row) cell() Cell {
	c := Cell{Arm: r.Arm, Round: r.Round, Pair: r.Pair, Order: r.Order, Stretch: r.Stretch,
		Start: r.Start, P50: r.P50, P99: r.P99, Result: &load.Result{
			Concurrency: r.Concurrency, Duration: r.Duration,
			Counts: load.Counts{Completed: r.Completed, Failed: r.Failed, Ops: r.Ops},
			Cost:   load.Cost{GeneratorCPUSec: r.GeneratorCPUSec, Counted: r.Counted},
		}}
	if r.Errored > 0 {
		c.Errored = map[errkind.Kind]int64{"": r.Errored}
	}
	if r.ServerCPUSec > 0 {
		c.Server = &load.Usage{CPUSec: r.ServerCPUSec}
	}
	c.ThroughputPerSec = c.Throughput()
	return c
}

// block returns the cell as it is kept in Blocks.
func (c Cell) block() Cell { return c.row().cell() }

// MarshalJSON writes one short row for each block.
func (b Blocks) MarshalJSON() ([]byte, error) {
	rows := make([]row, len(b))
	for i, c := range b {
		rows[i] = c.row()
	}
	return json.Marshal(rows)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Blocks) UnmarshalJSON(text []byte) error {
	var rows []row
	if err := json.Unmarshal(text, &rows); err != nil {
		return err
	}
	*b = nil
	for _, r := range rows {
		*b = append(*b, r.cell())
	}
	return nil
}
