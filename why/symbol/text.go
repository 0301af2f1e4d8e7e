package symbol

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ianlancetaylor/demangle"
)

// maxRaw is how much of a name in a file is looked at, in bytes.
const maxRaw = 4096

// demangled is a symbol's name as its language writes it, without what the linker and
// the compiler append: versions (memcpy@@GLIBC_2.14) and the parts that a function was
// cut into (foo.cold, foo.part.0), which are not the same in two builds.
func demangled(symbol string) string {
	if i := strings.IndexByte(symbol, '@'); i > 0 {
		symbol = symbol[:i]
	}
	for _, part := range []string{".cold", ".part.", ".constprop.", ".isra.", ".llvm.", ".lto_priv."} {
		if i := strings.Index(symbol, part); i > 0 {
			symbol = symbol[:i]
		}
	}
	return Printable(demangle.Filter(symbol, demangle.NoParams, demangle.MaxLength(9)))
}

// Printable makes a foreign text printable on one line: of at most maxName bytes, with the
// replacement character for what does not print and is not UTF-8.
func Printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r != ' ' && !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text[:min(len(text), maxRaw)])
	if len(text) <= maxName {
		return text
	}
	const more = "…"
	end := maxName - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
