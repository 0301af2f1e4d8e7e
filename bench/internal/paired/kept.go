package paired

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Kept reads what Keep has added to a file, in its order; of no file, and of "", there is nothing. The error names
// the file, and the entry that cannot be read.
func Kept[T any](path string) (all []T, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := json.NewDecoder(f); ; {
		var one T
		if err := lines.Decode(&one); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s, entry %d: %w", path, len(all)+1, err)
		}
		all = append(all, one)
	}
}

// Keep adds an entry to a file, which it creates if necessary; "" keeps nothing.
func Keep(path string, entry any) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(entry), f.Close())
}
