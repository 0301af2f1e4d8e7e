package trial

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/subject"
	"contend/why"
	"contend/why/symbol"
)

// Where threads wait is found without frame pointers: the register of the stack is enough.
func TestWhereThreadsWait(t *testing.T) {
	cc := testenv.Program(t, "cc")
	want := []string{"pause_long", "take"}
	if runtime.GOARCH != "amd64" {
		want = []string{""}
	}
	for flags, want := range map[string][]string{"-O2": want, "-O2 -fno-omit-frame-pointer": want, "-O0": want, "-O2 -static": want, "-O2 -s": {""}} {
		t.Run(flags, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "wait")
			args := append(strings.Fields(flags), "-pthread", "-o", program, "testdata/wait.c")
			if out, err := exec.CommandContext(t.Context(), cc, args...).CombinedOutput(); err != nil {
				t.Fatalf("%s %q: %v\n%s", cc, args, err, out)
			}
			s, err := subject.Start(t.Context(), subject.Config{Name: "wait", Command: []string{program}, Ready: subject.Ready{Log: "^waiting"}})
			testenv.Must(t, err)
			defer func() { testenv.Must(t, s.Stop(t.Context())) }()
			testenv.Eventually(t, "two threads wait in their functions", func() bool { return slices.Equal(waitingIn(t, s), want) })
		})
	}
}

// waitingIn are the functions of a program's own in which threads wait, in order.
func waitingIn(t *testing.T, s *subject.Subject) (names []string) {
	t.Helper()
	_, err := s.Sample()
	testenv.Must(t, err)
	stop := watchBlocked(s, new(symbol.Resolver))
	time.Sleep(2 * lookEvery)
	var p why.Profile
	for _, b := range stop() {
		p.AddBlocked("", b.Frames, time.Second, nil)
	}
	for _, b := range p.Blocked {
		names = append(names, b.Function)
	}
	slices.Sort(names)
	return names
}
