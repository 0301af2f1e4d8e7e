package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"contend/load"
	"contend/report"
)

// ofWorkers is a document of a run by n workers: number 7 is slow and number 9 is lost.
func ofWorkers(n int) *report.Document {
	r := closedResult("http://localhost:8080/", n, int64(100*(n-1)))
	for i := range n {
		g := load.Generator{Name: fmt.Sprintf("w%04d", i), Machine: fmt.Sprint(i), VUs: 1, Completed: 100, ResponseP50: time.Millisecond + time.Duration(i), ResponseP99: 2 * time.Millisecond,
			Times: make(load.HeatColumn, 64), Standing: load.Standing{Samples: 30}}
		g.Times[60+i%3] = 100
		switch i {
		case 7:
			g.ResponseP50 = time.Second
			g.Standing.Response = load.Place{Ranks: 30 * float64(n) / 2, LogRatios: 30 * 0.5}
		case 9:
			g = load.Generator{Name: g.Name, Lost: "gone"}
		}
		r.Generators = append(r.Generators, g)
	}
	return runDocument(r)
}

// A page lists those of a thousand workers that matter, and the document has all.
func TestThousandWorkers(t *testing.T) {
	t.Parallel()
	d := ofWorkers(1000)
	var text, page, document bytes.Buffer
	for _, err := range []error{d.Text(&text), d.HTML(&page), d.Write(&document)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	lines := 0
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "  w0") {
			lines++
		}
	}
	for _, want := range []string{"  w0007 ", "  w0009 ", "lost: gone", "  w0000 ", "  w0999 ", "and 988 more between these"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if lines != 12 { // one lost, one odd, five at each end
		t.Errorf("%d of them listed, want 12", lines)
	}
	if !strings.Contains(page.String(), "Workers side by side") || page.Len() > 1<<20 {
		t.Errorf("a page of %d bytes without the picture, or too long", page.Len())
	}
	if n := strings.Count(document.String(), `"machine"`); n != 1000 || document.Len() > 1<<20 {
		t.Errorf("%d workers in a document of %d bytes", n, document.Len())
	}
	if got := report.PictureOf(ofWorkers(1), "Workers side by side"); got != "" {
		t.Error("a picture of one worker")
	}
}
