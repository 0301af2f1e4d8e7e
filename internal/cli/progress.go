package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"contend/internal/secret"
	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/report/page"
)

// progress shows how far something is: one line that is overwritten on a
// terminal, otherwise a plain line now and then.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	width func() int // of the terminal, 0 if not known; nil: w is not a terminal
	begun time.Time
	most  time.Duration // that it may take; 0: not known
	last  time.Time
	// What is shown: the share that is done, what runs, and its figures so far.
	done           float64
	left           time.Duration // 0: not known
	known          bool          // what is left was written once
	label, figures string
	told           *told // nil: no outlets
	secrets        *secret.Book
	live           *page.Live // nil: nobody asked for one
	drawing        drawing    // of a run for it
	drawn, paused  time.Time  // when figures were sent to it last, and something between blocks
}

// How often a line is written.
const (
	terminalEvery = 200 * time.Millisecond
	plainEvery    = 10 * time.Second
)

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, begun: time.Now()}
	if f, ok := bare(w).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.width = func() int {
			width, _, _ := term.GetSize(int(f.Fd())) // 0 with an error
			return width
		}
	}
	return p
}

// show says what is running; done is the share that is complete, 0 to 1, or
// negative where that is not known.
func (p *progress) show(done float64, label string) {
	p.put(done, label)
	p.tell((*page.Live).Show, nil)
}

// put is show on the terminal.
func (p *progress) put(done float64, label string) {
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
	p.figures = ": " + figures
	p.write()
	p.mu.Unlock()
	p.tell((*page.Live).Show, nil)
}

// write writes the line, if it is time for one.
func (p *progress) write() {
	every := plainEvery
	if p.width != nil {
		every = terminalEvery
	}
	news := p.left > 0 && !p.known // which may be a reason not to wait
	if !p.last.IsZero() && time.Since(p.last) < every && !news {
		return
	}
	p.last, p.known = time.Now(), p.known || news
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

// line has how far it is, what runs, and its figures.
func (p *progress) line() string {
	elapsed, done, left := p.far()
	line := fmt.Sprintf("%6s", elapsed)
	if done != "" {
		line += fmt.Sprintf("%6s", done)
	}
	if left != "" {
		line += "  " + left
	}
	return line + "  " + p.secrets.Hide(p.label+p.figures)
}

// far has the time since the beginning, the share that is done and the time left; "": not known.
func (p *progress) far() (elapsed, done, left string) {
	since := time.Since(p.begun)
	if p.done >= 0 {
		done = fmt.Sprintf("%.0f%%", 100*p.done)
	}
	switch {
	case p.left > 0:
		left = fmt.Sprintf("%v left", p.left.Round(time.Second))
	case p.most > 0:
		left = fmt.Sprintf("at most %v left", max(0, p.most-since).Round(time.Second))
	case since >= time.Second && p.done >= 0.01:
		left = fmt.Sprintf("%v left", time.Duration(float64(since)*(1-p.done)/p.done).Round(time.Second))
	}
	return since.Round(time.Second).String(), done, left
}

// leastMeasured is how much of the window says what the throughput is.
const leastMeasured = 100 * time.Millisecond

// soFar is what a run under way has come to: throughput, p99 and errors.
func soFar(now load.Progress) string {
	if now.Measured < leastMeasured && !now.Last {
		return "warm-up"
	}
	text := metric.Throughput.Format(float64(now.Ops) / now.Measured.Seconds())
	if now.P99 > 0 {
		text += ", p99 " + metric.ResponseP99.Format(float64(now.P99))
	}
	switch n := now.Failed + now.Errored; n {
	case 0:
		text += ", no errors"
	case 1:
		text += ", 1 error"
	default:
		text += fmt.Sprintf(", %s errors", unit.Count(n))
	}
	return text + each(now.Spread)
}

// each is what workers have come to each, and the odd one by its name; "": there are none.
func each(s *load.Spread) string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf(", %d workers at %s", s.Generators, metric.Throughput.Format(s.LeastPerSec))
	if s.MostPerSec > s.LeastPerSec {
		text = fmt.Sprintf(", %d workers at %s to %s", s.Generators, unit.Number(s.LeastPerSec), metric.Throughput.Format(s.MostPerSec))
	}
	switch {
	case s.OddSilent:
		return text + ", but " + s.Odd + " is silent"
	case s.Odd != "":
		return text + ", but " + s.Odd + " at " + metric.Throughput.Format(s.OddPerSec)
	}
	return text
}

// truncate keeps the line on one line of the terminal. A character counts as
// one column.
func truncate(line string, width int) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return line
}

// note writes a line of its own.
func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintln(p.w, text)
}

// clear removes the line from a terminal, and waits for what is being drawn.
func (p *progress) clear() {
	p.drawing.Lock()
	defer p.drawing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width != nil && !p.last.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
