package page_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"contend/report/page"
)

func listen(t *testing.T) *page.Live {
	t.Helper()
	l, err := page.Listen(`contend run 'http://a/<script>alert(1)</script>'`, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.End(nil, 0) })
	return l
}

func get(t *testing.T, url, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// Nobody reads the page without its token, or by the name of another host; and the command
// line is shown as text.
func TestOnlyWithItsAddress(t *testing.T) {
	l := listen(t)
	root := l.Address()[:strings.Index(l.Address()[len("http://"):], "/")+len("http://")]
	for _, tt := range []struct {
		url, host string
		want      int
	}{
		{l.Address(), "", http.StatusOK}, {root + "/", "", http.StatusNotFound}, {root + "/events", "", http.StatusNotFound},
		{l.Address(), "evil.example", http.StatusForbidden}, {l.Address() + "report", "", http.StatusNotFound},
	} {
		if status, _ := get(t, tt.url, tt.host); status != tt.want {
			t.Errorf("%s of %q: %d, want %d", tt.url, tt.host, status, tt.want)
		}
	}
	if _, body := get(t, l.Address(), ""); strings.Count(body, "<script") != 1 {
		t.Error("the command line is markup")
	}
}

// The page declares what it may do before its first byte: run its own scripts, and ask this server for news.
func TestPolicy(t *testing.T) {
	answer, err := http.Get(listen(t).Address())
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	policy := answer.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "connect-src 'self'", "script-src 'sha256-", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("%q lacks %s", policy, want)
		}
	}
	if scripts, _, _ := strings.Cut(policy[strings.Index(policy, "script-src"):], ";"); strings.Contains(scripts, "unsafe") || strings.Contains(scripts, "self") {
		t.Error(scripts)
	}
}

// watcher is a browser.
type watcher struct {
	*bufio.Reader
	io.Closer
}

func watch(t *testing.T, l *page.Live) watcher {
	t.Helper()
	answer, err := http.Get(l.Address() + "events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return watcher{bufio.NewReader(answer.Body), answer.Body}
}

// next reads an event and what it has: a line, figures, or nothing.
func (w watcher) next(t *testing.T) (event, content string) {
	t.Helper()
	for {
		text, err := w.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		switch name, text, _ := strings.Cut(strings.TrimSpace(text), ": "); {
		case name == "event":
			event = text
		case name == "data" && event == "moment":
			var m page.Moment
			err = json.Unmarshal([]byte(text), &m)
			content = m.What
		case name == "data" && event == "figures":
			err = json.Unmarshal([]byte(text), &content)
		case name == "":
			return event, content
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (w watcher) expect(t *testing.T, events ...string) {
	t.Helper()
	for _, want := range events {
		event, content := w.next(t)
		if got := strings.TrimSpace(event + " " + content); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

// A browser that comes late gets what is known, then what is new, and finally the report before
// the page goes.
func TestFromTheFirstMomentToTheReport(t *testing.T) {
	l := listen(t)
	if l.Watched() {
		t.Error("it is watched by nobody")
	}
	l.Show(page.Moment{What: "1", Figures: "old"})
	l.Show(page.Moment{What: "2", Figures: "<b>\n"})
	l.Show(page.Moment{What: "3"})
	w := watch(t, l)
	w.expect(t, "moment 3", "figures <b>")
	if !l.Watched() {
		t.Error("it is watched")
	}
	l.Show(page.Moment{What: "4\n\nevent: end"})
	w.expect(t, "moment 4\n\nevent: end")
	ended := make(chan struct{})
	go func() { l.End([]byte("the report"), time.Minute); close(ended) }()
	w.expect(t, "end")
	select {
	case <-ended:
		t.Error("it is gone before the report was fetched")
	default:
	}
	if status, body := get(t, l.Address()+"report", ""); status != http.StatusOK || body != "the report" {
		t.Errorf("%d: %s", status, body)
	}
	<-ended
}

// While blocks are measured nothing is sent, not even to browsers that connect during one; between
// them all get what is known then, and the end is sent whenever it comes.
func TestBetweenBlocks(t *testing.T) {
	l := listen(t)
	l.WaitFor(time.Minute)
	first := watch(t, l)
	l.ShowBetween(page.Moment{What: "1"})
	l.Show(page.Moment{What: "in a block"})
	second := watch(t, l)
	l.ShowBetween(page.Moment{What: "2", Figures: "f"})
	first.expect(t, "moment 1", "moment 2", "figures f")
	second.expect(t, "moment 2", "figures f")
	go l.End([]byte("r"), time.Minute)
	first.expect(t, "end")
	second.expect(t, "end")
	get(t, l.Address()+"report", "") // by both, so that it ends
	get(t, l.Address()+"report", "")
}

// Browsers that come, watch and leave are as many as they like, and one that reads nothing is let go:
// nothing that is shown waits for them.
func TestBrowsersAreNotWaitedFor(t *testing.T) {
	l := listen(t)
	large := strings.Repeat("x", 1<<20)
	watch(t, l) // and never reads
	for range 20 {
		l.Show(page.Moment{What: "1", Figures: large})
	}
	many := make([]watcher, 50)
	for i := range many {
		many[i] = watch(t, l)
	}
	for _, w := range many[1:] {
		w.Close()
	}
	many[0].expect(t, "moment 1", "figures "+large)
	many[0].Close()
	for l.Watched() { // until the one that reads nothing is not taken for one either
		l.ShowBetween(page.Moment{What: "2", Figures: large})
	}
}

// Without a browser nothing waits, and a browser that never fetches the report is waited for only so long.
func TestBrowsersAreNotWaitedForForEver(t *testing.T) {
	listen(t).End([]byte("r"), time.Hour)
	l := listen(t)
	watch(t, l)
	l.End([]byte("r"), time.Millisecond)
}
