package flame

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"math"
	"strings"

	"contend/internal/unit"
	"contend/why"
	"contend/why/symbol"
)

// In pixels, except mostBytes.
const (
	width     = 1200.0
	rowHeight = 16
	above     = 44 // of the first row: the heading
	letter    = 7  // about the width of one
	mostBytes = 1_000_000
)

//go:embed zoom.js
var zoom string

// Graph draws the candidate's CPU time per operation as a flame graph with the root on top, in SVG of at most 1 MB that needs
// nothing else: a function is as wide as what it takes with all that it calls, red where that is more
// than the baseline takes in the same place, and blue where it is less. What is below 0.1% is left out, and so is
// what only the baseline does. Each side has at least one level.
func Graph(baseline, candidate []why.Stacks) []byte {
	list := boxes([2][]why.Stacks{baseline, candidate})
	all := list[0].sides
	names := [2]string{symbol.Printable(baseline[0].Arm), symbol.Printable(candidate[0].Arm)}
	greatest := most(list)
	var body strings.Builder
	depth, drawn := 0, 0
	for _, b := range list {
		one := b.svg(names, all[1], greatest)
		if body.Len()+len(one) > mostBytes-10_000 { // names of variants and the script take less than 10,000
			break
		}
		body.WriteString(one)
		depth, drawn = max(depth, b.depth), drawn+1
	}
	left := "Below 0.1% is left out"
	if drawn < len(list) {
		left += fmt.Sprintf(", and the smallest %d of %d", len(list)-drawn, len(list))
	}
	height := above + (depth+1)*rowHeight + 4
	return fmt.Appendf(nil, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%d" viewBox="0 0 %g %d" font-family="monospace" font-size="11">
<rect width="100%%" height="100%%" fill="white"/>
<text x="4" y="16" font-size="14">CPU time of an operation: %s</text>
<text x="4" y="34">Width: %s. Red: more than %s, blue: less. %s. A click enlarges.</text>
%s<script><![CDATA[
%s]]></script>
</svg>
`, width, height, width, height, escaped(both(names, all)), escaped(short(names[1])), escaped(short(names[0])), left, body.String(), zoom)
}

// both says what the candidate takes, what the baseline does, and the difference.
func both(names [2]string, sides [2]float64) string {
	text := fmt.Sprintf("%s %s, %s %s", short(names[1]), unit.Duration(sides[1]), short(names[0]), unit.Duration(sides[0]))
	switch more := sides[1] - sides[0]; {
	case more > 0:
		text += ": " + unit.Duration(more) + " more"
	case more < 0:
		text += ": " + unit.Duration(-more) + " less"
	}
	return text
}

// svg draws a box in a graph of so many ns in which the greatest difference has the
// strongest colour.
func (b box) svg(names [2]string, whole, greatest float64) string {
	x, w := b.begin/whole*width, b.sides[1]/whole*width
	return fmt.Sprintf("<g transform=\"translate(0 %d)\"><title>%s\n%s</title><rect x=\"%.2f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/><text x=\"%.2f\" y=\"11\">%s</text></g>\n",
		above+b.depth*rowHeight, escaped(b.name), escaped(both(names, b.sides)), x, w, rowHeight-1, colour(b.more(), greatest), x+2, escaped(fitting(b.name, w)))
}

// colour is from blue over grey to red.
func colour(more, greatest float64) string {
	grey, strong := [3]float64{236, 236, 236}, [3]float64{232, 62, 48}
	if more < 0 {
		strong = [3]float64{64, 112, 232}
	}
	share := 0.0
	if greatest > 0 {
		share = math.Abs(more) / greatest
	}
	mixed := func(i int) int { return int(math.Round(grey[i] + share*(strong[i]-grey[i]))) }
	return fmt.Sprintf("#%02x%02x%02x", mixed(0), mixed(1), mixed(2))
}

// fitting is as much of a name as has room, if that is three letters at least; as zoom.js
// has it.
func fitting(name string, w float64) string {
	letters := []rune(name)
	switch room := int((w - 4) / letter); {
	case len(letters) <= room:
		return name
	case room < 3:
		return ""
	default:
		return string(letters[:room-1]) + "…"
	}
}

// short keeps names of variants from filling the graph.
func short(name string) string { return fitting(name, 40*letter) }

// escaped is text in XML; what is not allowed there is replaced.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes all
	return b.String()
}
