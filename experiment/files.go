package experiment

import (
	"fmt"
	"strconv"
	"strings"

	"contend/internal/lazyregexp"
)

// generated matches {{text SIZE}}; a kB is 1000 bytes.
var generated = lazyregexp.New(`\{\{text (\d+)(B|kB|MB)\}\}`)

const maxText = 64_000_000

// files returns the subject's files with the generated texts filled in.
func (s Subject) files() map[string]string {
	if len(s.Files) == 0 {
		return nil
	}
	files := map[string]string{}
	for name, content := range s.Files {
		files[name] = generated().ReplaceAllStringFunc(content, func(found string) string {
			size, _ := textSize(found)
			return text(size)
		})
	}
	return files
}

// textSize returns the bytes that a {{text SIZE}} asks for.
func textSize(placeholder string) (int, error) {
	parts := generated().FindStringSubmatch(placeholder)
	n, err := strconv.Atoi(parts[1])
	n *= map[string]int{"B": 1, "kB": 1000, "MB": 1_000_000}[parts[2]]
	if err != nil || n < 0 || n > maxText {
		return 0, fmt.Errorf("%s is too much; expected at most %d bytes", placeholder, maxText)
	}
	return n, nil
}

// text returns n bytes of numbered lines.
func text(n int) string {
	var b strings.Builder
	b.Grow(n + 100)
	for line := 1; b.Len() < n; line++ {
		fmt.Fprintf(&b, "<p>Line %d of a page that is read by nobody but measured by many.</p>\n", line)
	}
	return b.String()[:n]
}
