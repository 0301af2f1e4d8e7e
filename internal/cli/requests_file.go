package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"contend/protocol"
)

// requestsFile is a flag whose value is a file with a list of requests.
type requestsFile []protocol.Request

func (r *requestsFile) Type() string { return "file" }

func (r *requestsFile) String() string {
	if len(*r) == 0 {
		return ""
	}
	return fmt.Sprintf("%d requests", len(*r))
}

// Set reads the file.
func (r *requestsFile) Set(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	var list []protocol.Request
	if err := d.Decode(&list); err != nil {
		return fmt.Errorf("%s:%d: %w", path, lineAt(content, d.InputOffset()), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s:%d: something follows the list", path, lineAt(content, d.InputOffset()))
	}
	if len(list) == 0 {
		return fmt.Errorf("%s: the list of requests is empty", path)
	}
	*r = list
	return nil
}

// lineAt returns the line of a place in the file, from 1.
func lineAt(content []byte, offset int64) int {
	return 1 + bytes.Count(content[:min(int(offset), len(content))], []byte{'\n'})
}
