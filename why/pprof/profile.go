package pprof

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"contend/why/symbol"
)

// Profile returns a CPU profile of so many whole seconds, which begins at once.
func (s *Server) Profile(ctx context.Context, seconds int) ([]byte, error) {
	return s.get(ctx, "profile?seconds="+strconv.Itoa(seconds), time.Duration(seconds)*time.Second+tellWithin)
}

// A profile beyond these is invented, and its sums may be beyond what a number holds.
const (
	longest        = time.Hour
	mostProcessors = 10_000
)

// A CPU is where a program spent CPU time.
type CPU struct {
	Length time.Duration
	Time   time.Duration
	Stacks []Stack
}

// A Stack is where a program was in some samples, from the function that ran to its outermost caller.
type Stack struct {
	Frames  []symbol.Frame
	Samples int64
}

// ReadCPU reads a CPU profile.
func ReadCPU(body []byte) (cpu *CPU, err error) {
	defer broken("the CPU profile", &err)
	p, err := parse(body)
	if err != nil {
		return nil, fmt.Errorf("the CPU profile is broken: %w", err)
	}
	samples, spent := valueOf(p, "samples"), valueOf(p, "cpu")
	if samples < 0 || spent < 0 || p.SampleType[spent].Unit != "nanoseconds" || p.DurationNanos <= 0 {
		return nil, errors.New("it is no CPU profile of a program in Go")
	}
	its, named := &CPU{Length: time.Duration(p.DurationNanos)}, naming{}
	if its.Length > longest {
		return nil, fmt.Errorf("the CPU profile is of more than %v", longest)
	}
	for _, s := range p.Sample {
		if s.Value[samples] <= 0 || s.Value[spent] <= 0 {
			continue
		}
		if its.Time += time.Duration(min(s.Value[spent], int64(longest)*mostProcessors)); its.Time > its.Length*mostProcessors {
			return nil, fmt.Errorf("the CPU profile has the time of more than %d processors", mostProcessors)
		}
		its.Stacks = append(its.Stacks, Stack{named.frames(s.Location), min(s.Value[samples], s.Value[spent])}) // each sample has some time
	}
	return its, nil
}

// broken makes an error of a panic: what reads profiles is made for those that programs have written.
func broken(what string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s is broken: %v", what, p)
	}
}

// valueOf is where samples have a type of values; negative: nowhere.
func valueOf(p *profile.Profile, name string) int {
	return slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == name })
}

// parse unpacks a profile within bounds: a small answer could become huge.
func parse(body []byte) (*profile.Profile, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(unpacked, mostBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(plain) > mostBytes:
		return nil, fmt.Errorf("it has more than %d MiB", mostBytes>>20)
	}
	if plain, err = pared(plain); err != nil {
		return nil, err
	}
	p, err := profile.ParseUncompressed(plain)
	if err != nil {
		return nil, err
	}
	if err = p.CheckValid(); err != nil {
		return nil, err
	}
	return p, tooLarge(p)
}

// A naming has the frame of each function once, without a line: reading a name is work.
type naming map[*profile.Function]symbol.Frame

func (n naming) frames(locations []*profile.Location) []symbol.Frame {
	var frames []symbol.Frame
	for _, l := range locations {
		if len(l.Line) == 0 {
			frames = append(frames, symbol.Frame{})
		}
		for _, line := range l.Line {
			frames = append(frames, n.frame(line))
		}
	}
	return frames
}

func (n naming) frame(line profile.Line) symbol.Frame {
	f, known := n[line.Function]
	if !known {
		f = symbol.GoFrame(line.Function.Name, line.Function.Filename, 0)
		n[line.Function] = f
	}
	f.Line = int(max(0, line.Line))
	return f
}
