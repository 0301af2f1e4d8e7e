// Package cli is the command line of contend: arguments in, report out, exit
// code. There is one file per command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Streams are where a command writes. Reports go to Out, everything else to Err.
type Streams struct {
	Out, Err io.Writer
}

// The exit codes.
const (
	exitDone         = 0   // also FASTER and EQUIVALENT
	exitFailed       = 1   // the run failed, nothing succeeded, or a subject died
	exitUsage        = 2   // the command line or a file is wrong
	exitUnmet        = 3   // an expectation failed, or the candidate is SLOWER
	exitUndecided    = 4   // INCONCLUSIVE or INVALID where a verdict was asked for
	exitInterrupted  = 130 // the partial result has been written
	exampleIndenting = "  "
)

// exitError is an error that knows its exit code. A nil Err means that all has
// been said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error { return &exitError{exitUsage, err} }

// Main runs the command that args name and returns the exit code. When ctx is
// done, a command ends cleanly with its partial result.
func Main(ctx context.Context, args []string, s Streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, err} // cobra's own complaints are about usage
	}
	if exit.err != nil {
		fmt.Fprintf(s.Err, "contend: %v\n", exit.err)
	}
	return exit.code
}

// commands is the table of commands.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newRun, newSweep, newCompare, newLab, newGuard, newPipe, newServe, newReport, newDiscard,
	}
}

// app is what the commands share.
type app struct {
	Streams
}

func newRoot(s Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "contend",
		Short: "Which concurrency design holds up under load, and does it matter?",
		Long: "contend drives load, hosts services with interchangeable concurrency designs, compares them in\n" +
			"interleaved repeated trials, and says when a figure must not be believed.",
		Example:       exampleIndenting + "contend lab\n" + exampleIndenting + "contend run -c 50 -d 10s http://localhost:8080/status",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usage(unknownCommand(cmd, args[0]))
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	a := &app{s}
	for _, command := range commands() {
		root.AddCommand(command(a))
	}
	return root
}

func unknownCommand(root *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q", name)
	if near := root.SuggestionsFor(name); len(near) > 0 {
		text += fmt.Sprintf(": did you mean %q?", near[0])
	}
	return errors.New(text + " (contend --help lists the commands)")
}

// version is that of the build: the module's, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v == "(devel)" && len(s.Value) >= 12 {
			v = s.Value[:12]
		}
	}
	return v
}

// self is the command that runs this program again.
func self() ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program to start it again: %w", err)
	}
	return []string{path}, nil
}
