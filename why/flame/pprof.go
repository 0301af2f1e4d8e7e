package flame

import (
	"fmt"
	"math"

	"github.com/google/pprof/profile"

	"contend/why"
	"contend/why/symbol"
)

// perThousand is the type of the values that variants are compared by: pprof takes whole
// numbers, and a stack may take less than a nanosecond of an operation.
const perThousand = "cpu_per_1000_ops"

// Profile returns what a variant spent CPU time on in the form of pprof: samples; CPU time in ns; and,
// shown unless another is chosen, CPU time of 1000 operations, for variants do not get the same number
// of them done in the same time. Comments have the numbers; of several levels each sample has its concurrency as a label.
func Profile(levels []why.Stacks) *profile.Profile {
	b := builder{functions: map[symbol.Frame]*profile.Function{}, locations: map[symbol.Frame]*profile.Location{}, mappings: map[string]*profile.Mapping{}}
	b.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}, {Type: perThousand, Unit: "nanoseconds"}}
	b.DefaultSampleType = perThousand
	for i := range levels {
		at := &levels[i]
		b.Comments = append(b.Comments, fmt.Sprintf("%s at concurrency %d: %d operations", symbol.Printable(at.Arm), at.Concurrency, at.Operations))
		for _, stack := range at.List {
			sample := &profile.Sample{Value: []int64{stack.Samples, int64(stack.Time), int64(math.Round(1000 * perOp(at, stack, len(levels))))}}
			if len(levels) > 1 {
				sample.NumLabel = map[string][]int64{"concurrency": {int64(at.Concurrency)}}
			}
			for _, frame := range framesOf(stack) {
				sample.Location = append(sample.Location, b.location(frame))
			}
			b.Sample = append(b.Sample, sample)
		}
	}
	return &b.Profile
}

// framesOf returns the frames of a stack, at least one.
func framesOf(stack why.Stack) []symbol.Frame {
	if len(stack.Frames) == 0 {
		return []symbol.Frame{{}}
	}
	return stack.Frames
}

// A builder has each function, location and mapping once.
type builder struct {
	profile.Profile
	functions map[symbol.Frame]*profile.Function // by frames without a line
	locations map[symbol.Frame]*profile.Location
	mappings  map[string]*profile.Mapping
}

func (b *builder) location(f symbol.Frame) *profile.Location {
	if known := b.locations[f]; known != nil {
		return known
	}
	l := &profile.Location{ID: uint64(len(b.Location) + 1), Mapping: b.mapping(f), Line: []profile.Line{{Function: b.function(f), Line: int64(f.Line)}}}
	b.Location = append(b.Location, l)
	b.locations[f] = l
	return l
}

func (b *builder) function(f symbol.Frame) *profile.Function {
	f.Line = 0
	if known := b.functions[f]; known != nil {
		return known
	}
	name, file := f.String(), f.File
	if f.InKernel() {
		file = f.Package // distinguishes it from a program's own function of that name
	}
	function := &profile.Function{ID: uint64(len(b.Function) + 1), Name: name, SystemName: name, Filename: file}
	b.Function = append(b.Function, function)
	b.functions[f] = function
	return function
}

// mapping is the file of a function, nil if it is not known: in Go the package replaces the file, and the kernel has
// no file. It says that the functions are known, so that pprof does not look for them.
func (b *builder) mapping(f symbol.Frame) *profile.Mapping {
	if f.File != "" || f.Package == "" || f.InKernel() {
		return nil
	}
	if known := b.mappings[f.Package]; known != nil {
		return known
	}
	m := &profile.Mapping{ID: uint64(len(b.Mapping) + 1), File: f.Package, HasFunctions: true}
	b.Mapping = append(b.Mapping, m)
	b.mappings[f.Package] = m
	return m
}
