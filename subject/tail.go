package subject

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

const (
	tailLines = 50 // a usage text, or a stack, with the cause above it
	tailBytes = 8 << 10
)

// A tail is an io.Writer that keeps the last tailBytes of a stream in fixed
// memory. It may be read while it is written.
type tail struct {
	watch *lineWatch // also sees every byte; may be nil
	rest  []byte     // of the watch: a line that is not complete yet

	mu   sync.Mutex
	ring [tailBytes]byte
	size int64 // bytes ever written
}

func (t *tail) Write(p []byte) (int, error) {
	t.keep(p) // first, so that a caller that waits for a line can read it
	if t.watch != nil {
		t.rest = t.watch.scan(t.rest, p)
	}
	return len(p), nil
}

func (t *tail) keep(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if skip := len(p) - tailBytes; skip > 0 {
		t.size += int64(skip)
		p = p[skip:]
	}
	n := copy(t.ring[t.size%tailBytes:], p)
	copy(t.ring[:], p[n:])
	t.size += int64(len(p))
}

// text returns the last tailLines whole lines, without the final newline. A
// line longer than the memory loses its beginning.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.size % tailBytes
	kept := string(t.ring[:at])
	if t.size >= tailBytes {
		kept = string(t.ring[at:]) + kept
	}
	if t.size > tailBytes {
		if _, whole, cut := strings.Cut(kept, "\n"); cut && whole != "" {
			kept = whole
		}
	}
	lines := strings.Split(strings.TrimRight(kept, "\r\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// A lineWatch looks for a line in both output streams of a subject.
type lineWatch struct {
	pattern *regexp.Regexp
	once    sync.Once
	seen    chan struct{} // closed when a line matched
}

// scan looks at the lines that more completes and returns the incomplete rest,
// cut to tailBytes. After the first match it does nothing.
func (w *lineWatch) scan(rest, more []byte) []byte {
	select {
	case <-w.seen:
		return nil
	default:
	}
	rest = append(rest, more...)
	for {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			return rest[:min(len(rest), tailBytes)]
		}
		if w.pattern.Match(line) {
			w.once.Do(func() { close(w.seen) })
			return nil
		}
		rest = after
	}
}
