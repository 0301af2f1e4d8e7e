// Package revision builds programs from revisions of a git repository, outside its
// checkout, and keeps them.
//
// A revision is built in a work tree of its own in a cache folder: a clone that
// borrows the objects of the repository and has its configuration, so that filters,
// `git describe` and Go's version stamps are as in the checkout. Nothing is written
// to the repository, and no work tree is registered there that could be left over.
//
// The cache folder holds
//
//	making/RANDOM    builds that are not finished, and those of [worktree]
//	builds/HASH      finished builds
//
// A finished build gets its place in one step: builds of several processes at the
// same time do not see each other, and the first to finish is kept.
package revision

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/setting"
)

// worktree is the name of the revision that is the checkout as it is: with what is
// not committed and with untracked files, without ignored ones.
const worktree = "worktree"

// A Place is where revisions are looked for, built and kept.
type Place struct {
	// Folder is one of the checkout: builds run in the same folder of the revision.
	Folder string
	// Cache is the folder in which builds are made and kept. It need not exist.
	Cache string
	// Env is the environment of git and of builds, as KEY=VALUE.
	Env []string
	// Begins, if set, is called for each build that begins; what is kept is not built.
	Begins func(Revision)
}

// A Repository is a git repository with a checkout. Its methods may be called
// concurrently.
type Repository struct {
	cache  string
	env    []string
	begins func(Revision)
	top    string // of the checkout
	prefix string // from top to the folder, "" or with a slash at the end
	common string // folder of the objects
}

// Open finds the repository of a place.
func Open(ctx context.Context, p Place) (*Repository, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, fmt.Errorf("revisions are read by git, which is not installed: %w", err)
	}
	r := &Repository{cache: p.Cache, env: environment(p.Env), begins: p.Begins}
	if r.begins == nil {
		r.begins = func(Revision) {}
	}
	// One question at a time: the answers may hold line breaks.
	for option, into := range map[string]*string{"--show-toplevel": &r.top, "--show-prefix": &r.prefix, "--git-common-dir": &r.common} {
		answer, err := r.git(ctx, p.Folder, "rev-parse", option)
		if err != nil {
			return nil, fmt.Errorf("revisions are those of the git checkout that one stands in: %s: %w", p.Folder, err)
		}
		*into = filepath.FromSlash(strings.TrimSuffix(answer, "\n"))
	}
	if !filepath.IsAbs(r.common) {
		r.common = filepath.Join(p.Folder, r.common)
	}
	return r, nil
}

// A Revision is a commit, or the checkout as it is.
type Revision struct {
	Name    string // as it was asked for
	Commit  string // its full hash; of worktree that of HEAD
	Subject string // first line of the commit's message
	// Committed is when the commit was made.
	Committed time.Time
	// Changed says that the checkout is not what Commit has.
	Changed bool
}

// String is the name with the short hash, as in main (1a2b3c4); changes follow as a +.
func (v Revision) String() string {
	changed := ""
	if v.Changed {
		changed = "+"
	}
	return fmt.Sprintf("%s (%.7s%s)", v.Name, v.Commit, changed)
}

// changed reports whether files of the checkout are other than committed; untracked is git's word for which others count.
func (r *Repository) changed(ctx context.Context, untracked string) (bool, error) {
	status, err := r.git(ctx, r.top, "status", "--porcelain", "--untracked-files="+untracked)
	return status != "", err
}

// Resolve finds the revision of a name: a branch, a tag, whatever git calls a commit,
// or worktree. A name without a revision is a *setting.Mistake.
func (r *Repository) Resolve(ctx context.Context, name string) (Revision, error) {
	v := Revision{Name: name}
	of := name
	if name == worktree {
		of = "HEAD"
		var err error
		if v.Changed, err = r.changed(ctx, "normal"); err != nil {
			return v, err
		}
	}
	hash, err := "", errors.New("no name begins with -")
	if !strings.HasPrefix(of, "-") {
		hash, err = r.git(ctx, r.top, "rev-parse", "--verify", "--quiet", of+"^{commit}")
	}
	switch {
	case ctx.Err() != nil:
		return v, ctx.Err()
	case err != nil:
		return v, r.unknown(ctx, name)
	}
	v.Commit = strings.TrimSpace(hash)
	about, err := r.git(ctx, r.top, "log", "-1", "--no-show-signature", "--format=%ct %s", v.Commit)
	if err != nil {
		return v, err
	}
	committed, subject, _ := strings.Cut(strings.TrimSpace(about), " ")
	seconds, err := strconv.ParseInt(committed, 10, 64)
	v.Subject, v.Committed = strings.TrimSpace(subject), time.Unix(seconds, 0).UTC()
	return v, err
}

// unknown is the mistake in a name without a revision.
func (r *Repository) unknown(ctx context.Context, name string) error {
	refs, err := r.git(ctx, r.top, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return err
	}
	names := append(strings.Fields(refs), worktree)
	m := &setting.Mistake{Index: -1, Problem: fmt.Sprintf("names %q, which does not exist", name),
		Allowed: "branches, tags and commits of " + r.top + ", as in main, v1.2.0, HEAD~1 or 1a2b3c4, and " + worktree}
	elsewhere := slices.IndexFunc(names, func(ref string) bool { return strings.HasSuffix(ref, "/"+name) })
	if m.Meant = setting.Nearest(name, names); elsewhere >= 0 {
		m.Meant = names[elsewhere]
	}
	if shallow, err := r.git(ctx, r.top, "rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(shallow) == "true" {
		m.Problem += " in this shallow clone (git fetch --unshallow brings the rest)"
	}
	return m
}

// git runs git in a folder and returns what it writes. No hook runs.
func (r *Repository) git(ctx context.Context, folder string, args ...string) (string, error) {
	cmd := r.command(ctx, folder, append([]string{"git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}, args...))
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := run(ctx, cmd); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("git %s: %s", args[0], cmp.Or(lastLines(complaint.String(), 5), err.Error()))
	}
	return out.String(), nil
}

// environment leaves out what git tells its hooks about their repository, and keeps
// git from asking for passwords.
func environment(env []string) []string {
	own := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
		"GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE"}
	kept := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		key, _, _ := strings.Cut(entry, "=")
		return slices.Contains(own, key)
	})
	return append(kept, "GIT_TERMINAL_PROMPT=0")
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
