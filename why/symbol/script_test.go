package symbol

import (
	"fmt"
	"strings"
	"testing"
)

const inJavaScript = `const sum = (list) => list.reduce((a, b) => a + b, 0);
function find(name, {
  exact,
}) {
  for (const x of list) {
    if (x === name) return x;
  }

  return null;
}
class Store {
  get(key) {
    return this.map.get(key);
  }
}
`

// isOf checks that a function of a text is another where one part of it is edited, and the same where another part is.
func isOf(t *testing.T, text, within, not, function string, digest func(*script) uint64) {
	t.Helper()
	code := func(text string) uint64 { return digest(newScript(strings.NewReader(text))) }
	same := code(text)
	if code(strings.Replace(text, within, "edited", 1)) == same {
		t.Errorf("%s is the same without %s", function, within)
	}
	if code(strings.Replace(text, not, "edited", 1)) != same {
		t.Errorf("%s is another without %s", function, not)
	}
}

func TestJavaScript(t *testing.T) {
	for _, tt := range []struct {
		line   int
		within string // what belongs to the function that begins there
		not    string
	}{
		{1, "list.reduce", "x === name"},
		{2, "x === name", "list.reduce"},
		{2, "return null", "Store"},
		{12, "this.map", "class"},
		{11, "this.map", "return null"},
	} {
		isOf(t, inJavaScript, tt.within, tt.not, fmt.Sprint("line ", tt.line), func(s *script) uint64 { return s.javaScript(tt.line) })
	}
	if of := newScript(strings.NewReader(inJavaScript)); of.javaScript(0) != 0 || of.javaScript(1000) != 0 {
		t.Error("a line that is not there has code")
	}
}

const inPythonFile = `import json

def load(path,
         mode,
):
    text = """
no indent
"""
    return json.loads(text)

class Cart:
    async def add(self, item):
        def price(x):
            return x * 2

        return price(item)

    def drop(self, item): return None
`

func TestPython(t *testing.T) {
	for _, tt := range []struct{ function, within, not string }{
		{"load", "no indent", "x * 2"},
		{"load", "json.loads", "import json"},
		{"Cart.add", "x * 2", "return None"},
		{"Cart.add", "price(item)", "return None"},
		{"Cart.add.<locals>.price", "x * 2", "price(item)"},
		{"Cart.drop", "return None", "price(item)"},
		{"Cart.add.<locals>.<lambda>", "x * 2", "return None"},
	} {
		isOf(t, inPythonFile, tt.within, tt.not, tt.function, func(s *script) uint64 { return s.python(tt.function) })
	}
	of := newScript(strings.NewReader(inPythonFile))
	for _, name := range []string{"<module>", "", "Cart", "nothing", "ad"} {
		if of.python(name) != 0 {
			t.Errorf("%q has code", name)
		}
	}
}
