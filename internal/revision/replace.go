package revision

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checkReplaced returns an error for each folder outside of the work tree that a Go
// build in the folder would take a module from (go.dev/ref/mod: replace, workspaces):
// the revision does not say what is in there.
func checkReplaced(tree, folder string) error {
	module := nearest(tree, folder, "go.mod")
	workspace := nearest(tree, folder, "go.work")
	if workspace == "" {
		return outside(tree, module)
	}
	errs := []error{outside(tree, workspace)}
	for _, use := range directives(workspace, "use") {
		errs = append(errs, outside(tree, filepath.Join(filepath.Dir(workspace), use[0], "go.mod")))
	}
	return errors.Join(errs...)
}

// nearest returns the path of the file of that name in the folder or in the lowest
// one above it, up to the top; "" if no folder has it.
func nearest(top, folder, name string) string {
	for {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		if folder == top || filepath.Dir(folder) == folder {
			return ""
		}
		folder = filepath.Dir(folder)
	}
}

// outside returns an error for each folder outside of the tree that a go.mod or a
// go.work names.
func outside(tree, file string) error {
	var errs []error
	check := func(folder, what string) {
		at := folder
		if !filepath.IsAbs(at) {
			at = filepath.Join(filepath.Dir(file), filepath.FromSlash(folder))
		}
		if within, err := filepath.Rel(tree, at); err == nil && filepath.IsLocal(within) {
			return
		}
		name, _ := filepath.Rel(tree, file)
		errs = append(errs, fmt.Errorf("%s %s %s, which is outside of the repository, so that the revision does not say what is built; "+
			"expected folders inside, and versions", filepath.ToSlash(name), what, folder))
	}
	for _, replace := range directives(file, "replace") {
		if arrow := slices.Index(replace, "=>"); arrow > 0 && arrow+1 < len(replace) && isFolder(replace[arrow+1]) {
			check(replace[arrow+1], "replaces "+replace[0]+" with")
		}
	}
	for _, use := range directives(file, "use") {
		check(use[0], "uses")
	}
	return errors.Join(errs...)
}

// isFolder tells a folder from a module: it begins with a dot, or is absolute.
func isFolder(path string) bool {
	return filepath.IsAbs(path) || path == "." || path == ".." || strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") ||
		strings.HasPrefix(path, `.\`) || strings.HasPrefix(path, `..\`)
}

// directives returns the words of each directive of that name in a go.mod or go.work,
// on a line of its own or in a block. A missing file has none; the build reports what
// Go cannot read.
func directives(file, name string) [][]string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var found [][]string
	block := ""
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		for i, word := range words {
			words[i] = strings.Trim(word, "\"`")
		}
		switch {
		case len(words) == 0:
		case len(words) == 2 && words[1] == "(":
			block = words[0]
		case words[0] == ")":
			block = ""
		case block == name:
			found = append(found, words)
		case block == "" && words[0] == name && len(words) > 1:
			found = append(found, words[1:])
		}
	}
	return found
}
