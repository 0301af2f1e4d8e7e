package docs

import (
	"strings"

	"contend/internal/lazyregexp"
)

// A Kind says what a Block is.
type Kind int

// The kinds of block.
const (
	Paragraph Kind = iota + 1
	Item           // of a list
	Code           // verbatim, without its indentation
	Table
)

// A Block is a piece of a page without its markup.
type Block struct {
	Kind Kind
	Text string // not of a table
	// Rows are a table's: the first is its heading, all have the same length.
	Rows   [][]string
	marked string     // Text with its markup
	marks  [][]string // Rows with theirs
}

// A section is the text under one heading.
type section struct {
	heading string // without markup
	level   int    // 1 is the page's title
	blocks  []Block
}

var (
	headingForm = lazyregexp.New(`^(#+) (.*)$`)
	itemForm    = lazyregexp.New(`^(?:[*-]|\d+\.) +(.*)$`)
	ruleForm    = lazyregexp.New(`^[-: ]+$`)
)

// parse reads the Markdown that our pages use.
func parse(text string) []section {
	var sections []section
	current := &section{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		if m := headingForm().FindStringSubmatch(lines[i]); m != nil {
			sections = append(sections, section{heading: plain(m[2]), level: len(m[1])})
			current = &sections[len(sections)-1]
			i++
			continue
		}
		b, n := block(lines[i:])
		if i += n; b.Kind != 0 {
			current.blocks = append(current.blocks, b)
		}
	}
	return sections
}

// block reads one block and says how many lines it has; an empty line is a
// block of no kind.
func block(lines []string) (Block, int) {
	first := lines[0]
	switch {
	case strings.TrimSpace(first) == "":
		return Block{}, 1
	case strings.HasPrefix(first, "```"):
		n := 1 + length(lines[1:], func(line string) bool { return !strings.HasPrefix(line, "```") })
		return Block{Kind: Code, Text: strings.Join(lines[1:n], "\n")}, min(n+1, len(lines))
	case strings.HasPrefix(first, "    "):
		return codeBlock(lines)
	case strings.HasPrefix(first, "|"):
		n := length(lines, func(line string) bool { return strings.HasPrefix(line, "|") })
		return tableBlock(lines[:n]), n
	}
	kind, head := Paragraph, first
	if m := itemForm().FindStringSubmatch(first); m != nil {
		kind, head = Item, m[1]
	}
	n := 1 + length(lines[1:], continues)
	marked := strings.Join(append([]string{head}, lines[1:n]...), " ")
	marked = strings.Join(strings.Fields(marked), " ")
	return Block{Kind: kind, Text: plain(marked), marked: marked}, n
}

// length counts the lines up to the first that is not so.
func length(lines []string, is func(string) bool) int {
	for i, line := range lines {
		if !is(line) {
			return i
		}
	}
	return len(lines)
}

// continues reports whether a line goes on with a paragraph or an item.
func continues(line string) bool {
	return strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "```") &&
		!headingForm().MatchString(line) && !itemForm().MatchString(line)
}

// codeBlock reads indented lines, with the empty ones between them.
func codeBlock(lines []string) (Block, int) {
	n := length(lines, func(line string) bool { return strings.HasPrefix(line, "    ") || strings.TrimSpace(line) == "" })
	var code []string
	for _, line := range lines[:n] {
		code = append(code, strings.TrimPrefix(line, "    "))
	}
	return Block{Kind: Code, Text: strings.TrimRight(strings.Join(code, "\n"), "\n ")}, n
}

// tableBlock reads a table; each row gets as many cells as the heading. One that
// the program holds is taken from there.
func tableBlock(lines []string) Block {
	var marks [][]string
	for i, line := range lines {
		cells := cells(line)
		if i == 1 && ruleForm().MatchString(strings.Join(cells, "")) {
			continue
		}
		if i > 0 {
			cells = append(cells, make([]string, len(marks[0]))...)[:len(marks[0])]
		}
		marks = append(marks, cells)
	}
	if rows := held(marks[0]); rows != nil {
		marks = rows
	}
	b := Block{Kind: Table, marks: marks}
	for _, row := range marks {
		b.Rows = append(b.Rows, texts(row))
	}
	return b
}

func texts(marked []string) []string {
	row := make([]string, len(marked))
	for i, cell := range marked {
		row[i] = plain(cell)
	}
	return row
}

// cells splits a line of a table.
func cells(line string) []string {
	line = strings.ReplaceAll(line, `\|`, "\x00")
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	list := strings.Split(line, "|")
	for i, cell := range list {
		list[i] = strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|"))
	}
	return list
}

var (
	link     = lazyregexp.New(`\[([^\]]*)\]\(([^)]*)\)`)
	emphasis = lazyregexp.New(`(^|[\s(])\*([^\s*](?:[^*]*[^\s*])?)\*`)
)

// plain takes the markup out of a line: the text of links, and of what is
// bold, emphasised or code, which may hold any sign.
func plain(marked string) string {
	var codes []string
	text := code().ReplaceAllStringFunc(marked, func(span string) string {
		codes = append(codes, strings.Trim(span, "`"))
		return "\x00"
	})
	text = link().ReplaceAllString(text, "$1")
	text = bold().ReplaceAllString(text, "$1")
	text = emphasis().ReplaceAllString(text, "$1$2")
	for _, span := range codes {
		text = strings.Replace(text, "\x00", span, 1)
	}
	return text
}
