package symbol

import (
	"os"
	"path/filepath"
	"testing"

	"contend/internal/testenv"
)

// A function of a script has the code of its source, as the process sees it; of node it is at another place in each process. One of a dependency, of
// a file that is not there, or that is too long, has none.
func TestScriptCode(t *testing.T) {
	dir := t.TempDir()
	python, node := filepath.Join(dir, "shop.py"), filepath.Join(dir, "shop.js")
	dependency, long := filepath.Join(dir, "node_modules", "x.js"), filepath.Join(dir, "long.js")
	testenv.Write(t, python, inPythonFile)
	testenv.Write(t, node, inJavaScript)
	if err := os.Mkdir(filepath.Dir(dependency), 0o700); err != nil {
		t.Fatal(err)
	}
	testenv.Write(t, dependency, inJavaScript)
	testenv.Write(t, long, string(make([]byte, maxScript+1)))
	var s scripts
	pid := os.Getpid()
	for _, tt := range []struct {
		name        string
		known, made bool
	}{
		{"py::Cart.add:" + python, true, false},
		{"py::<module>:" + python, false, false},
		{"JS:*find " + node + ":2:15", true, true},
		{"JS:^find file://" + node + ":2:15", true, true},
		{"JS:*find " + dependency + ":2:15", false, false},
		{"JS:*find " + long + ":1:1", false, false},
		{"JS:*find " + filepath.Join(dir, "gone.js") + ":2:15", false, false},
		{"Builtin:StringPrototypeIndexOf", false, false},
	} {
		code := s.code(pid, inSource(tt.name))
		if (code.Digest != 0) != tt.known || (code.At == uint64(pid)) != tt.made {
			t.Errorf("%s: %+v", tt.name, code)
		}
	}
	before := s.code(pid, inSource("py::Cart.add:"+python))
	testenv.Write(t, python, inPythonFile+"\n")
	if after := new(scripts).code(pid, inSource("py::Cart.add:"+python)); after != before {
		t.Errorf("%+v, and %+v of a file with one more line", before, after)
	}
}
