package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"contend/internal/testenv"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary plays contend, which starts itself again as a server.
func TestMain(m *testing.M) {
	probeLimit = 10 * time.Second // on a starved machine a look takes longer than one
	limitTakes = window
	os.Setenv("GORACE", goRace)
	os.Unsetenv("COLUMNS")                                                   // pages of tests are as wide as any
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} { // names that nobody knows stay unknown
		os.Unsetenv(name)
		os.Unsetenv(strings.ToLower(name))
	}
	flag.Set("test.parallel", "16") // these tests wait for processes more than they compute
	plays := map[string]func(){"contend": contend, "burn": burn, "published": published, "refused": refused}
	if plays[strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")] == nil && len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		contend() // a process of the contend that a test plays here, such as rebind; it would run all tests again
	}
	testscript.Main(withSubject{m}, plays)
}

// withSubject builds testdata/subject where testscript has contend, and removes it with that: hundreds of servers start in a
// quarter of the time that this binary takes.
type withSubject struct{ *testing.M }

func (m withSubject) Run() int {
	contend, err := exec.LookPath("contend")
	if err == nil {
		build := exec.Command("go", "build", "-ldflags=-w", "-o", filepath.Dir(contend)+string(filepath.Separator), "./testdata/subject")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "subject:", err)
		return 1
	}
	return m.M.Run()
}

// goRace spares each process of a race build its second of sleep at the end.
const goRace = "atexit_sleep_ms=10"

// contend is cmd/contend.
func contend() {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore)
	os.Exit(Main(ctx, os.Args[1:], Streams{Out: os.Stdout, Err: os.Stderr}))
}

// burn keeps a core busy, at most for the given time.
func burn() {
	limit, err := time.ParseDuration(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for end := time.Now().Add(limit); time.Now().Before(end); {
	}
}

// refused becomes a program to which seccomp(2) is refused.
func refused() {
	fmt.Fprintln(os.Stderr, testenv.Refused(seccompCall, os.Args[1:]))
	os.Exit(1)
}
