package revision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tree makes the work tree of a revision.
func (r *Repository) tree(ctx context.Context, v Revision, tree string) error {
	if v.Name != worktree {
		return r.checkOut(ctx, r.common, tree, v.Commit)
	}
	if err := r.clone(ctx, r.common, tree); err != nil {
		return err
	}
	if _, err := r.git(ctx, tree, "update-ref", "--no-deref", "HEAD", v.Commit); err != nil {
		return err
	}
	if _, err := r.git(ctx, tree, "read-tree", "HEAD"); err != nil {
		return err
	}
	return r.copyCheckout(ctx, r.top, tree)
}

// checkOut makes a work tree of a commit, submodules included; from is the folder
// of the objects.
func (r *Repository) checkOut(ctx context.Context, from, tree, commit string) error {
	if err := r.clone(ctx, from, tree); err != nil {
		return err
	}
	if _, err := r.git(ctx, tree, "checkout", "--quiet", "--detach", commit); err != nil {
		return err
	}
	return r.submodules(ctx, from, tree)
}

// clone makes a clone without files that borrows the objects of another repository
// and has its configuration below its own.
func (r *Repository) clone(ctx context.Context, from, tree string) error {
	if _, err := r.git(ctx, r.top, "clone", "--quiet", "--shared", "--no-checkout", "--origin", "origin", "--template=", "--", from, tree); err != nil {
		return err
	}
	// origin is the configured one, if any: relative addresses of submodules begin there.
	if _, err := r.git(ctx, tree, "config", "--remove-section", "remote.origin"); err != nil {
		return err
	}
	config := filepath.Join(tree, ".git", "config")
	own, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	path := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(filepath.Join(from, "config"))
	// In a file, as builds may call git; the checkout may be a sparse one.
	const off = "[core]\n\tfsmonitor = false\n\tsparseCheckout = false\n"
	return os.WriteFile(config, fmt.Appendf(nil, "[include]\n\tpath = \"%s\"\n%s%s", path, own, off), 0o644)
}

// submodules checks out those of a work tree: from the clones below the folder that
// its own objects are from where these have the commit, from their addresses otherwise.
func (r *Repository) submodules(ctx context.Context, from, tree string) error {
	commits, err := r.gitlinks(ctx, tree)
	if err != nil || len(commits) == 0 {
		return err
	}
	list, err := r.git(ctx, tree, "config", "-z", "--file", ".gitmodules", "--get-regexp", `^submodule\..*\.path$`)
	if err != nil {
		return fmt.Errorf("there are submodules, but no .gitmodules says where from: %w", err)
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		key, path, _ := strings.Cut(entry, "\n")
		commit, ok := commits[path]
		if !ok {
			continue
		}
		name := strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		at, local := filepath.Join(tree, filepath.FromSlash(path)), filepath.Join(from, "modules", filepath.FromSlash(name))
		if r.has(ctx, local, commit) {
			err = r.checkOut(ctx, local, at, commit)
		} else if _, err = r.git(ctx, tree, "submodule", "--quiet", "update", "--init", "--", path); err == nil && isCheckout(at) { // git leaves one out that is configured so
			err = r.submodules(ctx, local, at)
		}
		if err != nil {
			return fmt.Errorf("submodule %s: %w", path, err)
		}
	}
	return nil
}

// gitlinks returns the commits of submodules by path.
func (r *Repository) gitlinks(ctx context.Context, tree string) (map[string]string, error) {
	staged, err := r.git(ctx, tree, "ls-files", "--stage", "-z")
	commits := map[string]string{}
	for entry := range strings.SplitSeq(staged, "\x00") {
		about, path, _ := strings.Cut(entry, "\t") // mode, hash and stage
		if fields := strings.Fields(about); len(fields) == 3 && fields[0] == "160000" {
			commits[path] = fields[1]
		}
	}
	return commits, err
}

// has reports whether there is a repository with this commit.
func (r *Repository) has(ctx context.Context, repository, commit string) bool {
	if _, err := os.Stat(repository); err != nil {
		return false
	}
	_, err := r.git(ctx, repository, "--git-dir", repository, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// copyCheckout copies the files of a checkout that are tracked, or neither tracked
// nor ignored, and those of the checkouts in it.
func (r *Repository) copyCheckout(ctx context.Context, from, to string) error {
	list, err := r.git(ctx, from, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, path := range slices.Compact(strings.Split(list, "\x00")) { // a conflict has a path several times
		if path == "" {
			continue
		}
		path = filepath.FromSlash(path)
		source, target := filepath.Join(from, path), filepath.Join(to, path)
		info, err := os.Lstat(source)
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted and not committed
		case err != nil:
			return err
		case info.IsDir():
			err = r.copyInner(ctx, source, target)
		default:
			err = copyFile(source, target, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyInner copies a checkout in a checkout, which is a submodule or untracked.
func (r *Repository) copyInner(ctx context.Context, from, to string) error {
	if !isCheckout(from) {
		return os.MkdirAll(to, 0o755) // a submodule that is not checked out
	}
	return r.copyCheckout(ctx, from, to)
}

func isCheckout(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, ".git"))
	return err == nil
}

// copyFile copies a regular file or a symbolic link; others are no part of a checkout.
func copyFile(from, to string, info fs.FileInfo) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(link, to)
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
