package static

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// maxNames is how many resources are kept.
const maxNames = 512

// A site finds what a request asks for. It may be used concurrently.
type site struct {
	root *os.Root  // nil: a page
	page *resource // what / is without a root

	mu    sync.RWMutex
	known map[string]*resource
}

// openSite opens a directory or, without one, a page.
func openSite(c Config) (*site, error) {
	if c.Dir == "" {
		return &site{page: pageResource(c.Page)}, nil
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, err
	}
	return &site{root: root, known: make(map[string]*resource)}, nil
}

// pageResource is that of a page, whose time is that of the start.
func pageResource(p Page) *resource {
	now := time.Now()
	size := int64(len(p.body))
	v := variant{mark: mark{now.UnixNano(), size}, size: size, body: p.body}
	v.describe(p.contentType, now, false)
	res := &resource{variants: []variant{v}}
	res.until.Store(1<<63 - 1)
	return res
}

// close releases the directory.
func (s *site) close() {
	if s.root != nil {
		_ = s.root.Close()
	}
}

// find returns what a request target refers to. If that is a directory, moved is
// where it is found. Code is 0 or the status of an answer without a resource.
func (s *site) find(target []byte, now time.Time) (res *resource, moved string, code status) {
	p, code := decode(target)
	if code != 0 {
		return nil, "", code
	}
	if s.root == nil {
		if p != "/" {
			return nil, "", http.StatusNotFound
		}
		return s.page, "", 0
	}
	name := p[1:]
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	if !served(name) {
		return nil, "", http.StatusNotFound
	}
	s.mu.RLock()
	res = s.known[name]
	s.mu.RUnlock()
	if res != nil && res.fresh(now) {
		return res, "", 0
	}
	res, err := s.look(name, res, now)
	switch {
	case errors.Is(err, errDirectory):
		if _, query, ok := bytes.Cut(target, []byte("?")); ok {
			return nil, (&url.URL{Path: p + "/"}).EscapedPath() + "?" + string(query), http.StatusMovedPermanently
		}
		return nil, (&url.URL{Path: p + "/"}).EscapedPath(), http.StatusMovedPermanently
	case errors.Is(err, fs.ErrPermission):
		return nil, "", http.StatusForbidden
	case err != nil:
		return nil, "", http.StatusNotFound
	}
	return res, "", 0
}

// decode returns the path of a target, without query, unescaped.
func decode(target []byte) (string, status) {
	if target[0] != '/' {
		_, rest, ok := bytes.Cut(target, []byte("://"))
		if !ok {
			return "", http.StatusBadRequest
		}
		target = []byte("/")
		if i := bytes.IndexAny(rest, "/?"); i >= 0 && rest[i] == '/' {
			target = rest[i:]
		}
	}
	target, _, _ = bytes.Cut(target, []byte("?"))
	p, err := url.PathUnescape(string(target))
	if err != nil || strings.ContainsRune(p, 0) {
		return "", http.StatusBadRequest
	}
	return p, 0
}

// served reports whether a name may be looked for: a valid path of parts that do
// not begin with a dot, except .well-known, and that mean the same everywhere.
func served(name string) bool {
	if !fs.ValidPath(name) || strings.ContainsAny(name, `\:`) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part[0] == '.' && part != ".well-known" {
			return false
		}
	}
	return true
}

var errDirectory = errors.New("static: a directory")

// look looks at the files of a name and returns the resource that was known if
// they are the same. Two calls at the same time both read them.
func (s *site) look(name string, known *resource, now time.Time) (*resource, error) {
	print, err := s.printOf(name)
	if err == nil && known != nil && known.print == print {
		known.renew(now)
		return known, nil
	}
	var res *resource
	if err == nil {
		res, err = s.read(name, print)
	}
	if err != nil {
		s.keep(name, nil)
		return nil, err
	}
	res.renew(now)
	s.keep(name, res)
	return res, nil
}

// keep replaces what is known of a name; nil is nothing. If there are too many,
// any other one goes.
func (s *site) keep(name string, res *resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, name)
	if res == nil {
		return
	}
	for other := range s.known {
		if len(s.known) < maxNames {
			break
		}
		delete(s.known, other)
	}
	s.known[name] = res
}

func (s *site) printOf(name string) (print, error) {
	var p print
	info, err := s.root.Stat(name)
	switch {
	case err != nil:
		return p, err
	case info.IsDir():
		return p, errDirectory
	case !info.Mode().IsRegular():
		return p, fs.ErrNotExist
	}
	p[0] = markOf(info)
	for i, c := range codings() {
		if info, err := s.root.Stat(name + c.ending); err == nil && info.Mode().IsRegular() {
			p[i+1] = markOf(info)
		}
	}
	return p, nil
}

// read opens the forms of a file. A compressed form that is older than the file
// or cannot be read does not count.
func (s *site) read(name string, p print) (*resource, error) {
	res := &resource{print: p}
	plain, err := readVariant(s.root, name, "")
	if err != nil {
		return nil, err
	}
	res.variants = append(res.variants, plain)
	for i, c := range codings() {
		if p[i+1] == (mark{}) || p[i+1].modified < p[0].modified {
			continue
		}
		if v, err := readVariant(s.root, name+c.ending, c.name); err == nil {
			res.variants = append(res.variants, v)
		}
	}
	modified := time.Unix(0, plain.mark.modified)
	for i := range res.variants {
		res.variants[i].describe(typeOf(path.Base(name)), modified, len(res.variants) > 1)
	}
	return res, nil
}
