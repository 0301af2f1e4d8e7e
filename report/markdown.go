package report

import "strings"

// apartInMarkdown reports whether an empty line is between two elements: not within a list.
func apartInMarkdown(before, e element) bool {
	return e.kind != drawn && (!e.kind.listed() || !before.kind.listed())
}

// listed reports whether elements of the kind are items of a list, but on terminals.
func (k elementKind) listed() bool {
	return k == bullet || k == aside || k == labelled || k == quoted || k == caution
}

func writeMarkdown(b *strings.Builder, e element) {
	switch e.kind {
	case answer:
		b.WriteString("**" + escape(e.text) + "**\n")
	case title:
		b.WriteString("# " + escape(e.text) + "\n")
	case heading:
		b.WriteString("## " + escape(e.text) + "\n")
	case paragraph, validity, lead:
		b.WriteString(escapeStart(escape(e.text)) + "\n")
	case advised:
		b.WriteString("Next: " + escape(strings.TrimSuffix(e.text+": "+e.also, ": ")) + "\n")
	case labelled:
		if strings.HasPrefix(e.label, gutter) { // of the item above
			b.WriteString(gutter)
		}
		b.WriteString("- " + escapeStart(escape(e.sentence())) + "\n")
	case bullet, aside, quoted, caution:
		b.WriteString("- " + escapeStart(escape(e.text)) + "\n")
	case tabular:
		e.table.writeMarkdown(b)
	}
}

func (t table) writeMarkdown(b *strings.Builder) {
	if t = t.shown(false); t.title != "" {
		b.WriteString(escapeStart(escape(t.title)) + "\n\n")
	}
	rules := make([]string, len(t.columns))
	for i, figures := range t.figures() {
		rules[i] = "---"
		if figures {
			rules[i] = "---:"
		}
	}
	markdownRow(b, t.columns, escape)
	markdownRow(b, rules, func(rule string) string { return rule })
	for _, row := range t.rows {
		markdownRow(b, row, escape)
	}
}

func markdownRow(b *strings.Builder, cells []string, format func(string) string) {
	b.WriteByte('|')
	for _, cell := range cells {
		b.WriteString(" " + format(cell) + " |")
	}
	b.WriteByte('\n')
}

// markup is what means something within a line of GitHub Flavored Markdown. A
// backslash becomes a reference, since renderers disagree on `\\|` in a table.
var markup = strings.NewReplacer(
	`\`, "&#92;", "&", "&amp;", "<", "&lt;", ">", "&gt;",
	"|", `\|`, "*", `\*`, "`", "\\`", "[", `\[`, "]", `\]`, "~", `\~`, "$", `\$`)

// escape keeps text from being read as Markdown. An underscore within a word,
// as in the names of metrics, means nothing and stays.
func escape(text string) string {
	text = markup.Replace(text)
	var b strings.Builder
	for i := range len(text) {
		if text[i] == '_' && !(i > 0 && isWord(text[i-1]) && i+1 < len(text) && isWord(text[i+1])) {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// escapeStart keeps a line from being read as a heading, a list or a rule.
func escapeStart(text string) string {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	switch {
	case text == "":
		return ""
	case text[0] == '#', text[0] == '=', strings.ContainsRune("+-", rune(text[0])) && (len(text) == 1 || !isWord(text[1])):
		return `\` + text
	case digits > 0 && digits < len(text) && strings.ContainsRune(".)", rune(text[digits])) && !isWord((text + " ")[digits+1]):
		return text[:digits] + `\` + text[digits:]
	}
	return text
}
