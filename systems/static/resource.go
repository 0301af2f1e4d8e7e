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
	// inMemory is the size up to which a file is kept in memory.
	inMemory = 128 << 10
	// freshFor is how long it holds what was found of a file.
	freshFor = time.Second
)

// A resource is what a name refers to, as it was when looked at last.
type resource struct {
	print    print
	variants []variant    // the plain one is first
	until    atomic.Int64 // in Unix nanoseconds
}

// fresh reports whether the resource may be used without another look.
func (res *resource) fresh(now time.Time) bool { return now.UnixNano() < res.until.Load() }

func (res *resource) renew(now time.Time) { res.until.Store(now.Add(freshFor).UnixNano()) }

// A print shows whether a file or one of its compressed forms has changed.
type print [1 + len([3]coding{})]mark

// A mark is of one file; the zero value is of a missing one.
type mark struct{ modified, size int64 }

func markOf(info os.FileInfo) mark { return mark{info.ModTime().UnixNano(), info.Size()} }

// A variant is one form of a file.
type variant struct {
	name     string // of its file
	mark     mark
	body     []byte // all of it; nil: it is read for each answer
	size     int64
	coding   string
	modified time.Time // whole seconds, not in the future
	// What an answer says of it.
	tag, date, contentType []byte
	varies                 bool
}

// describe prepares what answers say.
func (v *variant) describe(contentType string, modified time.Time, varies bool) {
	if now := time.Now(); modified.After(now) {
		modified = now // RFC 9110, section 8.8.2.1
	}
	v.modified = modified.UTC().Truncate(time.Second)
	v.tag, v.date = []byte(tagOf(v.mark, v.coding)), []byte(v.modified.Format(http.TimeFormat))
	v.contentType, v.varies = []byte(contentType), varies
}

// tagOf makes a strong tag of a file's time in ns and its size.
func tagOf(m mark, coding string) string {
	if coding != "" {
		coding = "-" + coding
	}
	return fmt.Sprintf(`"%x-%x%s"`, uint64(m.modified), m.size, coding)
}

// readVariant reads a file, if it is small.
func readVariant(root *os.Root, name, coding string) (variant, error) {
	file, info, err := openRegular(root, name)
	if err != nil {
		return variant{}, err
	}
	defer file.Close()
	v := variant{name: name, mark: markOf(info), size: info.Size(), coding: coding}
	if v.size <= inMemory {
		v.body, err = io.ReadAll(io.LimitReader(file, v.size))
		v.size = int64(len(v.body))
	}
	return v, err
}

// openRegular opens a file that must be regular.
func openRegular(root *os.Root, name string) (*os.File, os.FileInfo, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe does not hold us up
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = os.ErrNotExist
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}
