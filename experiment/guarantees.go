package experiment

import (
	"context"
	"maps"
	"slices"

	"contend/internal/unit"
	"contend/pipeline"
	"contend/protocol/pipe"
	"contend/report"
)

// guarantees says what each pipeline of the experiment keeps.
func (r *runner) guarantees(context.Context) ([]report.Analysis, error) {
	rungs := map[string]bool{}
	for _, p := range r.Parts {
		for _, arm := range p.Arms {
			if c, err := pipe.Parse(arm.Target.URL()); err == nil {
				rungs[c.Rung] = true
			}
		}
	}
	a := report.Analysis{Name: "guarantees", Title: "What each design guarantees",
		Columns:  []string{"design", "order", "producers", "consumers", "an item can stay unpublished"},
		Sentence: []string{"Every design is bounded and loses and duplicates nothing; each item's arrival and order was checked in the measured runs."}}
	for _, name := range slices.Sorted(maps.Keys(rungs)) {
		d, err := pipeline.Lookup(name)
		if err != nil {
			return nil, err
		}
		a.Rows = append(a.Rows, []string{d.Name, string(d.Order), unit.Count(d.MaxProducers),
			unit.Count(d.MaxConsumers), d.Unpublished})
	}
	return []report.Analysis{a}, nil
}
