package why

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/internal/perf"
	"contend/internal/testenv"
	"contend/why/symbol"
)

// A program in C shows as much as it was compiled to: its functions and their callers, its
// functions, or nothing; never a wrong name, and never a name that does more than be printed.
func TestNativePrograms(t *testing.T) {
	const (
		red     = "\x1b[31m"
		pointer = "-fno-omit-frame-pointer "
	)
	cc, objcopy := testenv.Program(t, "cc"), testenv.Program(t, "objcopy")
	callers, frameless := []string{"outer", "main"}, []string(nil)
	if runtime.GOARCH == "amd64" { // where files say where the callers of functions without a frame are
		callers = append(callers, "relay")
		frameless = callers
	}
	for _, tt := range []struct {
		flags    string // of the compiler
		change   string // of the symbols
		file     string
		function string   // in which it spends its CPU time
		callers  []string // of that function
	}{
		{pointer, "", "spin", "burn", callers},
		{pointer + "-no-pie", "", "spin", "burn", callers},
		{pointer + "-static", "", "spin", "burn", callers},
		{pointer + "-static-pie", "", "spin", "burn", callers},
		{"-fomit-frame-pointer", "", "spin", "burn", frameless},
		{"-s", "", "spin", "[unknown] in spin", nil},
		{"-s -static", "", "spin", "[unknown] in spin", nil},
		{pointer, "--redefine-sym=burn=" + red + "burn", "spin", "�[31mburn", callers},
		{"-s", "", red + "spin", "[unknown] in �[31mspin", nil},
	} {
		t.Run(tt.flags+" "+strings.TrimPrefix(tt.change, "--"), func(t *testing.T) {
			program := filepath.Join(t.TempDir(), tt.file)
			run(t, cc, append(strings.Fields("-O2 "+tt.flags), "-o", program, "testdata/spin.c")...)
			if tt.change != "" {
				run(t, objcopy, tt.change, program)
			}
			p := spun(t, program)
			ran, called, own := map[string]time.Duration{}, map[string]time.Duration{}, time.Duration(0)
			for _, s := range p.Stacks {
				frames := slices.DeleteFunc(slices.Clone(s.Frames), symbol.Frame.InKernel) // interrupts
				if len(frames) == 0 {
					continue
				}
				own += s.Time
				ran[frames[0].String()] += s.Time
				for name := range once(frames, symbol.Frame.String) {
					called[name] += s.Time
				}
			}
			most := own * 9 / 10 // writing takes the rest
			if ran[tt.function] < most {
				t.Errorf("%s ran for %v of %v: %v", tt.function, ran[tt.function], own, ran)
			}
			for _, caller := range tt.callers {
				if called[caller] < most {
					t.Errorf("%s had called for %v of %v: %v", caller, called[caller], own, called)
				}
			}
			for name, spent := range called {
				if name != tt.function && !slices.Contains(callers, name) && !strings.HasPrefix(name, "[unknown]") && !strings.HasPrefix(name, "__libc_start") && spent > own-most {
					t.Errorf("%s had %v of %v, which it did not", name, spent, own)
				}
			}
		})
	}
}

// What the C library does belongs to the function that called it, however the program was compiled.
func TestCallersOfALibrary(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("callers in libraries are found on x86-64 alone")
	}
	cc := testenv.Program(t, "cc")
	for _, flags := range []string{"-fomit-frame-pointer", "-fno-omit-frame-pointer", "-fomit-frame-pointer -static"} {
		t.Run(flags, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "format")
			run(t, cc, append(strings.Fields("-O2 "+flags), "-o", program, "testdata/format.c")...)
			p := spun(t, program)
			called, own := map[string]time.Duration{}, time.Duration(0)
			for _, s := range p.Stacks {
				names := once(s.Frames, symbol.Frame.String)
				if slices.ContainsFunc(s.Frames, symbol.Frame.InKernel) || !names["format"] && !names["sort"] && !names["serve"] {
					continue
				}
				own += s.Time
				for name := range names {
					called[name] += s.Time
				}
			}
			most := own * 95 / 100
			if both := called["format"] + called["sort"]; both < most || called["sort"] < own/10 || called["serve"] < most || called["main"] < most || called["descending"] == 0 || own < time.Second/2 {
				t.Errorf("of %v %v in format and sort, %v below serve, %v below main: %v", own, both, called["serve"], called["main"], called)
			}
		})
	}
}

// Where the register of frames is used for something else, nobody is named who did not call.
func TestWhatLooksLikeAFrame(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is in assembly of x86-64")
	}
	program := filepath.Join(t.TempDir(), "lost")
	run(t, testenv.Program(t, "cc"), "-O2", "-fomit-frame-pointer", "-mno-red-zone", "-o", program, "testdata/lost.c")
	burnt := false
	for _, s := range spun(t, program).Stacks {
		for _, f := range s.Frames {
			burnt = burnt || f.Function == "burn"
			if f.Function == "never" {
				t.Fatalf("never in %v", s.Frames)
			}
		}
	}
	if !burnt {
		t.Error("burn was not seen")
	}
}

func run(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
}

// spun is the profile of a program that works once for each byte of its input, and says so, at its work.
func spun(t *testing.T, program string) Profile {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = input.Close()
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(output)
	if !lines.Scan() {
		t.Fatalf("%q says nothing", program)
	}
	s, err := perf.Sample(func() ([]int, error) { return []int{cmd.Process.Pid}, nil })
	if err != nil {
		testenv.Missing(t, err)
	}
	defer s.Close()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := input.Write([]byte("\n")); err != nil || !lines.Scan() {
		t.Fatalf("%q does nothing: %v", program, err)
	}
	samples, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	const cpu = time.Second // whatever it was: shares are looked at
	return NewProfile(Resolve(samples, new(symbol.Resolver)), time.Duration(samples.Count())*samples.Period, cpu, 1, nil)
}
