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
		if err := file.Validate(); err != nil {
			t.Errorf("an accepted file is not valid: %v", err)
		}
		ready(t, file)
	})
}

// ready does everything that comes before the first process is started.
func ready(t *testing.T, f *File) {
	f.published()
	if f.Status == Planned {
		return
	}
	for _, profile := range append(Profiles(), "") {
		r := newRunner(f, Options{Profile: profile}, nil)
		for _, p := range f.effectiveParts(r.options.Profile) {
			if p.fromDocuments() {
				if names := r.names(p); p.Compare.Baseline != "" && names[0] != p.Compare.Baseline {
					t.Errorf("profile %q: the first arm is %q, want the baseline %q", profile, names[0], p.Compare.Baseline)
				}
				continue
			}
			if _, err := p.Load.plan(); err != nil {
				t.Errorf("profile %q: %v", profile, err)
			}
			if p.sweeps() {
				if err := p.sweepDesign(1).Validate(); err != nil {
					t.Errorf("profile %q: %v", profile, err)
				}
				continue
			}
			if err := p.design(Options{Seed: 1}).Validate(); err != nil {
				t.Errorf("profile %q: %v", profile, err)
			}
			if arms := r.arms(p); arms[0].Name != p.Compare.Baseline {
				t.Errorf("profile %q: the first arm is %q, want the baseline %q", profile, arms[0].Name, p.Compare.Baseline)
			}
		}
	}
}

func TestEmbeddedFilesAreReady(t *testing.T) {
	for _, f := range Embedded() {
		ready(t, f)
	}
}
