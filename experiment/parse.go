package experiment

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"contend/setting"
)

// Bounds of a file. The parser's time grows with the square of the number of
// fields, and its stack with their depth.
const (
	maxBytes = 64 << 10
	maxDepth = 32
)

// Parse reads an experiment file in YAML; name is what messages call it. The
// error names every mistake, of form and of sense, each on a line of its own as
// name:line:column: field: what is wrong, what is allowed. Only a mistake in
// the syntax of YAML hides those that follow it.
//
// A file is one document of plain YAML: anchors, aliases, merge keys, tags and
// directives are refused.
func Parse(name string, text []byte) (*File, error) {
	return parse(name, text, "id, title and servers (key subjects) or variants (key arms)", (*File).validate)
}

// parse reads a file of a type, which is checked if it can be read and needs at least some fields.
func parse[F any](name string, text []byte, needs string, check func(*F, *mistakes)) (*F, error) {
	m, f := newMistakes(name), new(F)
	if root := m.document(text, needs); root != nil {
		newDecoder(m, reflect.TypeFor[F]()).decode(root, f)
		check(f, m)
	}
	if err := m.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// document returns the root of the only document in the text, or nil after a
// mistake.
func (m *mistakes) document(text []byte, needs string) ast.Node {
	if len(text) > maxBytes {
		m.add("", "the file has %d bytes; expected at most %d", len(text), maxBytes)
		return nil
	}
	text, err := setting.Text(text)
	if err != nil {
		m.add("", "the text %v", err)
		return nil
	}
	if at, ok := badByte(text); ok {
		m.addAt(at, "", "the text is not UTF-8, or has control characters in it")
		return nil
	}
	tokens := lexer.Tokenize(string(text))
	if deep := tooDeep(tokens); deep != nil {
		m.addAt(placeOf(deep), "", "nested more than %d levels deep", maxDepth)
		return nil
	}
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		m.syntax(err, string(text))
		return nil
	}
	return m.only(parsed.Docs, needs)
}

// only returns the body of the only document.
func (m *mistakes) only(docs []*ast.DocumentNode, needs string) ast.Node {
	var root ast.Node
	for _, doc := range docs {
		if doc.Body == nil {
			continue
		}
		if _, directive := doc.Body.(*ast.DirectiveNode); directive {
			m.addAt(placeOf(doc.Body.GetToken()), "", "YAML directives are not allowed")
			return nil
		}
		if root != nil {
			m.addAt(placeOf(doc.Start), "", "a second document begins here: a file holds one experiment")
			return nil
		}
		root = doc.Body
	}
	if root == nil {
		m.add("", "the file is empty: it needs at least %s", needs)
	}
	return root
}

// badByte finds the first byte that is not UTF-8, or is a control character
// other than those of white space.
func badByte(text []byte) (setting.Place, bool) {
	at := setting.Place{Line: 1, Column: 1}
	for i, r := range string(text) {
		invalid := r == utf8.RuneError && text[i] != "\uFFFD"[0]
		if invalid || r < ' ' && !strings.ContainsRune("\t\n\r", r) {
			return at, true
		}
		at.Column++
		if r == '\n' {
			at = setting.Place{Line: at.Line + 1, Column: 1}
		}
	}
	return setting.Place{}, false
}

// tooDeep returns the token that opens one level too many, of brackets and of
// entries that begin on one line, or nil. Deeper levels of indentation need as
// many spaces, which maxBytes bounds well enough.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets, entries, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			entries, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			entries++
		}
		if brackets+entries > maxDepth {
			return t
		}
	}
	return nil
}

// placeOf is the place of a token; a document without one begins at its top.
func placeOf(t *token.Token) setting.Place {
	if t == nil || t.Position == nil {
		return setting.Place{Line: 1, Column: 1}
	}
	return setting.Place{Line: max(1, t.Position.Line), Column: max(1, t.Position.Column)}
}
