package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"contend/history"
	"contend/report"
	"contend/setting"
)

// output is where a command's document goes.
type output struct {
	JSON bool       `flag:"json" words:"write the result file to standard output, as JSON, instead of the page"`
	File resultFile `flag:"output,o" words:"also write the result to this *file*, as JSON"`
	Show bool       `flag:"show-secrets" words:"show passwords, tokens, cookies and keys, which are hidden otherwise"`
}

// outputFile is a resultFile that replaces no result: its form is another one, which no command reads.
type outputFile string

// UnmarshalText refuses a path at which no file can be made, and that of a result.
func (f *outputFile) UnmarshalText(text []byte) error {
	if isResult(string(text)) {
		return setting.NotAllowed(string(text), "another file than a result, which would be lost; put the path of the result before the flag, and a new one behind it")
	}
	return (*resultFile)(f).UnmarshalText(text)
}

func isResult(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // a pipe would wait for who writes to it
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, 40)) // what cannot be read is no result
	return bytes.Contains(head, []byte(`"schema": "contend/`))
}

// resultFile is the path of a file that can be written: what is measured for minutes is
// not lost for want of a folder.
type resultFile string

// UnmarshalText refuses a path at which no file can be made.
func (f *resultFile) UnmarshalText(text []byte) error {
	*f = resultFile(text)
	if len(text) == 0 {
		return nil
	}
	path := string(text)
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return setting.NotAllowed(path, "a file; this is a folder")
	case err == nil && !info.Mode().IsRegular():
		return nil // written to as it is
	}
	return writable(path, "a file", filepath.Dir(path))
}

// outputFolder is the path of a folder that can be written to, or made.
type outputFolder string

// UnmarshalText refuses a path at which there can be no such folder.
func (f *outputFolder) UnmarshalText(text []byte) error {
	*f = outputFolder(text)
	if len(text) == 0 {
		return nil
	}
	path := string(text)
	switch info, err := os.Stat(path); {
	case err != nil:
		return writable(path, "a folder", filepath.Dir(path))
	case !info.IsDir():
		return setting.NotAllowed(path, "a folder; this is a file")
	}
	return writable(path, "files", path)
}

// writable refuses a path for which something has to be made in a folder where it cannot be.
func writable(path, something, folder string) error {
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return setting.NotAllowed(path, fmt.Sprintf("%s in an existing folder; %s does not exist", something, folder))
	case !info.IsDir():
		return setting.NotAllowed(path, fmt.Sprintf("%s in a folder; %s is not one", something, folder))
	}
	trial, err := history.Temporary(folder)
	if err != nil {
		return setting.NotAllowed(path, fmt.Sprintf("%s in a writable folder: %v", something, err))
	}
	return errors.Join(trial.Close(), os.Remove(trial.Name()))
}

// write writes the document to the file if one is named, and to standard
// output in the form asked for; in that order, because a closed pipe there may
// end the process.
func (o *output) write(a *app, d *report.Document) error {
	err := o.writeFile(d)
	view := d.Text
	if o.JSON {
		view = d.Write
	}
	return errors.Join(err, view(a.Out))
}

func (o *output) whole() bool { return o.JSON }

func (o *output) page() bool { return false }

// writeFile writes the document to the file, if one is named.
func (o *output) writeFile(d *report.Document) error {
	if o.File == "" {
		return nil
	}
	return writeFile(string(o.File), d)
}

func writeFile(path string, d *report.Document) error {
	var buf bytes.Buffer
	if err := d.Write(&buf); err != nil {
		return err
	}
	return replaceFile(path, buf.Bytes())
}

// replaceFile replaces a file. A device or a pipe is written to: root could replace /dev/null.
func replaceFile(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, data, 0)
	}
	if err := history.Replace(path, data); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func newDocument(command string) *report.Document {
	return &report.Document{Schema: report.Schema, Version: version(), Command: command,
		Environment: environment(time.Now()), Results: []report.Result{}}
}
