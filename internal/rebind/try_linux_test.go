package rebind

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"contend/internal/testenv"
)

// The programs of these tests are this test binary.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		os.Exit(m.Run())
	}
	var err error
	switch args := os.Args[2:]; os.Args[1] {
	case "rebind":
		err = Exec(args, false)
	case "observe":
		err = Exec(args, true)
	case "refused":
		err = testenv.Refused(unix.SYS_SECCOMP, append([]string{os.Args[0], "rebind"}, args...))
	case "held":
		err = testenv.Refused(unix.SYS_PIDFD_GETFD, []string{os.Args[0], "try"})
	case "try":
		err = Try([]string{os.Args[0], "rebind"}, []string{os.Args[0], "bind"})
	case "bind":
		err = Bind(os.Stdout, args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "program:", err)
		os.Exit(1)
	}
}

func TestTry(t *testing.T) {
	if err := testenv.CanRefuse(); err != nil {
		testenv.Hardware(t, err)
	}
	self := os.Args[0]
	for _, tt := range []struct {
		command, binder []string
		want            string // in the error
	}{
		{[]string{self, "rebind"}, []string{self, "bind"}, ""},
		{[]string{self, "refused"}, []string{self, "bind"}, "this system does not let a program be asked about its binds (seccomp): operation not permitted"},
		{[]string{self, "rebind"}, []string{"no-such-program"}, "no-such-program"},
		{[]string{"no-such-program"}, []string{self, "bind"}, "no-such-program"},
		{[]string{self, "bind"}, []string{self, "bind"}, "listen tcp"},
		// The sockets of others cannot be had.
		{[]string{self, "held"}, nil, "a bind at 127.0.0.1:"},
	} {
		err := Try(tt.command, tt.binder)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%v %v: %v, want %q", tt.command, tt.binder, err, tt.want)
		}
	}
}
