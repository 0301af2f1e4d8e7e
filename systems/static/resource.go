package static

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// inMemory is the size up to which a file is kept in memory: copying it
	// costs less than a second system call.
	inMemory = 16 << 10
	// freshFor is how long it holds what was found of a file.
	freshFor = time.Second
)

// A resource is what a name stands for, as it was when looked at last.
type resource struct {
	print    print
	variants []variant    // the plain one is first
	until    atomic.Int64 // a time.Duration of the clock
}

// fresh reports whether the resource may be used without another look.
func (res *resource) fresh(now time.Duration) bool { return now < time.Duration(res.until.Load()) }

func (res *resource) renew(now time.Duration) { res.until.Store(int64(now + freshFor)) }

// A print tells whether a file or one of its compressed forms has changed.
type print [1 + len([3]coding{})]mark

// A mark is of one file; the zero value is of one that is not there.
type mark struct{ modified, size int64 }

// A variant is one form of a file.
type variant struct {
	coding   string
	tag      string
	modified time.Time // whole seconds, not in the future
	size     int64
	body     []byte // all of it, if file is nil
	file     *openFile
	ok       string // the head of 200 without its end
	about    string // its fields that every answer has
	kind     string // and those that one with a part of it has
}

// describe prepares the heads of answers.
func (v *variant) describe(contentType string, modified time.Time, vary bool) {
	now := time.Now()
	if modified.After(now) {
		modified = now // RFC 9110, section 8.8.2.1
	}
	v.modified = modified.UTC().Truncate(time.Second)
	v.about = "ETag: " + v.tag + "\r\nLast-Modified: " + v.modified.Format(http.TimeFormat) + "\r\n"
	if vary {
		v.about += "Vary: Accept-Encoding\r\n"
	}
	v.kind = "Content-Type: " + contentType + "\r\n"
	if v.coding != "" {
		v.kind += "Content-Encoding: " + v.coding + "\r\n"
	}
	v.ok = fmt.Sprintf("%sContent-Length: %d\r\nAccept-Ranges: bytes\r\n%s%s", statusLine(http.StatusOK), v.size, v.kind, v.about)
}

// tagOf makes a strong tag of a file's time in ns and its size.
func tagOf(m mark, coding string) string {
	if coding != "" {
		coding = "-" + coding
	}
	return fmt.Sprintf(`"%x-%x%s"`, uint64(m.modified), m.size, coding)
}

// openVariant reads or opens one file. It must be regular.
func openVariant(root *os.Root, name string) (v variant, info os.FileInfo, err error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe does not hold us up
	if err != nil {
		return v, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = os.ErrNotExist
	}
	if err != nil {
		_ = f.Close()
		return v, nil, err
	}
	v.size = info.Size()
	if v.size > inMemory {
		v.file, err = newOpenFile(f)
		return v, info, err
	}
	v.body, err = io.ReadAll(io.LimitReader(f, v.size))
	v.size = int64(len(v.body))
	_ = f.Close()
	return v, info, err
}

// An openFile is shared by the answers that are being sent. It is closed when
// the last of them and the resource have released it.
type openFile struct {
	*os.File
	fd   int
	refs atomic.Int32
}

func newOpenFile(f *os.File) (*openFile, error) {
	raw, err := f.SyscallConn()
	o := &openFile{File: f}
	if err == nil {
		err = raw.Control(func(fd uintptr) { o.fd = int(fd) })
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	o.refs.Store(1)
	return o, nil
}

// acquire returns false if the file is closed.
func (o *openFile) acquire() bool {
	for {
		n := o.refs.Load()
		if n == 0 {
			return false
		}
		if o.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (o *openFile) release() {
	if o.refs.Add(-1) == 0 {
		_ = o.Close()
	}
}

// release is called once a resource is not found any more.
func (res *resource) release() {
	for _, v := range res.variants {
		if v.file != nil {
			v.file.release()
		}
	}
}
