package setting

import (
	"fmt"
	"strings"
)

// Table returns the settings of a section of a file as a table in Markdown; ""
// is a section without a name.
func Table(section string, list []Setting) string {
	var b strings.Builder
	b.WriteString("| field | meaning | allowed | default |\n| --- | --- | --- | --- |\n")
	seen := map[string]bool{}
	for _, s := range list {
		at := strings.LastIndexByte(s.Path, '.')
		if s.Path == "" || s.Path[:max(0, at)] != section || seen[s.Path] {
			continue
		}
		seen[s.Path] = true
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Path[at+1:], s.Words, s.Allowed(), s.absent())
	}
	return b.String()
}

// absent is what holds where the file gives nothing.
func (s Setting) absent() string {
	switch {
	case s.Example != "":
		return "required, as in `" + s.Example + "`"
	case s.Default == "":
		return ""
	}
	return "`" + s.Default + "`"
}
