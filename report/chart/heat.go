package chart

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"math"
)

// A Heat is a picture of counts over two axes: the more, the darker, by their logarithm.
type Heat struct {
	Alt string
	// X and Y lie between the ends of the first and the last column and row.
	X, Y         Axis
	XEnds, YEnds [2]float64
	// Counts are those of rows from below, each from the left, all as long as the first.
	Counts [][]int64
	Bands  []Band // along x
}

// hue is that of colour 0 in both themes.
var hue = color.NRGBA{R: 0x1f, G: 0x77, B: 0xd0}

// SVG is the picture as an element of a page.
func (h *Heat) SVG() string {
	d := newDrawing(h.Alt, height)
	most := int64(0)
	for _, row := range h.Counts {
		for _, count := range row {
			most = max(most, count)
		}
	}
	x := h.X.between(h.XEnds, left, Width-left-right)
	y := h.Y.between(h.YEnds, height-bottom, -(height - top - bottom))
	if most == 0 || x.empty() || y.empty() {
		return d.nothing()
	}
	y.length = height - top - bottom
	for _, b := range h.Bands {
		d.add(`<rect class="band" x="%s" y="%d" width="%s" height="%s"/>`, n(x.at(b.From)), top, n(x.at(b.To)-x.at(b.From)), n(y.length))
	}
	d.axes(x, y)
	picture := image.NewNRGBA(image.Rect(0, 0, len(h.Counts[0]), len(h.Counts)))
	for row, counts := range h.Counts {
		for column, count := range counts {
			if count > 0 {
				shade := hue
				shade.A = uint8(55 + 200*math.Log1p(float64(count))/math.Log1p(float64(most)))
				picture.SetNRGBA(column, len(h.Counts)-1-row, shade)
			}
		}
	}
	var file bytes.Buffer
	_ = png.Encode(&file, picture) // a Buffer takes everything
	d.add(`<image x="%d" y="%d" width="%s" height="%s" preserveAspectRatio="none" href="data:image/png;base64,%s"/>`,
		left, top, n(x.length), n(y.length), base64.StdEncoding.EncodeToString(file.Bytes()))
	return d.end()
}
