package cli

import (
	"io"
	"slices"
	"strings"

	"contend/internal/secret"
	"contend/report"
)

// secretsOf are the secrets of a command line and of its environment. With --show-secrets none is
// hidden: it counts before flags are read, as errors come before, too.
func secretsOf(args, environment []string) *secret.Book {
	b := new(secret.Book)
	own := args
	if end := slices.Index(args, "--"); end >= 0 {
		own = args[:end]
	}
	if slices.Contains(own, "--show-secrets") || slices.Contains(own, "--show-secrets=true") {
		b.Show()
	}
	for i, word := range args {
		b.Learn(word)
		name, value, attached := strings.Cut(word, "=")
		if slices.Contains(ofPairs, name) && attached {
			b.LearnPair(value)
		} else if i > 0 && slices.Contains(ofPairs, args[i-1]) {
			b.LearnPair(word)
		}
	}
	for _, pair := range environment {
		b.LearnPair(pair)
	}
	return b
}

// ofPairs are the flags that take NAME=VALUE.
var ofPairs = []string{"--env", "--script-env", "-e"}

// shown is a document without secrets, unless they are asked for.
func (a *app) shown(doc *report.Document) *report.Document { return secret.In(doc, a.secrets.Hide) }

// hiding writes without secrets, of which none may be in two writes.
type hiding struct {
	io.Writer
	secrets *secret.Book
}

func (h hiding) Write(p []byte) (int, error) {
	_, err := io.WriteString(h.Writer, h.secrets.Hide(string(p)))
	return len(p), err
}

// bare is what a writer writes to: a terminal, or what others write to as they like.
func bare(w io.Writer) io.Writer {
	if h, ok := w.(hiding); ok {
		return h.Writer
	}
	return w
}
