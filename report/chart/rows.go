package chart

import "html"

// Rows is a picture of named values below each other, along one axis. The zero value is an
// empty one.
type Rows struct {
	Alt  string
	X    Axis
	Rows []Row
	Bars bool   // from the low end of the axis to the value; else a dot with its interval
	Band Band   // shaded, along the axis, where its ends differ
	Mark []Mark // lines across
}

// A Row is one of them.
type Row struct {
	Name   string
	Value  float64 // not finite: no value
	Text   string  // the value in words
	Note   string
	Colour int
	Faint  bool // the result is INVALID
	// Low and High are the ends of its interval; equal: it has none.
	Low, High float64
}

const rowHeight = 34

// SVG is the picture as an element of a page.
func (r *Rows) SVG() string {
	bottomOf := float64(top + rowHeight*len(r.Rows))
	d := newDrawing(r.Alt, bottomOf+bottom)
	var values []float64
	for _, row := range r.Rows {
		values = append(values, row.Value)
		if row.Low != row.High {
			values = append(values, row.Low, row.High)
		}
	}
	if r.Band.From != r.Band.To {
		values = append(values, r.Band.From, r.Band.To)
	}
	for _, m := range r.Mark {
		values = append(values, m.At)
	}
	x := r.X.over(values, right, Width-2*right)
	if x.empty() {
		return d.nothing()
	}
	if r.Band.From != r.Band.To {
		from, to := x.at(r.Band.From), x.at(r.Band.To)
		d.add(`<rect class="band" x="%s" y="%d" width="%s" height="%s"/>`, n(from), top, n(to-from), n(bottomOf-top))
	}
	for _, t := range x.ticks {
		d.add(`<path class="grid" d="M%s %dV%s"/>`, n(x.at(t.value)), top, n(bottomOf))
	}
	for _, m := range r.Mark {
		d.add(`<path class="mark" d="M%s %dV%s"/>`, n(x.at(m.At)), top, n(bottomOf))
	}
	for i, row := range r.Rows {
		d.row(x, row, r.Bars, float64(top+rowHeight*i))
	}
	d.below(x, bottomOf)
	return d.end()
}

func (d *drawing) row(x *scaled, row Row, bar bool, y float64) {
	faint := ""
	if row.Faint {
		faint = " faint"
	}
	d.add(`<g class="c%d%s">`, row.Colour%Colours, faint)
	d.add("%s", title(row.Note))
	room := Width - 2*right - textWidth(row.Text) - 12
	d.text("name", right, y+12, "start", shortened(row.Name, room))
	d.text("value", Width-right, y+12, "end", row.Text)
	middle := y + 23
	if finite(row.Value) {
		at := x.at(row.Value)
		if bar {
			d.add(`<rect class="bar" x="%d" y="%s" width="%s" height="9"/>`, right, n(middle-4.5), n(max(at-right, 0.8)))
		}
		if row.Low != row.High {
			low, high := n(x.at(row.Low)), n(x.at(row.High))
			d.add(`<path class="interval" d="M%s %sH%sM%s %sv8M%s %sv8"/>`, low, n(middle), high, low, n(middle-4), high, n(middle-4))
		}
		if !bar {
			d.add(`<circle class="dot" cx="%s" cy="%s" r="4"/>`, n(at), n(middle))
		}
	}
	d.add("</g>")
}

// shortened is a text that fits into so many units.
func shortened(text string, room float64) string {
	runes := []rune(text)
	for len(runes) > 1 && textWidth(string(runes)) > room {
		runes = runes[:len(runes)-1]
	}
	if len(runes) < len([]rune(text)) {
		return string(runes[:len(runes)-1]) + "…"
	}
	return text
}

// Key is the names of colours as elements of a page.
func Key(names []string) string {
	var d drawing
	for i, name := range names {
		d.add(`<div class="c%d"><span></span>%s</div>`, i%Colours, html.EscapeString(name))
	}
	return `<div class="legend">` + d.b.String() + `</div>`
}

// Legend is the names of series as elements of a page: with a box each that hides it.
func Legend(list []Series) string {
	var d drawing
	for i, s := range list {
		if s.Name != "" {
			d.add(`<label class="c%d"><input type="checkbox" checked data-series="%d"><span></span>%s</label>`, s.Colour%Colours, i, html.EscapeString(s.Name))
		}
	}
	if d.b.Len() == 0 {
		return ""
	}
	return `<div class="legend">` + d.b.String() + `</div>`
}
