package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// configFile is the name of the file that every result of the folder shares.
const configFile = "history.json"

// suffix ends the names of results.
const suffix = ".json"

// A Store is a folder of results. Processes may add to it at the same time.
type Store struct {
	folder string
	config config
}

type config struct {
	// Anchor is the full hash of the commit that revisions are compared with; "": none yet.
	Anchor string `json:"anchor,omitempty"`
}

// Open opens a folder, which need not exist yet: adding makes it. An error is about its history.json.
func Open(folder string) (*Store, error) {
	s := &Store{folder: folder}
	data, err := os.ReadFile(filepath.Join(folder, configFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s.config)
	}
	if err != nil {
		return nil, fmt.Errorf(`%s: %w; expected {"anchor": "COMMIT"}`, filepath.Join(folder, configFile), err)
	}
	return s, nil
}

// Anchor is the commit that revisions are compared with; "": none is named.
func (s *Store) Anchor() string { return s.config.Anchor }

// SetAnchor names the commit that revisions are compared with from now on.
func (s *Store) SetAnchor(commit string) error {
	s.config.Anchor = commit
	data, err := json.Marshal(s.config)
	if err != nil {
		return err
	}
	return s.write(configFile, append(data, '\n'))
}

// Add adds results and returns the names of their files. One that is there already stays as it is.
func (s *Store) Add(results ...Result) (names []string, err error) {
	for _, r := range results {
		data, err := Encode(r)
		if err != nil {
			return names, err
		}
		name := nameOf(data)
		if err := s.write(name, data); err != nil {
			return names, err
		}
		names = append(names, name)
	}
	return names, nil
}

func nameOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]) + suffix
}

// write gives a file its name once it is complete.
func (s *Store) write(name string, data []byte) error {
	if err := os.MkdirAll(s.folder, 0o755); err != nil {
		return err
	}
	return Replace(filepath.Join(s.folder, name), data)
}

// Temporary makes a file that may take the place of another in its folder.
func Temporary(folder string) (*os.File, error) { return os.CreateTemp(folder, ".contend-*") }

// Replace makes a file, or replaces it, in one step, so that nothing half-written is ever found under its name.
func Replace(path string, data []byte) error {
	temporary, err := Temporary(filepath.Dir(path))
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

// A Stored is a result in its file.
type Stored struct {
	Result
	Name string // of the file
	// Altered says that the content is not the one that the name was made of. Such a result is shown and not used.
	Altered bool
}

// A Problem is what is wrong with a file, or with a result in it.
type Problem struct {
	Name string // of the file
	Text string // a sentence about it, after its name
}

func (p Problem) String() string { return p.Name + " " + p.Text }

// Read returns all results, in the order of their times, and what is wrong with files. Only *.json files are looked at.
// An error is about the folder.
func (s *Store) Read() (results []Stored, problems []Problem, err error) {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, suffix) || name == configFile || e.IsDir() {
			continue
		}
		r, err := s.read(name)
		if err != nil {
			problems = append(problems, Problem{name, err.Error() + "; it is kept and not shown"})
			continue
		}
		if r.Altered {
			problems = append(problems, Problem{name, "has another content than its name says; it is shown and not used"})
		}
		if !r.Committed.IsZero() && r.Time.Before(r.Committed) {
			problems = append(problems, Problem{name, fmt.Sprintf("was measured at %s, before its commit was made at %s: a clock was wrong",
				r.Time.UTC().Format("2006-01-02 15:04"), r.Committed.UTC().Format("2006-01-02 15:04"))})
		}
		results = append(results, r)
	}
	slices.SortStableFunc(results, func(a, b Stored) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Name, b.Name)) })
	return results, problems, nil
}

func (s *Store) read(name string) (r Stored, err error) {
	path := filepath.Join(s.folder, name)
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxBytes {
		return r, fmt.Errorf("is no file of at most %d bytes", maxBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	r.Name, r.Altered = name, nameOf(data) != name
	r.Result, err = Decode(data)
	return r, err
}
