package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"contend/experiment"
	"contend/internal/lazyregexp"
	"contend/protocol"
	"contend/report"
	"contend/setting"
	"contend/trial"
)

// defaultExperimentFile is where init leaves its file.
const defaultExperimentFile = "contend.yaml"

func newInit(a *app) *cobra.Command {
	n := &initFlags{}
	cmd := &cobra.Command{
		Use:   "init [A B...]",
		Short: "Write an experiment file for your own servers",
		Long: "Write a commented experiment file for contend lab. Arguments and flags are the same as for contend\n" +
			"compare: URLs, or programs and commands. Without --url it starts these once to see what they\n" +
			"serve. On a terminal, without arguments, it asks for them. It never overwrites a file.",
		Example: indent + "contend init\n" +
			indent + "contend init http://localhost:8081/ http://localhost:8082/\n" +
			indent + "contend init --url http://{{addr}}/ -o orders.yaml -- './old -listen {{addr}}' './new -listen {{addr}}'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil // there may be a terminal
			}
			return n.enough(cmd, args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !inputTerminal(cmd) {
				return n.enough(cmd, args)
			}
			mistakes := errors.Join(n.own.read(), n.canWrite())
			if mistakes == nil && len(args) == 0 {
				var err error
				if args, err = n.ask(newAsking(cmd.Context(), cmd.InOrStdin(), a.Err)); err != nil {
					return err
				}
			}
			args = n.withoutScript(cmd, args)
			if discovers, err := n.discovers(cmd, args); err != nil || discovers && mistakes != nil {
				return usage(errors.Join(mistakes, err))
			} else if discovers {
				if args, err = a.discoverAll(cmd, &n.compareFlags, args); err != nil {
					return err
				}
			}
			return a.writeExperiment(n, args, mistakes)
		},
	}
	cmd.SetUsageFunc(usageInGroups)
	n.given = settingFlags(cmd, comparing())
	n.spec.flags(cmd)
	n.own = optionsOf(cmd, &n.servedOptions, &n.initOptions)
	return cmd
}

type initFlags struct {
	compareFlags
	initOptions
}

type initOptions struct {
	File string `flag:"output,o" words:"*file* to write (contend.yaml)"`
}

// enough allows arms to compare.
func (n *initFlags) enough(cmd *cobra.Command, args []string) error {
	args = n.withoutScript(cmd, args)
	return arguments(max(2, len(args)), "two or more URLs, programs or commands")(cmd, args)
}

func (n *initFlags) path() string { return cmp.Or(n.File, defaultExperimentFile) }

// canWrite refuses a file that exists.
func (n *initFlags) canWrite() error {
	if _, err := os.Lstat(n.path()); err != nil {
		return nil // what keeps it from being made is seen then
	}
	return fmt.Errorf("%s already exists; remove it, or choose another file with --output", n.path())
}

// writeExperiment writes the file of what the command line asks for.
func (a *app) writeExperiment(n *initFlags, args []string, mistakes error) error {
	n.spec.url = n.URL
	arms := n.arms(args)
	e, err := n.experiment(arms)
	err = setting.FlagErrors(err)
	if err := errors.Join(mistakes, err); err != nil {
		return usage(err)
	}
	text := n.text(arms, e)
	if _, err := experiment.Parse(n.path(), []byte(text)); err != nil { // it says what a file may not hold, such as control characters
		return usage(err)
	}
	if err := writeNew(n.path(), text); err != nil {
		return usage(err)
	}
	_, err = fmt.Fprintf(a.Out, "%s describes the experiment. Read it, edit it, and run it:\n\ncontend lab %s\n", n.path(), report.Quoted(n.path()))
	return err
}

// writeNew writes a file that does not exist yet; nothing half-written stays.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("--output is %q, which cannot be created: %w; expected a new file in an existing folder", path, setting.Cause(err))
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
		return fmt.Errorf("write %s: %w", path, setting.Cause(err))
	}
	return nil
}

// notInID is what the id of an experiment cannot hold.
var notInID = lazyregexp.New(`[^a-z0-9]+`)

// idOf names an experiment after its file.
func idOf(path string) string {
	name := filepath.Base(path)
	name = strings.ToLower(strings.TrimSuffix(name, filepath.Ext(name)))
	return cmp.Or(strings.Trim(notInID().ReplaceAllString(name, "-"), "-"), "experiment")
}

// inputTerminal reports whether somebody can be asked.
func inputTerminal(cmd *cobra.Command) bool {
	f, ok := cmd.InOrStdin().(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ask asks for what the flags do not give, and returns the arguments.
func (n *initFlags) ask(q asking) (args []string, err error) {
	fmt.Fprint(q.w, "Give two servers to compare, each as a URL or as the command that starts it. {{addr}} in a command\n"+
		"becomes a free address to listen on. Ctrl-C quits without writing anything.\n")
	var one string
	next := func(text, otherwise string) string {
		if err == nil {
			one, err = q.ask(text, otherwise)
		}
		return one
	}
	args = []string{next("The baseline, as in ./old -listen {{addr}}", ""), next("The candidate", "")}
	if n.URL == "" && !protocol.IsURL(args[0]) {
		n.URL = next("The URL that both serve", "http://{{addr}}/")
	}
	var d trial.Design
	levels := setting.At(&d, &d.Levels)
	if _, given := n.given[levels.Flag]; !given && err == nil {
		n.given[levels.Flag] = setting.Value{Texts: strings.Split(next("Concurrency", levels.Default), ",")}
	}
	return args, err
}

// asking asks one question after another.
type asking struct {
	ctx   context.Context
	lines <-chan string // closed at the end of the input
	w     io.Writer
}

// newAsking reads answers from in. Whoever reads them waits in a system call that nothing
// ends but the next line, or the end of the process.
func newAsking(ctx context.Context, in io.Reader, w io.Writer) asking {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return asking{ctx, lines, w}
}

// ask returns the answer, or what holds otherwise where it is empty; without such a value
// it asks again.
func (q asking) ask(text, otherwise string) (string, error) {
	if otherwise != "" {
		text += " [" + otherwise + "]"
	}
	for {
		fmt.Fprint(q.w, text+": ")
		select {
		case line, ok := <-q.lines:
			if answer := cmp.Or(strings.TrimSpace(line), otherwise); ok && answer != "" {
				return answer, nil
			} else if ok {
				continue
			}
		case <-q.ctx.Done():
		}
		fmt.Fprintln(q.w)
		return "", &exitError{exitInterrupted, errors.New("interrupted; nothing was written")}
	}
}
