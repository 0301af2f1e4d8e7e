package report_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	pdf "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"contend/internal/testenv"
	"contend/report"
	live "contend/report/page"
)

// A browser shows every page on a phone and on a desk, light and dark: no request leaves, no
// script fails, nothing overflows, and axe finds no barrier. Printed it has six pages at most.
func TestPagesInABrowser(t *testing.T) {
	browser, axe := newBrowser(t)
	documents := allDocuments()
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		path := testenv.Write(t, filepath.Join(t.TempDir(), name+".html"), rendered(t, documents[name].HTML))
		tab, leave := context.WithCancel(browser) // its end is that of the listener: one tab opens all pages
		look(t, tab, name, "file://"+path, axe)
		if name == "why" {
			enlarge(t, tab)
		}
		leave()
	}
}

// enlarge looks at the flame graph of the candidate, which opens at the function that explains most, and clicks on a box,
// which becomes as wide as the graph, and on the topmost, which makes it as wide as it was.
func enlarge(t *testing.T, tab context.Context) {
	t.Helper()
	for _, step := range []struct{ click, look, want string }{{"", "\\x1b[31mred", "0% 100%"}, {"sha256", "sha256", "0% 100%"}, {"all", "sha256", "93.75% 6.25%"}} {
		var got string
		err := chromedp.Run(tab, chromedp.Evaluate(fmt.Sprintf(`(() => {
			const box = name => [...document.querySelectorAll(".flame")[1].querySelectorAll("svg")].find(b => b.textContent.startsWith(name));
			const click = %q, look = %q;
			if (click) box(click).querySelector("rect").dispatchEvent(new MouseEvent("click", { bubbles: true }));
			return box(look).getAttribute("x") + " " + box(look).getAttribute("width");
		})()`, step.click, step.look), &got))
		if err != nil || got != step.want {
			t.Errorf("after a click on %s its place is %q, want %q: %v", step.click, got, step.want, err)
		}
	}
}

// newBrowser starts a browser, and returns what finds barriers in it.
func newBrowser(t *testing.T) (browser context.Context, axe string) {
	t.Helper()
	if testenv.Race {
		t.Skip("a browser waits for pages that the race detector makes late; CI looks at them in a step of its own")
	}
	program := testenv.Program(t, "chromium")
	script, err := os.ReadFile("testdata/axe/axe.min.js") // axe-core 4.14.1, as released
	if err != nil {
		t.Fatal(err)
	}
	allocated, cancel := chromedp.NewExecAllocator(t.Context(), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WSURLReadTimeout(2*time.Minute),
		chromedp.Flag("js-flags", "--no-opt"), chromedp.Flag("renderer-process-limit", "1"))...) // optimizing what runs for a second costs more than it saves
	t.Cleanup(cancel)
	browser, cancel = chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	if err := chromedp.Run(browser); err != nil {
		t.Fatal(err)
	}
	return browser, string(script)
}

// listenTo has a tab that asks for another page or fails be one of a failed test.
func listenTo(t *testing.T, tab context.Context, name, url string) {
	t.Helper()
	chromedp.ListenTarget(tab, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, url) && !strings.HasPrefix(e.Request.URL, "data:") {
				t.Errorf("%s asks for %.100s", name, e.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			t.Errorf("%s: %s", name, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			t.Errorf("%s: %s: %s", name, e.Entry.Level, e.Entry.Text)
		}
	})
	if err := chromedp.Run(tab, network.Enable(), log.Enable()); err != nil {
		t.Fatal(err)
	}
}

// barriers has axe list those of the page.
func barriers(axe string, found *string) chromedp.Action {
	return chromedp.Evaluate(axe+`;axe.run({resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then(r => r.violations.map(v => v.id + ": " + v.nodes.map(n => n.target + " " + n.failureSummary).join("; ")).join("\n"))`, found,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) })
}

// look opens a page as people do.
func look(t *testing.T, tab context.Context, name, url, axe string) {
	t.Helper()
	listenTo(t, tab, name, url)
	for _, at := range []struct {
		width  int64
		themes []string // the page is opened in the first, where axe looks at it for seconds, and goes over to the other
	}{{390, []string{"dark", "light"}}, {1280, []string{"light", "dark"}}} {
		for i, theme := range at.themes {
			overflow, found := 0, ""
			actions := []chromedp.Action{emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}})}
			if i == 0 {
				actions = append(actions, emulation.SetDeviceMetricsOverride(at.width, 900, 1, at.width < 800), chromedp.Navigate(url))
				if at.width == 1280 { // as it is opened, in light
					actions = append(actions, printed(t, name))
				}
				actions = append(actions, chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil), barriers(axe, &found))
			}
			actions = append(actions, chromedp.Evaluate(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &overflow))
			if err := chromedp.Run(tab, actions...); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			where := fmt.Sprintf("%s, %s at %d", name, theme, at.width)
			if overflow > 0 {
				t.Errorf("%s is %d pixels too wide", where, overflow)
			}
			if found != "" {
				t.Errorf("%s: axe finds %.2000s", where, found)
			}
		}
	}
}

// printed counts the pages on paper.
func printed(t *testing.T, name string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		onPaper, _, err := pdf.PrintToPDF().WithPaperWidth(8.27).WithPaperHeight(11.69).Do(ctx)
		if pages := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(onPaper, -1)); pages < 1 || pages > 6 {
			t.Errorf("%s: %d printed pages", name, pages)
		}
		return err
	})
}

// The page of a command under way shows what servers say as text, goes on in the figures that are
// looked at, has no barriers, and becomes the report.
func TestLivePageInABrowser(t *testing.T) {
	const hostile = `"><img src=x onerror=hacked=1><script>hacked=1</script>`
	browser, axe := newBrowser(t)
	l, err := report.Listen("contend run " + hostile)
	if err != nil {
		t.Fatal(err)
	}
	defer l.End(nil, 0)
	listenTo(t, browser, "live", l.Address())
	l.Show(live.Moment{Done: 0.1, What: hostile, Figures: runUnderWay(hostile, 3*time.Second).UnderWay()})
	var first, second, found, at string
	const state = `[document.querySelector("h1").textContent, document.querySelectorAll("img, main script").length, typeof hacked,
		document.querySelectorAll("figure").length, document.querySelectorAll("figure > .closely").length, document.querySelector("details").open,
		document.querySelector("figure").closely.plot.x.length, document.querySelectorAll("figure:first-child .u-series").length].join(" ")`
	run := func(actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(browser, actions...); err != nil {
			t.Fatal(err)
		}
	}
	run(chromedp.Navigate(l.Address()), chromedp.Poll(`document.querySelector(".closely")`, nil, chromedp.WithPollingTimeout(time.Minute)),
		chromedp.Evaluate(state, &first), chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil))
	l.Show(live.Moment{Done: 0.2, What: "on", Figures: runUnderWay(hostile, 5*time.Second).UnderWay()})
	run(chromedp.Poll(`document.querySelector("figure").closely.plot.x.length > 48`, nil, chromedp.WithPollingTimeout(time.Minute)), chromedp.Evaluate(state, &second))
	if want := hostile + " 0 undefined 2 2 false 48 2"; first != want {
		t.Errorf("it has\n%s, want\n%s", first, want)
	}
	if want := "on 0 undefined 2 2 true 80 2"; second != want {
		t.Errorf("then it has %s, want %s", second, want)
	}
	run(barriers(axe, &found))
	if found != "" {
		t.Errorf("axe finds %.2000s", found)
	}
	ended := make(chan struct{})
	go func() { l.End([]byte(rendered(t, closedRun().HTML)), time.Minute); close(ended) }()
	<-ended
	for begun := time.Now(); !strings.HasPrefix(at, "complete3/") && time.Since(begun) < time.Minute; { // a page that goes away answers with an error
		_ = chromedp.Run(browser, chromedp.Evaluate(`document.readyState + document.querySelectorAll("figure > .closely").length + location.pathname`, &at))
	}
	if !strings.HasPrefix(at, "complete3/") {
		t.Errorf("in the end it is %s", at)
	}
}
