package pipe

import (
	"fmt"
	"os"
	"os/exec"
	"time"
)

// exitGrace is how long the discarding process may take to end after its input
// has ended.
const exitGrace = 2 * time.Second

// paper is what is printed on: a pipe to a process that reads and discards. It
// dies with us whatever happens, because its input then ends. A nil paper is no
// printing.
type paper struct {
	to      *os.File
	process *exec.Cmd
}

func startDiscarding(command []string) (*paper, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: print: %w", err)
	}
	defer from.Close()
	process := exec.Command(command[0], command[1:]...)
	process.Stdin = from
	isolate(process)
	if err := process.Start(); err != nil {
		to.Close()
		return nil, fmt.Errorf("pipe: print: %w", err)
	}
	return &paper{to: to, process: process}, nil
}

// interrupt makes a write that waits, and those to come, fail at once.
func (p *paper) interrupt() {
	if p != nil {
		_ = p.to.SetWriteDeadline(time.Unix(1, 0))
	}
}

// resume ends an interruption.
func (p *paper) resume() {
	if p != nil {
		_ = p.to.SetWriteDeadline(time.Time{})
	}
}

func (p *paper) close() error {
	closed := p.to.Close()
	kill := time.AfterFunc(exitGrace, func() { _ = p.process.Process.Kill() })
	defer kill.Stop()
	if err := p.process.Wait(); err != nil {
		return fmt.Errorf("pipe: print: %s: %w", p.process.Path, err)
	}
	return closed
}
