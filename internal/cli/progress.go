package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"contend/load"
	"contend/metric"
)

// progress shows how far something is: one line that is written over on a
// terminal, a plain line now and then elsewhere.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	width func() int // of the terminal, 0 where that is not known; nil: w is none
	begun time.Time
	most  time.Duration // that it may take; 0: not known
	last  time.Time
	// What is shown: the share that is done, what runs, and its figures so far.
	done           float64
	label, figures string
}

// How often a line is written.
const (
	terminalEvery = 200 * time.Millisecond
	plainEvery    = 10 * time.Second
)

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, begun: time.Now()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.width = func() int {
			width, _, _ := term.GetSize(int(f.Fd())) // 0 beside an error
			return width
		}
	}
	return p
}

// show says what is running; done is the share that is complete, 0 to 1, or
// negative where that is not known.
func (p *progress) show(done float64, label string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if label != p.label {
		p.figures = "" // of something else
	}
	p.done, p.label = done, label
	p.write()
}

// update says what the figures of what is running are so far.
func (p *progress) update(figures string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.figures = ": " + figures
	p.write()
}

// write writes the line, if it is time for one.
func (p *progress) write() {
	every := plainEvery
	if p.width != nil {
		every = terminalEvery
	}
	if !p.last.IsZero() && time.Since(p.last) < every {
		return
	}
	p.last = time.Now()
	line := p.line()
	if p.width == nil {
		fmt.Fprintln(p.w, line)
		return
	}
	if width := p.width(); width > 1 {
		line = truncate(line, width-1)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", line)
}

// line has the time since the begin, the share that is done and the time left, as far as
// these are known, what runs, and its figures.
func (p *progress) line() string {
	elapsed := time.Since(p.begun)
	line := fmt.Sprintf("%6s", elapsed.Round(time.Second))
	if p.done >= 0 {
		line += fmt.Sprintf(" %3.0f %%", 100*p.done)
	}
	switch {
	case p.most > 0:
		line += fmt.Sprintf("  at most %v left", max(0, p.most-elapsed).Round(time.Second))
	case elapsed >= time.Second && p.done >= 0.01:
		line += fmt.Sprintf("  %v left", time.Duration(float64(elapsed)*(1-p.done)/p.done).Round(time.Second))
	}
	return line + "  " + p.label + p.figures
}

// soFar is what a run under way has come to: throughput, p99 and errors.
func soFar(now load.Progress) string {
	if now.Measured == 0 {
		return "warm-up"
	}
	text := metric.Throughput.Format(float64(now.Ops) / now.Measured.Seconds())
	if now.P99 > 0 {
		text += ", p99 " + metric.ResponseP99.Format(float64(now.P99))
	}
	switch n := now.Failed + now.Errored; n {
	case 0:
		return text + ", no errors"
	case 1:
		return text + ", 1 error"
	default:
		return text + fmt.Sprintf(", %s errors", metric.Number(float64(n)))
	}
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
	if p.width != nil && !p.last.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
