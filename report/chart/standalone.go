package chart

import (
	_ "embed"
	"fmt"
	"strings"
)

// CSS is what pictures look like on a page, light and dark.
//
//go:embed style.css
var CSS string

// Standalone makes the SVG of a picture a file of its own.
func Standalone(svg string) string {
	svg = strings.Replace(svg, "<svg ", fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" `, 2*Width), 1)
	return strings.Replace(svg, ">", "><style>\n"+CSS+"</style>\n", 1) + "\n"
}
