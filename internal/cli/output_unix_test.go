//go:build unix

package cli

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A file that is not regular, such as /dev/null, is written to and stays what it is.
func TestDeviceIsWrittenTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var file outputFile
	if err := file.UnmarshalText([]byte(path)); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		from, err := os.Open(path)
		if err != nil {
			read <- err.Error()
			return
		}
		defer from.Close()
		text, _ := io.ReadAll(from)
		read <- string(text)
	}()
	if err := replaceFile(path, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "{}\n" {
		t.Errorf("the pipe carried %q", got)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("it is %v, %v", info.Mode(), err)
	}
}
