package symbol

import (
	"os"
	"time"
)

// maxKept bounds what is kept of files, in bytes: about 30 MB for a program of 100 MB with
// all its symbols. What was used last is kept, even if it alone is more.
const maxKept = 512 << 20

// A fileID tells files apart, also those that have the same inode one after the other: a file
// system may give the one of a removed file to the next, and a file can be written anew. Either
// shows in the times.
type fileID struct {
	device, inode uint64
	size          int64
	modified      int64 // in ns since 1970
	changed       int64 // its content, its owner or how many names it has; nobody can set it
}

// isOlder reports whether the file has been what it is since before a time. The clocks of file
// systems lag by a tick, which is less than a second.
func (id fileID) isOlder(than time.Time) bool {
	return !than.IsZero() && time.Unix(0, id.changed).Add(time.Second).Before(than)
}

// files are what has been read of files.
type files struct {
	kept map[fileID]*keptFile
	size int64 // of all
	uses int64
}

type keptFile struct {
	*module
	used int64 // the number of its last use
}

// of returns what a file has, nil if it cannot be identified. It reads only files that are not known.
func (k *files) of(f *os.File, debug func(id string) (*os.File, error)) *module {
	id, err := identify(f)
	if err != nil {
		return nil
	}
	k.uses++
	if known := k.kept[id]; known != nil {
		known.used = k.uses
		return known.module
	}
	if k.kept == nil {
		k.kept = map[fileID]*keptFile{}
	}
	read := readModule(f, debug)
	k.kept[id] = &keptFile{read, k.uses}
	k.size += read.size()
	k.forget(maxKept)
	return read
}

// forget forgets what has not been used for longest, until the rest has at most so many bytes.
func (k *files) forget(most int64) {
	for k.size > most && len(k.kept) > 1 {
		var oldest fileID
		for id, file := range k.kept {
			if by := k.kept[oldest]; by == nil || file.used < by.used {
				oldest = id
			}
		}
		k.size -= k.kept[oldest].size()
		delete(k.kept, oldest)
	}
}
