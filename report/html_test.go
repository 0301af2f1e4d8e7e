package report_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/internal/unit"
	"contend/report"
)

// A page needs nothing but itself, is small, begins with what the terminal says, and has
// everything that the text has.
func TestPages(t *testing.T) {
	outside := regexp.MustCompile(`(?i)(src|href)="([^"]*)"|@import|url\(`)
	for name, d := range allDocuments() {
		page := rendered(t, d.HTML)
		if len(page) > 300_000 {
			t.Errorf("%s: %d bytes", name, len(page))
		}
		for _, m := range outside.FindAllStringSubmatch(page, -1) {
			if !strings.HasPrefix(m[2], "#") && !strings.HasPrefix(m[2], "data:image/png;base64,") {
				t.Errorf("%s asks for %s", name, m[0])
			}
		}
		plain := strings.Join(strings.Fields(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " "))), " ")
		var brief, markdown bytes.Buffer
		if err := d.Brief(&brief, report.Look{}); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(strings.TrimSpace(brief.String()), ": INVALID")
		if !strings.Contains(plain, first) {
			t.Errorf("%s does not say %q", name, first)
		}
		if err := d.Markdown(&markdown); err != nil {
			t.Fatal(err)
		}
		for _, row := range strings.Split(markdown.String(), "\n") {
			cells := strings.Split(strings.Trim(row, "| "), " | ")
			if !strings.HasPrefix(row, "| ") || strings.HasPrefix(cells[0], "---") || strings.ContainsAny(row, `\&`) {
				continue
			}
			if want := strings.Join(strings.Fields(strings.Join(cells, " ")), " "); !strings.Contains(plain, want) {
				t.Errorf("%s lacks the row %q", name, want)
			}
		}
	}
}

// Each kind of document has its pictures.
func TestPicturesOfDocuments(t *testing.T) {
	for name, titles := range map[string][]string{
		"closed":      {"Response times at concurrency 50", "Throughput over time", "Errors over time", "Response times over time", "All answers"},
		"comparison":  {"What differs", "Every round: inputq at concurrency 10", "CPU time per op at concurrency 10", "All answers of mutex at concurrency 10"},
		"counted":     {"Instructions of an operation at concurrency 1"},
		"why":         {"Why inputq differs from mutex", "Where mutex and inputq spend CPU time"},
		"sweep":       {"Throughput over concurrency: peaked", "Response time over concurrency"},
		"search":      {"Attempts"},
		"guards":      {"add-get"},
		"calibration": {"What comparisons can see", "Equal servers", "Length of a block"},
		"uplinks":     {"What became of the uplinks", "CPU time by program", "Backlog over time", "Throughput over time"},
	} {
		page := rendered(t, allDocuments()[name].HTML)
		for _, title := range titles {
			if !regexp.MustCompile(`<figcaption>[^<]*(?i)` + title).MatchString(page) {
				t.Errorf("%s has no picture %q: %q", name, title, regexp.MustCompile(`<figcaption>[^<]*`).FindAllString(page, -1))
			}
		}
	}
}

// The names of servers and users change nothing on a page.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "'-alert(1)-'", "</style><style>*{display:none}", "\u202eevil\x1b[2J", "javascript:alert(1)"} {
		d := closedRun()
		d.Results[0].Target = name
		for kind := range d.Results[0].Examples {
			d.Results[0].Examples[kind] = name
		}
		d.Arms, d.Notes, d.Next, d.Settle, d.NextFor, d.SettleFor = []report.Arm{{Name: name, Does: name}}, []string{name}, name, name, name, name
		page := rendered(t, d.HTML)
		if strings.Count(page, "<script") != 1 || strings.Count(page, "<style") != 1 || strings.Contains(page, "<img") || strings.ContainsAny(page, "\u202e\x1b") {
			t.Errorf("%q is on the page as it is", name)
		}
	}
}

// The library for pictures over time is the released one: uPlot 1.6.32, dist/uPlot.iife.min.js.
func TestLibraryIsTheReleasedOne(t *testing.T) {
	for name, want := range map[string]string{
		"uplot.js":  "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uplot.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	} {
		content, err := os.ReadFile("page/" + name)
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); err != nil || got != want {
			t.Errorf("%s has %s, want %s: %v", name, got, want, err)
		}
	}
}

// The picture of the README shows the run whose percentiles the README has.
func TestPictureOfTheReadme(t *testing.T) {
	stored := testenv.Read(t, "../docs/picture/stall.json")
	d, err := report.Read(bytes.NewReader(stored))
	if err != nil {
		t.Fatal(err)
	}
	testenv.Golden(t, "../docs/picture/stall.svg", report.PictureOf(d, "All answers"))
	readme := testenv.Read(t, "../README.md")
	response := d.Results[0].Response
	shown := fmt.Sprintf("median %s, p99 %s", unit.Duration(float64(response.Quantile(0.5))), unit.Duration(float64(response.Quantile(0.99))))
	if !strings.Contains(string(readme), shown) {
		t.Errorf("the README does not have %q", shown)
	}
}

// What was measured of both, and where they were asked, is in sight without unfolding anything.
func TestHTMLShowsThePageUnfolded(t *testing.T) {
	d := oneLevel(10)
	d.Arms[0].URL = "http://{{addr}}/items"
	b := rendered(t, d.HTML)
	inSight, _, _ := strings.Cut(b, "<details")
	for _, want := range []string{"./orders -mode queue -listen {{addr}}", "http://{{addr}}/items", "10,006/s", "11,003/s", "response time"} {
		if !strings.Contains(inSight, want) {
			t.Errorf("no %q before the first fold", want)
		}
	}
}
