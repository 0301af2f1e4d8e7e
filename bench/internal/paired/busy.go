package paired

import (
	"io"
	"os"
	"os/exec"
)

// spinCommand makes a benchmark a program that keeps a processor busy.
const spinCommand = "spin"

// Spin does nothing, except in a program that KeepBusy started: there it keeps a processor busy, and does not return,
// until its standard input ends, as it does with the benchmark. It comes first in main.
func Spin() {
	if len(os.Args) != 2 || os.Args[1] != spinCommand {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for n := 1; n != 0; n |= 1 { // never 0
	}
}

// KeepBusy starts so many programs that each keep a processor busy until stop, which waits for their end; the benchmark calls Spin.
func KeepBusy(programs int) (stop func(), err error) {
	input, ends, err := os.Pipe() // of all of them
	if err != nil {
		return nil, err
	}
	defer input.Close()
	var started []*exec.Cmd
	stop = func() {
		_ = ends.Close()
		for _, p := range started {
			_ = p.Wait()
		}
	}
	for range programs {
		p := exec.Command(os.Args[0], spinCommand)
		p.Stdin = input
		if err := p.Start(); err != nil {
			stop()
			return nil, err
		}
		started = append(started, p)
	}
	return stop, nil
}
