package abform

import (
	"bytes"
	"fmt"
	"html"
	"io"

	"contend/report/plain"
)

// A Markup holds the attributes that ab's -x, -y and -z put into the tags of
// the table, its rows and its cells.
type Markup struct {
	Table, Row, Cell string
}

// HTML writes the report as ab's -w does: one table.
func (r *Form) HTML(w io.Writer, m Markup) error {
	p := htmlPage{markup: m}
	fmt.Fprintf(&p.b, "\n\n<table %s>\n", m.Table)
	p.row("Server Software:", "%s", html.EscapeString(plain.Line(r.Server)))
	p.row("Server Hostname:", "%s", html.EscapeString(r.Host))
	p.row("Server Port:", "%d", r.Port)
	p.row("Document Path:", "%s", html.EscapeString(r.Path))
	p.row("Document Length:", "%s", r.length())
	p.row("Concurrency Level:", "%d", r.Result.Concurrency)
	p.row("Time taken for tests:", "%.3f seconds", r.seconds())
	r.htmlCounts(&p)
	r.htmlRates(&p)
	r.htmlTimes(&p)
	if !r.Strict {
		r.htmlSummary(&p)
	}
	p.b.WriteString("</table>\n")
	_, err := w.Write(p.b.Bytes())
	return err
}

type htmlPage struct {
	b      bytes.Buffer
	markup Markup
}

func (p *htmlPage) row(label, format string, args ...any) {
	row, cell := p.markup.Row, p.markup.Cell
	fmt.Fprintf(&p.b, "<tr %s><th colspan=2 %s>%s</th><td colspan=2 %s>%s</td></tr>\n",
		row, cell, label, cell, fmt.Sprintf(format, args...))
}

// more continues the row above.
func (p *htmlPage) more(format string, args ...any) {
	row, cell := p.markup.Row, p.markup.Cell
	fmt.Fprintf(&p.b, "<tr %s><td colspan=2 %s>&nbsp;</td><td colspan=2 %s>%s</td></tr>\n",
		row, cell, cell, fmt.Sprintf(format, args...))
}

func (r *Form) htmlCounts(p *htmlPage) {
	n := r.count()
	p.row("Complete requests:", "%d", n.complete)
	p.row("Failed requests:", "%d", n.failed)
	if n.failed > 0 {
		fmt.Fprintf(&p.b, "<tr %s><td colspan=4 %s >   (Connect: %d, Length: %d, Exceptions: %d)</td></tr>\n",
			p.markup.Row, p.markup.Cell, n.connect, n.length, n.exceptions+n.receive)
	}
	if n.nonSuccess > 0 {
		p.row("Non-2xx responses:", "%d", n.nonSuccess)
	}
	if r.KeepAlive {
		p.row("Keep-Alive requests:", "%d", r.KeptAlive)
	}
	p.row("Total transferred:", "%d bytes", r.Result.BytesIn)
	if r.HasBody {
		p.row("Total body sent:", "%d", r.Result.BytesOut)
	}
	p.row("HTML transferred:", "%d bytes", r.Result.BodyIn)
}

func (r *Form) htmlRates(p *htmlPage) {
	if r.Result.Duration == 0 {
		return
	}
	p.row("Requests per second:", "%.2f", r.perSecond())
	p.row("Transfer rate:", "%.2f kb/s received", r.kilobytes(r.Result.BytesIn))
	if r.HasBody {
		p.more("%.2f kb/s sent", r.kilobytes(r.Result.BytesOut))
		p.more("%.2f kb/s total", r.kilobytes(r.Result.BytesIn+r.Result.BytesOut))
	}
}

func (r *Form) htmlTimes(p *htmlPage) {
	if r.Times.total.hist.Count() == 0 {
		return
	}
	row, cell := p.markup.Row, p.markup.Cell
	fmt.Fprintf(&p.b, "<tr %s><th %s colspan=4>Connection Times (ms)</th></tr>\n", row, cell)
	fmt.Fprintf(&p.b, "<tr %[1]s><th %[2]s>&nbsp;</th> <th %[2]s>min</th>   <th %[2]s>avg</th>   <th %[2]s>max</th></tr>\n", row, cell)
	for _, line := range []struct {
		label string
		time  *oneTime
	}{{"Connect:", &r.Times.connect}, {"Processing:", &r.Times.processing}, {"Total:", &r.Times.total}} {
		h := line.time.hist
		fmt.Fprintf(&p.b, "<tr %[1]s><th %[2]s>%[3]s</th><td %[2]s>%5[4]s</td><td %[2]s>%5[5]s</td><td %[2]s>%5[6]s</td></tr>\n",
			row, cell, line.label, r.ms(h.Min()), r.ms(h.Mean()), r.ms(h.Max()))
	}
}

func (r *Form) htmlSummary(p *htmlPage) {
	var b bytes.Buffer
	r.summary(&b)
	fmt.Fprintf(&p.b, "<tr %s><td colspan=4 %s><pre>%s</pre></td></tr>\n", p.markup.Row, p.markup.Cell, html.EscapeString(b.String()))
}
