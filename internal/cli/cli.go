// Package cli is the command line of contend: arguments in, report out, exit
// code. There is one file per command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"contend/internal/secret"
	"contend/report/page"
	"contend/setting"
)

// Streams are where a command writes. Reports go to Out, everything else to Err.
type Streams struct {
	Out, Err io.Writer
}

// Main runs the command that args name and returns the exit code. When ctx is
// done, a command ends cleanly with its partial result.
func Main(ctx context.Context, args []string, s Streams) int {
	secrets := secretsOf(args, os.Environ())
	if _, file := s.Err.(*os.File); !file { // a file takes each write as a whole
		s.Err = &whole{Writer: s.Err}
	}
	s.Err = hiding{s.Err, secrets}
	root := newRoot(&app{Streams: s, args: args, secrets: secrets})
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
		fmt.Fprintln(s.Err, "contend: "+errorText(exit))
	}
	return exit.code
}

// Command is contend with all its commands, for whoever writes its manual.
func Command() *cobra.Command { return newRoot(&app{Streams: Streams{io.Discard, io.Discard}}) }

// errorText puts the mistakes of a command line or a file below each other, and
// indents what follows the first line of any other error.
func errorText(exit *exitError) string {
	text := setting.Once(exit.err).Error()
	if n := strings.Count(text, "\n") + 1; n > 1 && exit.code == exitUsage {
		text = fmt.Sprintf("%d mistakes\n%s", n, text)
	}
	return strings.ReplaceAll(text, "\n", "\n  ")
}

// commands is the table of commands.
var commands = map[string]func(*app) *cobra.Command{
	"init": newInit, "run": newRun, "ab": newAB, "sweep": newSweep, "compare": newCompare, "bisect": newBisect, "calibrate": newCalibrate, "lab": newLab, "guard": newGuard,
	"pipe": newPipe, "serve": newServe, "health": newHealth, "history": newHistory, "uplink": newUplink, "report": newReport, "worker": newWorker, "fleet": newFleet, "explain": newExplain, "version": newVersion, "discard": newDiscard, "rebind": newRebind, "observe": newObserve, "bind": newBind,
}

// app is what the commands share.
type app struct {
	Streams
	args    []string // the command and its arguments, as typed
	secrets *secret.Book
	pins    pins       // of the command that runs
	crew    *crew      // that drives the load; nil: this process does
	found   bool       // that args name what contend found out of servers
	live    *page.Live // that shows what is under way; nil: nobody asked for one
	has     func(command, flag string) bool
}

// indent begins the lines of examples.
const indent = "  "

// newRoot has the one command that args begin with, or all of them where they begin
// with none: to make the flags of all takes half of a start.
func newRoot(a *app) *cobra.Command {
	s, args := a.Streams, a.args
	a.has = hasFlag
	root := &cobra.Command{
		Use:   "contend",
		Short: "Which of two servers is faster, and can you trust the number?",
		Long: "contend loads servers and answers in one sentence: which of two is faster, how many connections are\n" +
			"best, how many requests per second it sustains. Each answer has its confidence interval; an invalid\n" +
			"measurement gets a reason instead.\n\n" +
			"Exit codes:\n" +
			"  0    success (also FASTER, EQUIVALENT)\n" +
			"  1    run failed: nothing succeeded, or a server contend started died\n" +
			"  2    invalid command line or file\n" +
			"  3    an expectation failed, or SLOWER\n" +
			"  4    no answer: INVALID, INCONCLUSIVE or UNSETTLED\n" +
			"  130  interrupted; partial result printed",
		Example:       indent + "contend run http://localhost:8080/\n" + indent + "contend compare http://localhost:8080/ http://localhost:8081/",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(usageTogether)
	if len(args) > 0 && commands[args[0]] != nil {
		root.AddCommand(commands[args[0]](a))
	} else {
		for _, command := range commands {
			root.AddCommand(command(a))
		}
	}
	root.SetHelpCommand(newHelp(root))
	root.InitDefaultCompletionCmd()
	onlySubcommands(root)
	if len(args) == 0 {
		root.RunE = func(*cobra.Command, []string) error {
			_, err := io.WriteString(s.Out, first+proposed(os.DirFS(".")))
			return err
		}
	}
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			onlySubcommands(cmd)
		}
	}
	return root
}

// first is what contend prints without arguments: what to do first.
const first = `contend compare ./old ./new         which of two servers is faster, and how certain is that?
contend run ./server                how fast is a server? If it runs already, give its URL
contend sweep ./server              how many connections? With --rate: which rate is sustained?
contend lab                         do five published experiments reproduce here?
contend help                        list all commands; contend explain WORD explains a word
`

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version of contend, that of Go, and the platform",
		Example: indent + "contend version",
		Args:    arguments(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.Out, "contend %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// version is that of the build: a tag, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}

// self is the command that runs this program again.
func self() ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program to start it again: %w", err)
	}
	return []string{path}, nil
}
