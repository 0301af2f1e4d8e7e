package experiment

import (
	"io/fs"
	"os"
	"strings"
	"testing"
)

// Whatever the text is, Parse ends with a file or with mistakes; a file that it
// accepts is valid and can be made ready to run.
func FuzzParse(f *testing.F) {
	f.Add(orders)
	f.Add(layered)
	f.Add("")
	f.Add("id: [\n")
	f.Add("? a\n: b\n")
	f.Add("a: &b {<<: *b}\n---\n%YAML 1.2\n")
	f.Add("published: [{columns: [arm, vus], rows: [[~, null], []]}]")
	f.Add("profiles: {quick: {load: {vus: }}}\narms: {'': {}}\n\"\": 1")
	f.Add("id: a\ntitle: b\nsubjects: {a: {command: b}, c: {command: d}}\ntarget: {url: http://example.com/}\nload: {vus: 1}\ncompare: {baseline: a}")
	names, err := fs.Glob(publishedFiles, "published/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		text, err := publishedFiles.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	mistyped, err := os.ReadFile("testdata/mistyped.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(mistyped))
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("fuzz.yaml", []byte(text))
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "fuzz.yaml:") {
					t.Errorf("mistake %q has no place", line)
				}
			}
			return
		}
		ready(t, file)
	})
}

// ready does everything that comes before the first process is started.
func ready(t *testing.T, f *File) {
	published(f.Published)
	if f.Status == planned {
		return
	}
	for _, profile := range append(Profiles(), "") {
		e := f.Experiment(profile)
		if err := e.Validate(); err != nil {
			t.Errorf("profile %q: %v", profile, err)
		}
		r := newRunner(e, Options{Seed: 1}, nil)
		for _, p := range e.Parts {
			if names := r.names(p); p.Baseline != "" && !p.Swept && names[0] != p.Baseline {
				t.Errorf("profile %q: the first arm is %q, want the baseline %q", profile, names[0], p.Baseline)
			}
		}
	}
}

func TestEmbeddedFilesAreReady(t *testing.T) {
	for _, f := range Embedded() {
		ready(t, f)
	}
}
