package docs

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"contend/internal/testenv"
)

// The pages repeat the tables of the program, word for word.
func TestPagesRepeatTheTables(t *testing.T) {
	found := 0
	for _, page := range []string{"codes.md", "metrics.md", "exit-codes.md", "statistics.md", "terminology.md", schema} {
		was, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var is []string
		lines := strings.Split(string(was), "\n")
		for i := 0; i < len(lines); i++ {
			is = append(is, lines[i])
			rows := held(cells(lines[i]))
			if rows == nil {
				continue
			}
			found++
			is = append(is, strings.Repeat("|---", len(rows[0]))+"|")
			for _, row := range rows[1:] {
				is = append(is, "| "+strings.Join(row, " | ")+" |")
			}
			i += length(lines[i:], func(line string) bool { return strings.HasPrefix(line, "|") }) - 1
		}
		text := []byte(strings.Join(is, "\n"))
		if *testenv.Update {
			err = os.WriteFile(page, text, 0o644)
		}
		if err != nil || !*testenv.Update && !bytes.Equal(was, text) {
			t.Errorf("%s has another table than the program (go test ./docs -update): %v", page, err)
		}
	}
	if found != 4 {
		t.Errorf("%d tables of the program are in the pages, want 4", found)
	}
}
