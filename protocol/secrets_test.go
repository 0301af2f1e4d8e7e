package protocol

import (
	"testing"

	"contend/internal/secret"
	"contend/internal/testenv"
	"contend/protocol/wire"
)

// Rows are searched up to their first mistake, which whoever drives them reports.
func TestSecretsOfRows(t *testing.T) {
	for content, hidden := range map[string]string{
		"user,password\nu,hunter-two\n": "a *** b",
		"\ufeffpassword\nhunter-two\n":  "a *** b",
		"password\nhunter-two\n\"":      "a *** b",
		"a\"b,password\nu,hunter-two\n": "a hunter-two b", // a quote within a name
		"password\nu,hunter-two\n":      "a hunter-two b", // more fields than names
		"\"password\nu,hunter-two\n":    "a hunter-two b",
		"":                              "a hunter-two b",
	} {
		path := testenv.Files(t, "rows.csv", content)
		book := new(secret.Book)
		learnFile(path, wire.Surroundings{Secrets: book})
		if got := book.Hide("a hunter-two b"); got != hidden {
			t.Errorf("%q: %s, want %s", content, got, hidden)
		}
	}
}
