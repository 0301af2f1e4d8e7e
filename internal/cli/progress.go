package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress shows how far something is: one line that is written over on a
// terminal, a plain line now and then elsewhere.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal *os.File // nil: w is none
	begun    time.Time
	most     time.Duration // that it may take; 0: not known
	last     time.Time
}

// How often a line is written.
const (
	terminalEvery = 200 * time.Millisecond
	plainEvery    = 10 * time.Second
)

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, begun: time.Now()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.terminal = f
	}
	return p
}

// show says what is running; done is the share that is complete, 0 to 1, or
// negative where that is not known.
func (p *progress) show(done float64, label string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	every := plainEvery
	if p.terminal != nil {
		every = terminalEvery
	}
	if time.Since(p.last) < every {
		return
	}
	p.last = time.Now()
	line := p.line(done, label)
	if p.terminal == nil {
		fmt.Fprintln(p.w, line)
		return
	}
	width, _, err := term.GetSize(int(p.terminal.Fd()))
	if err == nil && width > 1 {
		line = truncate(line, width-1)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", line)
}

// line has the time since the begin, the share that is done and the time left, as far as
// these are known, and the label.
func (p *progress) line(done float64, label string) string {
	elapsed := time.Since(p.begun)
	line := fmt.Sprintf("%6s", elapsed.Round(time.Second))
	if done >= 0 {
		line += fmt.Sprintf(" %3.0f %%", 100*done)
	}
	switch {
	case p.most > 0:
		line += fmt.Sprintf("  at most %v left", max(0, p.most-elapsed).Round(time.Second))
	case elapsed >= time.Second && done >= 0.01:
		line += fmt.Sprintf("  %v left", time.Duration(float64(elapsed)*(1-done)/done).Round(time.Second))
	}
	return line + "  " + label
}

// truncate keeps the line on one line of the terminal. A character counts as
// one column.
func truncate(line string, width int) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return line
}

// clear removes the line from a terminal.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal != nil && !p.last.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
