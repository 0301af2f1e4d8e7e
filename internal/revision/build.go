package revision

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Out stands for the program in commands: where a build puts it.
const Out = "{{out}}"

// A Build is a program that was built out of a revision.
type Build struct {
	// Program is its path, or that of a folder if the build made one.
	Program string
	// Built is when it was built.
	Built time.Time
	// Kept says that an earlier build was taken.
	Kept bool

	own string // folder that goes with the build, "" where it is kept
}

// Remove removes what is not kept for another time.
func (b *Build) Remove() error {
	if b.own == "" {
		return nil
	}
	return removeAll(b.own)
}

// Build builds a revision with the words of a command, in which Out is replaced by the
// path of the program, or takes what the same command made of the same commit before.
// The command runs in the folder of the repository's Place, as the revision has it. An
// error names the revision and the command and has the last lines of what that wrote.
// When ctx is done the build is interrupted and nothing of it remains.
func (r *Repository) Build(ctx context.Context, v Revision, command []string) (*Build, error) {
	key, err := r.key(v, command)
	if err != nil {
		return nil, err
	}
	if v.Name != worktree {
		if b := r.kept(key); b != nil {
			return b, nil
		}
	}
	r.begins(v)
	r.prune()
	making, err := r.begin()
	if err != nil {
		return nil, err
	}
	if err := r.make(ctx, v, command, making); err != nil {
		return nil, errors.Join(fmt.Errorf("%v: %w", v, err), removeAll(making))
	}
	if v.Name == worktree {
		return &Build{Program: program(making), Built: time.Now(), own: making}, nil
	}
	return r.keep(making, key)
}

// make makes the work tree, builds, and leaves the program and the log.
func (r *Repository) make(ctx context.Context, v Revision, command []string, making string) error {
	tree := filepath.Join(making, "tree")
	if err := r.tree(ctx, v, tree); err != nil {
		return err
	}
	folder := filepath.Join(tree, r.prefix)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("has no folder %s, in which the build is to run", r.prefix)
	}
	if err := checkReplaced(tree, folder); err != nil {
		return err
	}
	if err := r.execute(ctx, command, folder, making); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return removeAll(tree)
}

// execute runs the command with its output in the log.
func (r *Repository) execute(ctx context.Context, command []string, folder, making string) error {
	words := slices.Clone(command)
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, Out, program(making))
	}
	log, err := os.OpenFile(logOf(making), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := r.command(ctx, folder, words)
	cmd.Stdout, cmd.Stderr = log, log
	err = run(ctx, cmd)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		if _, err = os.Stat(program(making)); err != nil {
			err = fmt.Errorf("ended well and left nothing at %s", Out)
		}
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, tail(log))
	}
	now := time.Now()
	return os.Chtimes(logOf(making), now, now)
}

// tail returns the last lines of a file.
func tail(f *os.File) string {
	const lines, most = 20, 16 << 10
	end, err := f.Seek(0, 2)
	if err != nil {
		return err.Error()
	}
	text := make([]byte, min(end, most))
	n, _ := f.ReadAt(text, end-int64(len(text)))
	return lastLines(cmp.Or(string(text[:n]), "it wrote nothing"), lines)
}

// program is the path of the program in the folder of a build.
func program(build string) string {
	name := "program"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(build, name)
}

// logOf is what a build wrote; its time is when it was built.
func logOf(build string) string { return filepath.Join(build, "log") }

// begin makes the folder of a new build. Its path is as long as that of a kept one:
// a program's name is in its memory and moves what follows it there.
func (r *Repository) begin() (string, error) {
	var random [keySize / 2]byte
	rand.Read(random[:])
	making := filepath.Join(r.cache, "making", hex.EncodeToString(random[:]))
	return making, os.MkdirAll(making, 0o755)
}

// keep moves a finished build to its place, unless another process was faster.
func (r *Repository) keep(making, key string) (*Build, error) {
	err := os.MkdirAll(filepath.Join(r.cache, "builds"), 0o755)
	if err == nil {
		err = os.Rename(making, filepath.Join(r.cache, "builds", key))
	}
	b := r.kept(key)
	if err != nil {
		err = errors.Join(fmt.Errorf("keep the build: %w", err), removeAll(making))
	}
	if b == nil {
		return nil, cmp.Or(err, fmt.Errorf("keep the build: %w", fs.ErrNotExist))
	}
	b.Kept = false
	return b, nil
}

// kept returns a finished build, nil if it is not kept, and notes that it is used.
func (r *Repository) kept(key string) *Build {
	folder := filepath.Join(r.cache, "builds", key)
	log, err := os.Stat(logOf(folder))
	if err != nil {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(folder, now, now) // for prune alone
	return &Build{Program: program(folder), Built: log.ModTime(), Kept: true}
}

// Folders left by killed processes, and unused ones, are removed after so long.
const (
	makingAge = 7 * 24 * time.Hour
	buildsAge = 30 * 24 * time.Hour
)

// prune removes old folders. One that cannot be removed does no harm.
func (r *Repository) prune() {
	for name, age := range map[string]time.Duration{"making": makingAge, "builds": buildsAge} {
		entries, _ := os.ReadDir(filepath.Join(r.cache, name))
		for _, e := range entries {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > age {
				_ = removeAll(filepath.Join(r.cache, name, e.Name()))
			}
		}
	}
}

// keySize is the length of a key in hexadecimal digits.
const keySize = 32

// key is the name of a kept build: a hash of what it depends on.
func (r *Repository) key(v Revision, command []string) (string, error) {
	about := struct {
		Commit, Folder, OS, Arch string
		Command, Env             []string
		Tool                     string
		ToolTime                 time.Time
	}{Commit: v.Commit, Folder: r.prefix, OS: runtime.GOOS, Arch: runtime.GOARCH, Command: command}
	for _, entry := range r.env {
		if name, _, _ := strings.Cut(entry, "="); concerns(name) {
			about.Env = append(about.Env, entry)
		}
	}
	slices.Sort(about.Env)
	// Another version of the tool is another file, or has another time.
	if path, err := exec.LookPath(command[0]); err == nil && filepath.Base(command[0]) == command[0] {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", err
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		about.Tool, about.ToolTime = path, info.ModTime()
	}
	text, err := json.Marshal(about)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:keySize], err
}

// concerns reports whether compilers look at a variable of the environment.
func concerns(name string) bool {
	return slices.ContainsFunc([]string{"GO", "CGO_", "CARGO", "RUST"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) ||
		slices.Contains([]string{"PATH", "CC", "CXX", "AR", "LD", "CPPFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS"}, name)
}

// removeAll is os.RemoveAll, also of folders that were made read-only, as Go's
// module cache is.
func removeAll(folder string) error {
	if os.RemoveAll(folder) == nil {
		return nil
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o755)
		}
		return nil
	})
	return os.RemoveAll(folder)
}
