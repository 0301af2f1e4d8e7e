package cli

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"contend/experiment"
	"contend/internal/revision"
	"contend/report"
	"contend/setting"
)

// revisionOptions say how programs are built that are compared.
type revisionOptions struct {
	Revisions []string `flag:"revisions" words:"build these *revisions* of the git repository here and compare them with the first; worktree is the checkout as it is"`
	Build     string   `flag:"build" words:"*command* that builds {{out}} from a revision"`
}

// lacking says what revisions need in addition.
func (c *compareFlags) lacking() error {
	if c.Revisions == nil || c.Build != "" {
		return nil
	}
	return errors.New("--revisions also requires --build, which builds {{out}}, the program of a revision, as in " +
		"contend compare --revisions main,HEAD --build 'go build -trimpath -o {{out}} ./cmd/app' -- '{{out}} -listen {{addr}}'")
}

// orProgram are the commands, or where none is given for revisions the program alone.
func (c *compareFlags) orProgram(commands []string) []string {
	if c.Revisions != nil && len(commands) == 0 {
		return []string{revision.Out}
	}
	return commands
}

// checkRevisions returns every mistake that can be seen without a repository.
func (c *compareFlags) checkRevisions(commands []string) error {
	if c.Revisions == nil {
		if c.Build != "" {
			return errors.New("--build requires --revisions")
		}
		return nil
	}
	var errs []error
	if n := len(c.Revisions); n < 2 || n > mostArms {
		errs = append(errs, fmt.Errorf("--revisions has %d; expected 2 to %d", n, mostArms))
	} else if len(commands) != 1 && len(commands) != n {
		errs = append(errs, fmt.Errorf("got %d commands for %d revisions; expected one for all, or one for each", len(commands), n))
	}
	for _, command := range commands {
		if !strings.Contains(command, revision.Out) {
			errs = append(errs, fmt.Errorf("command %q does not contain %s, the program that is built", command, revision.Out))
		}
	}
	switch words, err := experiment.SplitWords(c.Build); {
	case err != nil:
		errs = append(errs, fmt.Errorf("--build: %w", err))
	case len(words) == 0 || !strings.Contains(c.Build, revision.Out):
		errs = append(errs, fmt.Errorf("--build is %q; expected a command with {{out}}, the path of the program that it builds", c.Build))
	}
	return errors.Join(errs...)
}

// revisionArms are named after their revisions.
func (c *compareFlags) revisionArms(commands []string) []arm {
	var arms []arm
	for i, name := range c.Revisions {
		arms = append(arms, arm{name, commands[min(i, len(commands)-1)]})
	}
	return arms
}

// program is what {{out}} is replaced by until there are programs.
func (c *compareFlags) program() string {
	if c.Revisions == nil {
		return ""
	}
	return revision.Out
}

// built are the programs of a comparison.
type built []*revision.Build

// remove removes what is not kept for another time.
func (b built) remove(a *app) {
	for _, one := range b {
		if err := one.Remove(); err != nil {
			fmt.Fprintf(a.Err, "contend: %v\n", err)
		}
	}
}

// build builds the programs of revisions, if any are asked for, and hands them to the
// subjects; the document says what they are. The caller removes them, even on an error.
func (a *app) build(ctx context.Context, c *compareFlags, e *experiment.Experiment, doc *report.Document) (programs built, err error) {
	if c.Revisions == nil {
		return nil, nil
	}
	defer func() {
		if ctx.Err() != nil {
			err = tooEarly()
		}
	}()
	r, err := a.repository(ctx, c.Build)
	if err != nil {
		return nil, failed(err)
	}
	revisions, err := c.resolve(ctx, r)
	if err != nil {
		return nil, err
	}
	command, _ := experiment.SplitWords(c.Build) // checked
	var titles []string
	for _, v := range revisions {
		b, err := r.Build(ctx, v, command)
		if err != nil {
			return programs, failed(err)
		}
		programs, titles = append(programs, b), append(titles, v.String())
		s := e.Subjects[v.Name]
		s.Program = b.Program
		e.Subjects[v.Name] = s
		doc.Builds = append(doc.Builds, report.Build{Arm: v.Name, Commit: v.Commit, Subject: v.Subject, Changed: v.Changed,
			Build: c.Build, Toolchain: toolchain(b.Program), Built: b.Built, Kept: b.Kept})
	}
	e.Title = against(titles)
	return programs, nil
}

// toolchain is the version of Go that built a program; "" if that is not known.
func toolchain(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return ""
	}
	return info.GoVersion
}

// resolve finds all revisions, or every mistake in them.
func (c *compareFlags) resolve(ctx context.Context, r *revision.Repository) (list []revision.Revision, err error) {
	var mistakes []error
	for _, name := range c.Revisions {
		v, err := r.Resolve(ctx, name)
		if _, mistaken := errors.AsType[*setting.Mistake](err); err != nil && !mistaken {
			return nil, failed(err)
		}
		list, mistakes = append(list, v), append(mistakes, err)
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, usage(setting.FlagErrors(setting.At(&c.revisionOptions, &c.Revisions).About(err)))
	}
	return list, nil
}

// repository is that of the current folder. A build that begins is shown.
func (a *app) repository(ctx context.Context, build string) (*revision.Repository, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no folder to build revisions in: %w", err)
	}
	return revision.Open(ctx, revision.Place{Folder: folder, Cache: filepath.Join(cache, "contend"), Env: os.Environ(),
		Begins: func(v revision.Revision) { fmt.Fprintf(a.Err, "contend: building %v: %s\n", v, build) }})
}
