// Package page renders reports in a browser: the frame of a report, its styles and scripts, and
// the page that shows a command while it is running.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html"
	"strings"
	"sync"
)

// UPlotCSS belongs to ReportScript.
//
//go:embed uplot.css
var UPlotCSS string

var (
	//go:embed page.css
	css string
	//go:embed report.html
	reportHTML string
	//go:embed live.html
	liveHTML string
	//go:embed uplot.js
	uPlot string // 1.6.32, dist/uPlot.iife.min.js as released; uplot.LICENSE
	//go:embed closely.js
	closely string
	//go:embed report.js
	report string
	// FlameScript enlarges boxes of flame graphs.
	//
	//go:embed flame.js
	FlameScript string
	//go:embed live.js
	live string
)

// ReportScript is what makes pictures over time ones to look at closely.
func ReportScript() string { return uPlot + closely + report }

// A Report is what is filled into the page of one, as HTML.
type Report struct {
	Title, Mood, Answer, Figures, Environment string
	CSS                                       string // added to the CSS of all pages
	Script                                    string // itself; "": none
}

// HTML is the page. It is filled in by hand: packages of templates find methods by name, and
// with them the linker keeps all methods of the program, which makes it 15 MB larger.
func (r Report) HTML() string {
	scripts, script := "'none'", ""
	if r.Script != "" {
		scripts, script = "'"+hash(r.Script)+"'", "<script>"+r.Script+"</script>\n"
	}
	return strings.NewReplacer("{{scripts}}", scripts, "{{title}}", r.Title, "{{css}}", r.CSS+css, "{{mood}}", r.Mood, "{{answer}}", r.Answer,
		"{{figures}}", r.Figures, "{{environment}}", r.Environment, "{{script}}", script).Replace(reportHTML)
}

// liveScript is what the page of a command under way runs.
var liveScript = sync.OnceValue(func() string { return uPlot + closely + live })

// framed says what a page may do while a command runs: it may not be put in a frame, and its own
// script asks for news. The report that replaces it has a policy of its own.
const framed = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var policy = sync.OnceValue(func() string {
	return "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; script-src '" + hash(liveScript()) + "'; " + framed
})

// liveOf is the page that shows a command under way, with the style of its figures.
func liveOf(command, figures string) string {
	return strings.NewReplacer("{{command}}", html.EscapeString(command), "{{css}}", figures+css+UPlotCSS, "{{script}}", liveScript()).Replace(liveHTML)
}

// hash is what a policy allows a script by.
func hash(script string) string {
	digest := sha256.Sum256([]byte(script))
	return "sha256-" + base64.StdEncoding.EncodeToString(digest[:])
}
