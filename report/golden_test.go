package report_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"contend/internal/testenv"
	"contend/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with testdata/name and leaves name.got beside it if it
// differs.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err == nil && bytes.Equal(got, want) {
		os.Remove(path + ".got")
		return
	}
	if err := os.WriteFile(path+".got", got, 0o644); err != nil {
		t.Error(err)
	}
	t.Errorf("%s differs from %s.got (go test -update rewrites it): %v", path, path, err)
}

func TestGolden(t *testing.T) {
	for name, d := range allDocuments() {
		for extension, view := range map[string]func(io.Writer) error{".txt": d.Text, ".md": d.Markdown} {
			var b bytes.Buffer
			if err := view(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name+extension, b.Bytes())
		}
	}
}

// What is written is read without a difference, and shown the same.
func TestRoundTrip(t *testing.T) {
	documents := allDocuments
	if testenv.Race {
		documents = smallDocuments // fewer histograms of 34 000 buckets each; the package starts no goroutine
	}
	for name, d := range documents() {
		stored, text := written(t, d)
		again, err := report.Read(bytes.NewReader(stored))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if storedAgain, textAgain := written(t, again); !bytes.Equal(stored, storedAgain) || !bytes.Equal(text, textAgain) {
			t.Errorf("%s: reading and writing changed it:\n%s", name, textAgain)
		}
	}
}

func written(t *testing.T, d *report.Document) (stored, text []byte) {
	t.Helper()
	var a, b bytes.Buffer
	if err := d.Write(&a); err != nil {
		t.Fatal(err)
	}
	if err := d.Text(&b); err != nil {
		t.Fatal(err)
	}
	return a.Bytes(), b.Bytes()
}
