package pprof

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"contend/why/symbol"
)

// packed is a profile as programs write it.
func packed(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ofCPU is 30 ms in main.step, which was put into main.handle, and 10 ms nowhere, of a second.
func ofCPU() *profile.Profile {
	step, handle := &profile.Function{ID: 1, Name: "main.step", Filename: "main.go"}, &profile.Function{ID: 2, Name: "main.handle\x1b", Filename: "main.go"}
	at := &profile.Location{ID: 1, Line: []profile.Line{{Function: step, Line: 3}, {Function: handle, Line: 7}}}
	nowhere := &profile.Location{ID: 2}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Function:   []*profile.Function{step, handle}, Location: []*profile.Location{at, nowhere}, DurationNanos: 1e9,
		Sample: []*profile.Sample{{Location: []*profile.Location{at}, Value: []int64{3, 30e6}}, {Location: []*profile.Location{nowhere}, Value: []int64{1, 10e6}}},
	}
}

func TestReadCPU(t *testing.T) {
	cpu, err := ReadCPU(packed(t, ofCPU()))
	if err != nil || cpu.Length != time.Second || cpu.Time != 40*time.Millisecond || len(cpu.Stacks) != 2 {
		t.Fatalf("%+v, %v", cpu, err)
	}
	first := cpu.Stacks[0]
	if first.Samples != 3 || len(first.Frames) != 2 || first.Frames[0] != (symbol.Frame{Function: "main.step", Package: "main", File: "main.go", Line: 3}) ||
		strings.Contains(first.Frames[1].Function, "\x1b") {
		t.Errorf("%+v", first)
	}
}

func TestReadCPURefuses(t *testing.T) {
	heap := ofCPU()
	heap.SampleType[1].Type = "inuse_space"
	whole := packed(t, ofCPU())
	for name, body := range map[string][]byte{
		"nothing": nil, "HTML": []byte("<html>"), "half of one": whole[:len(whole)/2], "a profile of memory": packed(t, heap),
	} {
		if cpu, err := ReadCPU(body); err == nil || cpu != nil {
			t.Errorf("%s: %+v, %v", name, cpu, err)
		}
	}
}

// Whatever comes is read to an end, within bounds.
func FuzzReadCPU(f *testing.F) {
	f.Add(plain(f, packed(f, ofCPU())))
	f.Fuzz(func(t *testing.T, body []byte) {
		body = zipped(t, body)
		bounded(t, func() {
			if cpu, err := ReadCPU(body); (cpu == nil) == (err == nil) {
				t.Fatalf("%+v, %v", cpu, err)
			}
		})
	})
}

func TestProfile(t *testing.T) {
	body, err := program(t).Profile(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if cpu, err := ReadCPU(body); err != nil || cpu.Length < time.Second/2 { // less than the second by how late its writer began
		t.Errorf("%+v, %v", cpu, err)
	}
}
