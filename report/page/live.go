package page

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// A Live is a page that shows progress to browsers on this machine, and the report once it is
// complete. Its address has a token that nobody else on the machine knows, and requests that
// use another name of the host are refused, so pages of other sites cannot read it. The page
// waits for no browser and keeps only its newest state. It is safe for concurrent use.
type Live struct {
	listener net.Listener
	server   *http.Server
	root     string // "/", the token, "/"
	atOnce   time.Duration

	mu       sync.Mutex
	state    [2]event // the moment, and its figures
	changed  chan struct{}
	browsers map[*browser]bool
	// paused is set while a block runs, if browsers get updates only between blocks.
	paused bool
	report []byte
	due    int // browsers that have been told that there is a report, and not been given it
}

// An event is what browsers are sent, and how many there were of its kind.
type event struct {
	text   []byte
	number int
}

// A Moment is what is known at one time.
type Moment struct {
	Done float64 `json:"done"` // 0 to 1; below 0: not known
	What string  `json:"what"` // runs, and its figures
	Far  string  `json:"far"`  // how far it is, and how long it goes on
	// Figures are those of the report so far, as HTML; "": those of before.
	Figures string `json:"-"`
}

// A browser watches. It is being sent to while it takes.
type browser struct {
	sent   [2]int // numbers of the events
	taking bool
	answer *http.ResponseController
}

// How long a browser may take to be sent an event, and how long where a comparison waits for it;
// one that takes longer is let go, and comes again.
const (
	patience = 10 * time.Second
	atOnce   = 100 * time.Millisecond
)

// Listen opens a page for a command on a free port of the loopback interface; css is the style of
// the figures.
func Listen(command, css string) (*Live, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Live{listener: listener, root: "/" + rand.Text() + "/", atOnce: atOnce, changed: make(chan struct{}), browsers: map[*browser]bool{}}
	content := liveOf(command, css)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+l.root+"{$}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, content) })
	mux.HandleFunc("GET "+l.root+"events", l.events)
	mux.HandleFunc("GET "+l.root+"report", l.finished)
	l.server = &http.Server{Handler: l.local(mux), ReadHeaderTimeout: 5 * time.Second}
	go l.server.Serve(listener)
	return l, nil
}

// Address is where the page is.
func (l *Live) Address() string { return "http://" + l.listener.Addr().String() + l.root }

// local refuses requests that name another host, as those of other sites do whose name was
// made to resolve to this machine.
func (l *Live) local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != l.listener.Addr().String() {
			http.Error(w, "this is "+l.listener.Addr().String(), http.StatusForbidden)
			return
		}
		for name, value := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Content-Security-Policy": policy(),
			"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		} {
			w.Header().Set(name, value)
		}
		next.ServeHTTP(w, r)
	})
}

// Watched reports whether there is a browser.
func (l *Live) Watched() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.browsers) > 0
}

// Show tells browsers what is known now, and does not wait for them.
func (l *Live) Show(m Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.show(m)
}

func (l *Live) show(m Moment) {
	l.state[0].next("moment", m)
	if m.Figures != "" {
		l.state[1].next("figures", m.Figures)
	}
	l.tell()
}

// next makes the text of the event that follows.
func (e *event) next(kind string, content any) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\ndata: ", kind)
	text := json.NewEncoder(&b) // on one line
	text.SetEscapeHTML(false)   // nobody takes an event for a page
	text.Encode(content)        // of text and finite numbers
	b.WriteByte('\n')
	e.text = b.Bytes()
	e.number++
}

// ShowBetween sends browsers what is known now, and returns when they have it, or after 100 ms.
// Once it has been called, nothing is sent outside its calls until the end.
func (l *Live) ShowBetween(m Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = false
	l.show(m)
	ctx, cancel := context.WithTimeout(context.Background(), l.atOnce)
	defer cancel()
	for l.behind() && l.wait(ctx) {
	}
	l.paused = true
	for b := range l.browsers {
		if b.taking {
			b.answer.SetWriteDeadline(time.Now())
		}
	}
}

// behind reports whether a browser has not been sent everything.
func (l *Live) behind() bool {
	for b := range l.browsers {
		if b.taking || len(l.news(b)) > 0 {
			return true
		}
	}
	return false
}

// wait waits until something has changed; false: ctx was done before.
func (l *Live) wait(ctx context.Context) bool {
	changed := l.changed
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *Live) tell() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// End sends the report to the connected browsers and closes the page: after wait at most, at
// once if no browser is connected.
func (l *Live) End(report []byte, wait time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	l.mu.Lock()
	l.report, l.paused = report, false
	l.due = len(l.browsers)
	l.tell()
	for l.due > 0 && l.wait(ctx) {
	}
	l.mu.Unlock()
	if l.server.Shutdown(ctx) != nil {
		l.server.Close()
	}
}

// news returns what a browser has not been sent.
func (l *Live) news(b *browser) (text []byte) {
	for i, e := range l.state {
		if b.sent[i] != e.number {
			text = append(text, e.text...)
		}
	}
	return text
}

// next waits until there is something to be sent to a browser, which takes it then; ended says
// that nothing follows, as to one that has left.
func (l *Live) next(ctx context.Context, b *browser) (text []byte, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.taking {
		b.taking = false
		l.tell()
	}
	for {
		if l.report != nil {
			b.taking = true
			return append(l.news(b), "event: end\ndata: 1\n\n"...), true
		}
		if text = l.news(b); len(text) > 0 && !l.paused {
			b.sent = [2]int{l.state[0].number, l.state[1].number}
			b.taking = true
			return text, false
		}
		if !l.wait(ctx) {
			return nil, true
		}
	}
}

// events sends what is known, and whatever is new when it comes, as server-sent events.
func (l *Live) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	b := &browser{answer: http.NewResponseController(w)}
	l.mu.Lock()
	l.browsers[b] = true
	l.mu.Unlock()
	err := b.answer.Flush()
	var text []byte
	for ended := false; err == nil && !ended; {
		text, ended = l.next(r.Context(), b)
		b.answer.SetWriteDeadline(time.Now().Add(patience))
		_, err = w.Write(text)
		err = errors.Join(err, b.answer.Flush())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.browsers, b)
	if l.report != nil && (err != nil || text == nil) {
		l.due-- // it left before it heard of the report, and will not come for it
	}
	l.tell()
}

func (l *Live) finished(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	report := l.report
	l.mu.Unlock()
	if report == nil {
		http.Error(w, "it is not there yet", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Security-Policy", framed)
	w.Write(report)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due--
	l.tell()
}
