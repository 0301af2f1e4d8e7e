package perf

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// What a process writes to a disk is in its activity, even before the disk has it.
func TestWrittenToDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "written")
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &fs); err != nil {
		t.Fatal(err)
	}
	if fs.Type == unix.TMPFS_MAGIC {
		t.Skip("temporary files are in memory")
	}
	written := func() int64 {
		p, err := procfs.Self()
		if err != nil {
			t.Fatal(err)
		}
		stat, err := p.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return OfProcess(stat).DiskWritten
	}
	before := written()
	const size = 1 << 20
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := written() - before; got < size {
		t.Errorf("%d bytes written, want %d at least", got, size)
	}
}
