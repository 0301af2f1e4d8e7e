//go:build unix

package subject

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
)

// guardianScript reads two lines: the session to watch over, and a word of
// dismissal; its arguments are, of a container, the file with its id, and the client's words
// before kill. The end of the input in place of the second means that we died; in
// place of the first, that there is nothing to watch over.
// Field 4 after the last parenthesis of /proc/PID/stat is the session; kill -9
// with a negative number is the one spelling that all shells take for a group.
const guardianScript = `trap '' HUP INT TERM
read -r session || exit 0
read -r dismissed && exit 0
kill -9 "-$session"
[ -s "$1" ] && id=$(cat "$1") && shift && "$@" kill "$id"
for stat in /proc/[0-9]*/stat; do
	read -r line <"$stat" || continue
	pid=${line%% *}
	set -- ${line##*) }
	[ "$4" = "$session" ] && kill -9 "$pid"
done`

// A guardian is a shell that kills a session when this process is gone. The
// nil guardian guards nothing.
type guardian struct {
	cmd      *exec.Cmd
	pipe     *os.File
	watching bool
}

// newGuardian starts one, of the container, too, if there is one.
func newGuardian(c *container) (*guardian, error) {
	r, w, err := os.Pipe() // both close-on-exec: no other child holds w open
	if err != nil {
		return nil, fmt.Errorf("guardian: %w", err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", guardianScript, "guardian")
	cmd.Env = []string{}
	cmd.Dir = "/"
	if c != nil {
		cmd.Args = slices.Concat(cmd.Args, []string{c.cidfile, c.client.Path}, c.before)
		cmd.Env, cmd.Dir = c.client.Env, c.client.Dir
	}
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("guardian: %w", err)
	}
	return &guardian{cmd: cmd, pipe: w}, nil
}

// watch names the session to watch over, once.
func (g *guardian) watch(session int) error {
	if g == nil {
		return nil
	}
	g.watching = true
	_, err := g.pipe.WriteString(strconv.Itoa(session) + "\n")
	return err
}

// dismiss ends the guardian, whose session is gone or never began.
func (g *guardian) dismiss() {
	if g == nil {
		return
	}
	if g.watching {
		g.pipe.WriteString("dismissed\n")
	}
	g.pipe.Close()
	g.cmd.Wait()
}
