package static

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// pageFile puts a page into a file without a name, for sendfile.
func pageFile(body []byte) (*openFile, error) {
	fd, err := unix.MemfdCreate("page", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("static: memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "page")
	if _, err := f.Write(body); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("static: %w", err)
	}
	return newOpenFile(f)
}
