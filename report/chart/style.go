package chart

import _ "embed"

// CSS is what pictures look like on a page, light and dark.
//
//go:embed style.css
var CSS string
