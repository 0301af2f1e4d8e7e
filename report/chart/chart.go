// Package chart draws charts as SVG: points, lines, intervals and bars over axes with
// sensible ticks. It knows nothing about what is measured.
//
// A chart is 400 units wide, so its text is readable on a phone (390 px) and in two or
// three columns on a desktop. It has no colours of its own: CSS defines the classes c0 to
// c5. Text in it is escaped.
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// An Axis describes one side of a picture.
type Axis struct {
	Label string // with the unit
	Scale Scale
	// Format writes the value of a tick; nil: up to four significant digits.
	Format func(float64) string
	// Zero says that 0 is on the axis, whatever the points are.
	Zero bool
}

// A Style is how a series is drawn.
type Style int

// The styles of series.
const (
	Line Style = iota // from point to point
	Dots              // with the interval of each, where it has one
)

// A Series is drawn in one colour and form.
type Series struct {
	Name   string // in the legend; "": not in it
	Style  Style
	Colour int // 0 to Colours−1
	Small  bool
	Points []Point
}

// Colours is how many colours there are that everybody tells apart.
const Colours = 6

// A Point is a value Y at X. One that is not finite is a gap.
type Point struct {
	X, Y float64
	// Low and High are the ends of the interval of Y; equal: it has none.
	Low, High float64
	Note      string // shown over the point; "": nothing is
}

// A Band is a part of an axis that is shaded.
type Band struct {
	AlongX   bool // it extends from From to To on the x axis; else on the y axis
	From, To float64
	Text     string
}

// A Mark is a line across the picture.
type Mark struct {
	AlongX bool // it is vertical, at At on the x axis; else horizontal, at At of the y axis
	At     float64
	Text   string
}

// A Chart is a picture of series over two axes. The zero value is an empty one.
type Chart struct {
	Alt    string // what the picture shows, in words for those who cannot see it
	X, Y   Axis
	Series []Series
	Bands  []Band
	Marks  []Mark
}

// The sizes of pictures and of what surrounds them, in units of the SVG.
const (
	Width  = 400
	height = 240
	left   = 66
	right  = 18
	top    = 10
	bottom = 36
)

// SVG is the picture as an element of a page; a note that there is nothing to see where no
// series has a point.
func (c *Chart) SVG() string {
	d := newDrawing(c.Alt, height)
	x, y := c.axes()
	if x.empty() || y.empty() {
		return d.nothing()
	}
	for _, b := range c.Bands {
		from, to := y.at(b.From), y.at(b.To)
		if b.AlongX {
			from, to = x.at(b.From), x.at(b.To)
			d.add(`<rect class="band" x="%s" y="%d" width="%s" height="%s"/>`, n(from), top, n(to-from), n(y.length))
			d.text("band-text", from+3, top+10, "start", b.Text)
			continue
		}
		from, to = min(from, to), max(from, to)
		d.add(`<rect class="band" x="%d" y="%s" width="%s" height="%s"/>`, left, n(from), n(x.length), n(to-from))
		d.text("band-text", left+x.length-3, from-3, "end", b.Text)
	}
	d.axes(x, y)
	for _, m := range c.Marks {
		d.mark(x, y, m)
	}
	for i, s := range c.Series {
		d.add(`<g class="series c%d" data-series="%d">`, s.Colour%Colours, i)
		d.series(x, y, s)
		d.add("</g>")
	}
	return d.end()
}

// axes have room for all points, intervals and marks.
func (c *Chart) axes() (x, y *scaled) {
	var xs, ys []float64
	for _, s := range c.Series {
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
			if p.Low != p.High {
				ys = append(ys, p.Low, p.High)
			}
		}
	}
	for _, m := range c.Marks {
		if m.AlongX {
			xs = append(xs, m.At)
		} else {
			ys = append(ys, m.At)
		}
	}
	for _, b := range c.Bands {
		if !b.AlongX {
			ys = append(ys, b.From, b.To)
		}
	}
	x = c.X.over(xs, left, Width-left-right)
	y = c.Y.over(ys, height-bottom, -(height - top - bottom - c.headroom()))
	y.length = height - top - bottom
	return x, y
}

// headroom is what texts at vertical lines need above all points.
func (c *Chart) headroom() float64 {
	for _, m := range c.Marks {
		if m.AlongX && m.Text != "" {
			return 14
		}
	}
	return 0
}

func (d *drawing) series(x, y *scaled, s Series) {
	if s.Style != Dots {
		d.line(x, y, s)
	}
	if s.Style == Dots && s.Small {
		d.smallDots(x, y, s)
		return
	}
	size := "3.2"
	for _, p := range s.Points {
		if !finite(p.X) || !finite(p.Y) || s.Style != Dots && p.Note == "" {
			continue
		}
		px, py := n(x.at(p.X)), n(y.at(p.Y))
		if p.Low != p.High {
			d.add(`<path class="interval" d="M%s %sV%s"/>`, px, n(y.at(p.Low)), n(y.at(p.High)))
		}
		class := "dot"
		if s.Style != Dots {
			class, size = "hidden-dot", "5"
		}
		d.add(`<circle class="%s" cx="%s" cy="%s" r="%s">%s</circle>`, class, px, py, size, title(p.Note))
	}
}

// mostSmallDots are drawn of a series; of more, only every second, third and so on are.
const mostSmallDots = 400

// smallDots are one path, however many there are.
func (d *drawing) smallDots(x, y *scaled, s Series) {
	var path strings.Builder
	for i := 0; i < len(s.Points); i += 1 + len(s.Points)/(mostSmallDots+1) {
		if p := s.Points[i]; finite(p.X) && finite(p.Y) {
			fmt.Fprintf(&path, "M%s %sh0", n(x.at(p.X)), n(y.at(p.Y)))
		}
	}
	d.add(`<path class="dots" d="%s"/>`, path.String())
}

func (d *drawing) line(x, y *scaled, s Series) {
	var path strings.Builder
	pen := "M"
	for i, p := range s.Points {
		if !finite(p.X) || !finite(p.Y) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%s %s", pen, n(x.at(p.X)), n(y.at(p.Y)))
		alone := pen == "M" && (i+1 == len(s.Points) || !finite(s.Points[i+1].Y))
		if pen = "L"; alone {
			path.WriteString("h0.01") // a point that has no neighbours is a dot
		}
	}
	d.add(`<path class="line" d="%s"/>`, path.String())
}

func (d *drawing) mark(x, y *scaled, m Mark) {
	if m.AlongX {
		at := x.at(m.At)
		d.add(`<path class="mark" d="M%s %dV%d"/>`, n(at), top, height-bottom)
		anchor, shift := "start", 3.0
		if at > (left+Width)/2 {
			anchor, shift = "end", -3
		}
		d.text("mark-text", at+shift, top+9, anchor, m.Text)
		return
	}
	at := y.at(m.At)
	d.add(`<path class="mark" d="M%d %sH%d"/>`, left, n(at), Width-right)
	d.text("mark-text", left+3, at-3, "start", m.Text)
}

// A drawing is an SVG that grows.
type drawing struct{ b strings.Builder }

func newDrawing(alt string, height float64) *drawing {
	d := new(drawing)
	d.add(`<svg viewBox="0 0 %d %s" role="img" aria-label="%s">`, Width, n(height), html.EscapeString(alt))
	return d
}

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

func (d *drawing) text(class string, x, y float64, anchor, text string) {
	if text != "" {
		d.add(`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`, class, n(x), n(y), anchor, html.EscapeString(text))
	}
}

func (d *drawing) end() string { d.add("</svg>"); return d.b.String() }

func (d *drawing) nothing() string {
	d.text("label", Width/2, height/2, "middle", "nothing was measured")
	return d.end()
}

// axes draws both with their ticks.
func (d *drawing) axes(x, y *scaled) {
	for _, t := range y.ticks {
		d.add(`<path class="grid" d="M%d %sH%d"/>`, left, n(y.at(t.value)), Width-right)
		d.text("tick", left-5, y.at(t.value)+3.5, "end", t.text)
	}
	d.below(x, height-bottom)
	d.add(`<text class="label" transform="translate(11 %s)rotate(-90)" text-anchor="middle">%s</text>`,
		n(top+y.length/2), html.EscapeString(y.Label))
}

// below draws an x axis at a height.
func (d *drawing) below(x *scaled, at float64) {
	d.add(`<path class="axis" d="M%s %sh%s"/>`, n(x.origin), n(at), n(x.length))
	for _, t := range x.ticks {
		d.add(`<path class="axis" d="M%s %sv4"/>`, n(x.at(t.value)), n(at))
		if half := textWidth(t.text) / 2; x.at(t.value)+half <= Width && x.at(t.value)-half >= 0 {
			d.text("tick", x.at(t.value), at+15, "middle", t.text)
		}
	}
	d.text("label", x.origin+x.length/2, at+30, "middle", x.Label)
}

func title(note string) string {
	if note == "" {
		return ""
	}
	return "<title>" + html.EscapeString(note) + "</title>"
}

// n writes a coordinate to a tenth of a unit.
func n(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.1f", x), "0"), ".")
}

// finite reports whether a value can be drawn: differences of what can must not overflow.
func finite(x float64) bool { return math.Abs(x) < 1e150 }

// textWidth is about how wide a text of ticks is.
func textWidth(text string) float64 { return 6 * float64(len([]rune(text))) }
