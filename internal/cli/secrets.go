package cli

import (
	"io"
	"slices"
	"strings"
	"sync"

	"contend/experiment"
	"contend/internal/secret"
	"contend/report"
)

// secretsOf returns the secrets of a command line and of the environment. It looks for
// --show-secrets itself, because errors can come before flags are read.
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
		words, _ := experiment.SplitWords(word) // a mistake is told by whoever starts it
		env, _ := experiment.Assigned(words)
		for _, pair := range env {
			b.LearnPair(pair)
		}
	}
	for _, pair := range environment {
		b.LearnPair(pair)
	}
	return b
}

// ofPairs are the flags that take NAME=VALUE.
var ofPairs = []string{"--env", "--script-env", "-e"}

// shown returns a document without secrets, unless --show-secrets is given, whose advice names only
// flags that its command has.
func (a *app) shown(doc *report.Document) *report.Document {
	doc = secret.In(doc, a.secrets.Hide)
	doc.Has = func(flag string) bool { return a.has(doc.Command, flag) }
	return doc
}

// hiding is a writer that hides secrets. Each secret must be within one write.
type hiding struct {
	io.Writer
	secrets *secret.Book
}

func (h hiding) Write(p []byte) (int, error) {
	_, err := io.WriteString(h.Writer, h.secrets.Hide(string(p)))
	return len(p), err
}

// whole is a writer that a command's progress and its script may write to at the same time.
type whole struct {
	mu sync.Mutex
	io.Writer
}

func (w *whole) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Writer.Write(p)
}

// bare returns the writer below one that hides secrets.
func bare(w io.Writer) io.Writer {
	if h, ok := w.(hiding); ok {
		return h.Writer
	}
	return w
}
