package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"contend/metric"
	"contend/report"
)

// The columns of a published table that are no metrics.
const (
	armColumn = "arm"
	vusColumn = "vus"
)

// notPublished marks a cell without a figure.
const notPublished = "~"

// figures reads one row of a valid table.
func (p Published) figures(row []string) []report.PublishedFigure {
	var list []report.PublishedFigure
	vus, _ := strconv.Atoi(p.cell(row, vusColumn))
	for i, column := range p.Columns {
		if column == armColumn || column == vusColumn || row[i] == notPublished {
			continue
		}
		theirs, _ := publishedValue(metric.Name(column), row[i])
		list = append(list, report.PublishedFigure{
			Arm: p.cell(row, armColumn), Concurrency: vus, Metric: metric.Name(column), Theirs: theirs,
		})
	}
	return list
}

// cell returns the row's text in a column, "" without such a column.
func (p Published) cell(row []string, column string) string {
	if i := slices.Index(p.Columns, column); i >= 0 && i < len(row) {
		return row[i]
	}
	return ""
}

// number returns the row's figure in a column.
func (p Published) number(row []string, column metric.Name) (float64, bool) {
	text := p.cell(row, string(column))
	if text == "" || text == notPublished {
		return 0, false
	}
	value, err := publishedValue(column, text)
	return value, err == nil
}

// publishedValue reads a number, or a duration where the metric is a time.
func publishedValue(m metric.Name, text string) (float64, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
		return n, nil
	}
	if m.Kind().Unit() == "ns" {
		if d, err := time.ParseDuration(text); err == nil {
			return float64(d), nil
		}
		return 0, fmt.Errorf("%q is neither a number nor a duration such as 719.94µs", text)
	}
	return 0, fmt.Errorf("%q is not a number", text)
}
