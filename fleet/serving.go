package fleet

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"contend/failure"
	"contend/internal/perf"
	"contend/internal/placement"
	"contend/subject"
	"contend/trial"
	"contend/why"
	"contend/why/symbol"
)

// servingPrefix and the ID of a worker are where it is called about the servers that it starts.
const servingPrefix = "contend.serving."

// A call is about a server that a worker starts for a coordinator. It is made again until it is answered, and is
// done once for each number.
type call struct {
	From   string `json:"from"`
	Server string `json:"server"` // this start of it
	// Number counts the server's calls from 1; 0 is a sign of life of the coordinator, and asks for
	// one of the server.
	Number int           `json:"number,omitempty"`
	Start  *starting     `json:"start,omitempty"`
	Do     deed          `json:"do,omitempty"`
	At     time.Duration `json:"at_ns,omitempty"` // of clocks: by the worker's clock; 0: now
	Events []perf.Event  `json:"events,omitempty"`
}

// A starting is all that a coordinator has to say about the start of a server.
type starting struct {
	Name    string       `json:"name"`
	Padding int          `json:"padding_bytes,omitempty"`
	CPUs    []int        `json:"cpus,omitempty"`
	Counted []perf.Event `json:"counted,omitempty"`
	// Placement, if not empty, has the worker, which also drives, and the server get CPUs of their own, so
	// many for the worker at least.
	Placement placement.Kind `json:"placement,omitempty"`
	Generator int            `json:"generator_cpus,omitempty"`
}

// Bounds of what a coordinator can have a worker do.
const (
	mostPadding = 1 << 16
	mostCPU     = 1 << 16
	mostEvents  = 16
)

// setup is what the server is started with, or what is wrong with it.
func (s *starting) setup() (trial.Setup, error) {
	switch {
	case s.Padding < 0 || s.Padding > mostPadding:
		return trial.Setup{}, fmt.Errorf("a padding of %d bytes; expected 0 to %d", s.Padding, mostPadding)
	case s.Generator < 0 || s.Generator > mostCPU || !slices.Contains([]placement.Kind{"", placement.Auto, placement.Apart, placement.Shared}, s.Placement):
		return trial.Setup{}, fmt.Errorf("%d CPUs for the load generator, placed %q; expected 0 to %d, and auto, apart, shared", s.Generator, s.Placement, mostCPU)
	case len(s.Counted) > mostEvents:
		return trial.Setup{}, fmt.Errorf("%d events to count; expected at most %d", len(s.Counted), mostEvents)
	}
	if i := slices.IndexFunc(s.CPUs, func(cpu int) bool { return cpu < 0 || cpu >= mostCPU }); i >= 0 || len(s.CPUs) > mostCPU {
		return trial.Setup{}, fmt.Errorf("CPUs that no machine has; expected 0 to %d", mostCPU-1)
	}
	return trial.Setup{Padding: s.Padding, CPUs: s.CPUs, Counted: s.Counted}, nil
}

// A deed is what a server that lives is asked for.
type deed string

const (
	doSample       deed = "sample"
	doClocks       deed = "clocks"
	doWatch        deed = "watch"
	doWatched      deed = "watched"
	doCounters     deed = "counters"
	doCount        deed = "count"
	doCounted      deed = "counted"
	doUncount      deed = "close counters"
	doProfiler     deed = "profiler"
	doProfile      deed = "profile"
	doProfiled     deed = "profiled"
	doCloseProfile deed = "close profiler"
	doStop         deed = "stop"
)

// An response is what a call has come to.
type response struct {
	Failure *refusal          `json:"failure,omitempty"`
	Ended   bool              `json:"ended,omitempty"` // the server exited on its own
	Addrs   map[string]string `json:"addrs,omitempty"`
	Layout  *placement.Layout `json:"layout,omitempty"` // of a start that has a Placement
	Sample  subject.Sample    `json:"sample,omitzero"`
	Waits   trial.Waits       `json:"waits,omitzero"`
	Counts  perf.Counts       `json:"counts,omitempty"`
	Samples []byte            `json:"samples,omitempty"` // packed
}

// A refusal is an error with the properties that its reader checks.
type refusal struct {
	Text        string                 `json:"text"`
	Values      *failure.Failure       `json:"values,omitempty"`      // of a server that could not be measured
	Ended       bool                   `json:"ended,omitempty"`       // os.ErrProcessDone
	Unsupported bool                   `json:"unsupported,omitempty"` // errors.ErrUnsupported
	Unavailable *perf.UnavailableError `json:"unavailable,omitempty"`
}

func failed(err error) response {
	f := &refusal{Text: err.Error(), Ended: errors.Is(err, os.ErrProcessDone), Unsupported: errors.Is(err, errors.ErrUnsupported)}
	f.Unavailable, _ = errors.AsType[*perf.UnavailableError](err)
	if values, ok := failure.Of(err); ok {
		f.Values = &values
	}
	return response{Failure: f}
}

// Error is that of the worker.
func (f *refusal) Error() string { return f.Text }

// Facts are those of package failure.
func (f *refusal) Facts() failure.Failure {
	if f.Values == nil {
		return failure.Failure{}
	}
	return *f.Values
}

// Is and As make it the errors that it was.
func (f *refusal) Is(target error) bool {
	return f.Ended && target == os.ErrProcessDone || f.Unsupported && target == errors.ErrUnsupported
}

// As is for errors.As.
func (f *refusal) As(target any) bool {
	if at, ok := target.(**perf.UnavailableError); ok && f.Unavailable != nil {
		*at = f.Unavailable
		return true
	}
	return false
}

// named are samples with each frame once.
type named struct {
	Period        time.Duration  `json:"period_ns"`
	Lost          int64          `json:"lost,omitempty"`
	KernelMissing string         `json:"kernel_missing,omitempty"`
	Frames        []symbol.Frame `json:"frames"`
	Stacks        []place        `json:"stacks"`
}

type place struct {
	Frames  []int `json:"f"`
	Samples int64 `json:"n"`
}

// mostSamples bounds what a worker can make a coordinator unpack.
const mostSamples = 64 << 20

// packSamples packs samples: 5000 stacks of 40 frames take about 100 kB.
func packSamples(s *why.Samples) []byte {
	n := named{Period: s.Period, Lost: s.Lost, KernelMissing: s.KernelMissing}
	index := map[symbol.Frame]int{}
	for _, stack := range s.Stacks {
		p := place{Samples: stack.Samples}
		for _, f := range stack.Frames {
			i, known := index[f]
			if !known {
				i = len(n.Frames)
				index[f], n.Frames = i, append(n.Frames, f)
			}
			p.Frames = append(p.Frames, i)
		}
		n.Stacks = append(n.Stacks, p)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(encode(n)) // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

// unpackSamples is the reverse of packSamples.
func unpackSamples(packed []byte) (*why.Samples, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, mostSamples))
	var n named
	if err = errors.Join(err, json.Unmarshal(text, &n)); err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	s := &why.Samples{Period: n.Period, Lost: n.Lost, KernelMissing: n.KernelMissing}
	for _, p := range n.Stacks {
		stack := why.Stack{Samples: p.Samples}
		for _, i := range p.Frames {
			if i < 0 || i >= len(n.Frames) {
				return nil, fmt.Errorf("samples: there is no frame %d of %d", i, len(n.Frames))
			}
			stack.Frames = append(stack.Frames, n.Frames[i])
		}
		s.Stacks = append(s.Stacks, stack)
	}
	return s, nil
}
