package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"contend/report"
)

// mostKept are the documents that are kept of runs whose output names no file.
const mostKept = 20

// keptName is the pattern of their names, which sort by time; keptTime replaces the star.
const (
	keptName = "lab-*.json"
	keptTime = "20060102T150405.000000000"
)

// keptFolder is where documents of this user are kept that go nowhere else: a cache, as
// they can be measured again.
func keptFolder() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "contend", "lab"), nil
}

// kept are the paths of the documents in a folder, the oldest first.
func kept(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder) // sorted
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	for _, e := range entries {
		if match, _ := filepath.Match(keptName, e.Name()); match && e.Type().IsRegular() {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths, err
}

// keep stores a document as the newest and removes the oldest beyond mostKept. It returns
// the path if the document was stored, and an error if anything failed.
func keep(d *report.Document) (string, error) {
	folder, err := keptFolder()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(folder, "lab-"+time.Now().UTC().Format(keptTime)+".json")
	if err := writeFile(path, d); err != nil {
		return "", err
	}
	all, err := kept(folder)
	for _, old := range all[:max(0, len(all)-mostKept)] {
		err = errors.Join(err, os.Remove(old))
	}
	return path, err
}

// newestKept is the path of the document that was kept last.
func newestKept() (string, error) {
	folder, err := keptFolder()
	if err != nil {
		return "", fmt.Errorf("no stored result was found: %w; name a file", err)
	}
	all, err := kept(folder)
	if len(all) == 0 {
		return "", errors.Join(fmt.Errorf("no result is stored in %s yet (contend lab stores one); name a file", folder), err)
	}
	return all[len(all)-1], nil
}
