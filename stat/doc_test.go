package stat

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every warning code of this package is explained in the documentation.
func TestWarningCodesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/statistics.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`Warning\{"([a-z_]+)"|\{\{"([a-z_]+)",`)
	found := 0
	for _, file := range []string{"paired.go", "unpaired.go", "sample.go", "steady.go", "course.go", "dependence.go", "little.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(source), -1) {
			found++
			if c := m[1] + m[2]; !strings.Contains(string(doc), "| `"+c+"` |") {
				t.Errorf("%s gives the warning %q, which docs/statistics.md does not explain", file, c)
			}
		}
	}
	if found != 15 { // several codes are given at two places
		t.Errorf("found %d warnings in the source, want 15", found)
	}
}
