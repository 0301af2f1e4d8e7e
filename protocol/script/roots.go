package script

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"contend/setting"
)

// Roots are the folders whose files a script may read, without symbolic links: the first is its own, or one
// above it, and the others are of remote imports, or of files that it imports from elsewhere.
type roots struct {
	mu      sync.Mutex // imports are resolved side by side
	folders []string
	found   bool            // nobody gave the first, so imports that leave it move it up
	library string          // the folder of remote imports; "": none
	files   map[string]bool // that are part of the bundle
}

// note keeps that a file is part of the bundle.
func (r *roots) note(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files == nil {
		r.files = map[string]bool{}
	}
	r.files[path] = true
}

// readRoots takes the folders that are given. Without root it is the project that dir is in.
func (r *roots) readRoots(dir, root, library string) error {
	if r.found = root == ""; r.found {
		here, _ := filepath.Abs(".")
		if real, err := filepath.EvalSymlinks(here); err == nil {
			here = real
		}
		root = project(dir, here)
	}
	for _, folder := range []string{root, library} {
		if folder == "" {
			continue
		}
		real, err := filepath.Abs(folder)
		if err == nil {
			real, err = filepath.EvalSymlinks(real)
		}
		if err != nil {
			return setting.CannotRead(folder, err)
		}
		if r.folders = append(r.folders, real); folder == library {
			r.library = real
		}
	}
	return nil
}

// checkFolders refuses folders that are given and cannot be read.
func (c *Config) checkFolders() error {
	var errs []error
	for _, folder := range []*string{&c.Root, &c.JSLib} {
		if *folder == "" {
			continue
		}
		if _, err := os.ReadDir(*folder); err != nil {
			errs = append(errs, setting.At(c, folder).About(setting.CannotRead(*folder, err)))
		}
	}
	return errors.Join(errs...)
}

// project is the nearest folder from dir upwards that is a Git repository, or else the nearest with a package.json or
// the one where the command runs, whichever is further up, or else dir. It is never all of the file system.
func project(dir, here string) string {
	packaged, root := "", dir
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if _, err := os.Stat(filepath.Join(at, "package.json")); err == nil && packaged == "" {
			packaged, root = at, at
		}
		if at == here {
			root = at
		}
	}
	return root
}

// reach moves a first folder that was found up to where a file can be imported from. It never becomes all of the
// file system.
func (r *roots) reach(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.found || r.within(path) == nil {
		return
	}
	for at := r.folders[0]; at != filepath.Dir(at); at = filepath.Dir(at) {
		if isIn(at, path) {
			r.folders[0] = at
			return
		}
	}
	r.folders = append(r.folders, filepath.Dir(path))
}

// within refuses a file outside of the folders.
func (r *roots) within(path string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for _, root := range r.folders {
		if isIn(root, path) {
			return nil
		}
	}
	return fmt.Errorf("%s is outside of %s: --script-root DIR allows a folder above", path, r.folders[0])
}

// may is within for what is asked side by side.
func (r *roots) may(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.within(path)
}

func isIn(folder, path string) bool {
	inside, err := filepath.Rel(folder, path)
	return err == nil && inside != ".." && !strings.HasPrefix(inside, ".."+string(filepath.Separator))
}

// regular refuses what is no file: a folder, or a pipe, whose end may never come.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	return err
}

// read reads a file that the script opens, by a path from a folder of its own.
func (b *bundle) read(path, from string) ([]byte, error) {
	path = b.located(path, from)
	if err := b.may(path); err != nil {
		return nil, err
	}
	if err := regular(path); err != nil {
		return nil, setting.CannotRead(path, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, setting.CannotRead(path, err)
	}
	return content, nil
}

// located is a path, or a URL of a file, from a file of the script.
func (b *bundle) located(path, from string) string {
	path = strings.TrimPrefix(path, "file://")
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.dir, filepath.Dir(from), path)
	}
	return path
}
