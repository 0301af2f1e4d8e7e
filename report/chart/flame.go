package chart

import (
	"html"
	"math"
)

// A Flame is a picture of what is called by what: boxes below those that they were called from,
// as wide as their part of the whole. It is as wide as the page, whose script enlarges a
// box that is clicked; names are cut off where boxes end.
type Flame struct {
	Alt   string
	Boxes []Box
	Open  int // the box that the script of the page enlarges at first; 0, if the whole is the first box: none
}

// A Box is what was called, with all that it called.
type Box struct {
	Name, Note string
	Depth      int     // 0: the whole
	From, Wide float64 // of the picture's width, 0 to 1
	More       float64 // −1 to 1: how much less or more it is than before
}

const (
	boxHeight = 16
	// leastNamed is the width below which a box has no room for a name.
	leastNamed = 0.012
	// leastMore is the difference below which a box is grey.
	leastMore = 0.02
)

// SVG is the picture as an element of a page.
func (f *Flame) SVG() string {
	depth := 0
	for _, b := range f.Boxes {
		depth = max(depth, b.Depth)
	}
	var d drawing
	d.add(`<svg class="flame" width="100%%" height="%d" role="img" aria-label="%s">`, (depth+1)*boxHeight, html.EscapeString(f.Alt))
	for i, b := range f.Boxes {
		class, much := "c5", math.Abs(b.More)
		if much >= leastMore {
			class = "c1"
			if b.More < 0 {
				class = "c0"
			}
		}
		opened := ""
		if i > 0 && i == f.Open {
			opened = " data-open"
		}
		d.add("\n"+`<svg%s x="%.5g%%" y="%d" width="%.5g%%" height="%d"><title>%s</title><rect class="%s" width="100%%" height="100%%" fill-opacity="%.2g"/>`,
			opened, 100*b.From, b.Depth*boxHeight, 100*b.Wide, boxHeight-1, html.EscapeString(b.Note), class, 0.15+0.55*much)
		if b.Wide >= leastNamed {
			d.add(`<text x="3" y="11">%s</text>`, html.EscapeString(b.Name))
		}
		d.add("</svg>")
	}
	return d.end()
}
