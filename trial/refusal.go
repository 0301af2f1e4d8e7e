package trial

import (
	"cmp"
	"strings"

	"contend/finding"
	"contend/metric"
)

// Refusal returns why the cell must not be believed: what would refuse a
// verdict about its throughput or, if nothing does, about its times. nil: it may.
func (c Cell) Refusal() *finding.Warning {
	found := cmp.Or(refuse(c, metric.Throughput), refuse(c, "response_p99_ns"))
	if found == nil {
		return nil
	}
	return &finding.Warning{Code: found.Code, Text: strings.TrimPrefix(found.Text, c.Arm+": ")}
}
