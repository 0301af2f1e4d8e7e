package experiment

import (
	"errors"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"contend/internal/lazyregexp"
	"contend/setting"
)

// What follows several of the parser's messages; inValue is one of these.
const (
	noField     = "this is not a field: it has no colon followed by a blank; expected NAME: VALUE"
	indentation = "the indentation is wrong; expected the fields of one mapping in the same column and nested fields further right, all with spaces"
	inValue     = "mapping value is not allowed in this context"
	needsQuotes = "a value that begins so is no text to YAML; expected it in quotes"
)

// plainWords has, for beginnings of the parser's messages, what is wrong in other words.
var plainWords = []struct{ message, words string }{
	{`found character '	'`, "the line begins with a tab; expected spaces"},
	{"non-map value is specified", noField},
	{"unexpected key name", noField},
	{"could not find value for mapping key", noField},
	{"value is not allowed in this context", indentation},
	{inValue, indentation},
	{"block sequence entries are not allowed in this context", indentation},
	{"could not find end character of", "the quote is not closed; expected the same one once more at the end of the value"},
	{"',' or '}' must be specified", "the brace { is not closed, or its content needs quotes; expected } at its end, and quotes around a value with a brace or a comma"},
	{"could not find flow mapping end token", "the brace { is not closed; expected } at its end"},
	{"',' or ']' must be specified", "the bracket [ is not closed, or its content needs quotes; expected ] at its end, and quotes around a value with a bracket or a comma"},
	{"sequence end token ']' not found", "the bracket [ is not closed; expected ] at its end"},
	{"could not find flow map content", `a name is missing after the brace { or the comma; expected {NAME: VALUE}, and quotes around a value with braces, as in "{{addr}}"`},
	{"unexpected directive value", needsQuotes},
	{"'@' is a reserved character", needsQuotes},
	{"'`' is a reserved character", needsQuotes},
}

// syntax notes what the parser did not understand, in words that need no knowledge of it and at
// the line that needs fixing.
func (m *mistakes) syntax(err error, text string) {
	var syntax yaml.Error
	if !errors.As(err, &syntax) {
		m.add("", "%v", err)
		return
	}
	words, at := "is no YAML here: "+syntax.GetMessage(), placeOf(syntax.GetToken())
	i := slices.IndexFunc(plainWords, func(w struct{ message, words string }) bool {
		return strings.HasPrefix(syntax.GetMessage(), w.message)
	})
	if i >= 0 {
		words = plainWords[i].words
	}
	if syntax.GetMessage() == inValue {
		at, words = furtherIn(at, strings.Split(text, "\n"))
	}
	m.noteSentence(at, "", "%s", words)
}

// secondColon is a line with a field in the value of a field.
var secondColon = lazyregexp.New(`^\s*(- )?[^\s"'#:][^:#]*: +[^"'\[{|>#][^#]*: `)

// furtherIn is the place of a field within the value of another field, and why: the parser names
// that value, even if the field is on the next line, indented further.
func furtherIn(at setting.Place, lines []string) (setting.Place, string) {
	if secondColon().MatchString(lines[at.Line-1] + " ") {
		return at, "the value contains a colon and a blank, which only follow the name of a field; expected the value in quotes"
	}
	for n := at.Line; n < len(lines); n++ {
		field := strings.TrimLeft(lines[n], " ")
		if field != "" && field[0] != '#' {
			return setting.Place{Line: n + 1, Column: 1 + len(lines[n]) - len(field)}, indentation
		}
	}
	return at, indentation
}
