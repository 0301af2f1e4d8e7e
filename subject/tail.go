package subject

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	tailLines = 20
	tailBytes = 8 << 10
	// drainPause bounds how often a subject that writes a line per request wakes
	// us: without it every line costs the generator's cores a wake-up. At 64 KiB
	// of pipe a pause of 1 ms holds nobody back below 64 MB/s, and at that rate
	// reads come back full and there is no pause.
	drainPause = time.Millisecond
	drainBytes = 64 << 10
)

// A tail keeps the last tailBytes of a stream in fixed memory. It is safe for
// concurrent use.
type tail struct {
	mu   sync.Mutex
	ring [tailBytes]byte
	size int64 // bytes ever written
}

func (t *tail) write(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if skip := len(p) - tailBytes; skip > 0 {
		t.size += int64(skip)
		p = p[skip:]
	}
	at := int(t.size % tailBytes)
	n := copy(t.ring[at:], p)
	copy(t.ring[:], p[n:])
	t.size += int64(len(p))
}

// text returns the last tailLines whole lines, without the final newline. A
// line longer than the memory loses its beginning.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := int(t.size % tailBytes)
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

// drain reads r to its end into t, and shows it to watch unless that is nil.
func drain(r *os.File, t *tail, watch *lineWatch) {
	defer r.Close()
	buf := make([]byte, drainBytes)
	var rest []byte
	for {
		n, err := r.Read(buf)
		t.write(buf[:n])
		if watch != nil {
			rest = watch.scan(rest, buf[:n])
		}
		if err != nil {
			return
		}
		if n < len(buf)/2 {
			time.Sleep(drainPause)
		}
	}
}
