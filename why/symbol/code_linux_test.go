package symbol

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// The code of a function is the same in two builds unless it was changed itself, wherever it and what it uses lie.
func TestCode(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("instructions of x86-64 alone are read")
	}
	for _, common := range [][]string{{"-O0"}, {"-O2", "-fno-inline", "-fno-toplevel-reorder"}, {"-O1", "-no-pie", "-fno-inline", "-fno-toplevel-reorder"}} {
		codes := func(flags ...string) map[string]Code {
			c := start(t, exec.Command(native(t, "code.c", append(flags, common...)...)))
			codes := map[string]Code{}
			for name, f := range c.frames() {
				if codes[name] = f.Code; f.Code.Digest == 0 {
					t.Errorf("%v: the code of %s is not known", flags, name)
				}
			}
			return codes
		}
		before := codes()
		for define, changed := range map[string]string{"": "", "-DEARLIER": "", "-DCONSTANT": "edited", "-DCALLED": "calls"} {
			for name, now := range codes(strings.Fields(define + " -g")...) {
				if same := now.Digest == before[name].Digest; same == (name == changed) {
					t.Errorf("%v %s: the code of %s is the same: %v", common, define, name, same)
				}
				if define == "-DEARLIER" && now.At == before[name].At {
					t.Errorf("%v: %s has not moved", common, name)
				}
			}
		}
		if first, second := before["first"], before["second"]; first.Digest == second.Digest {
			t.Error("functions that differ by a constant have the same code")
		}
	}
}
