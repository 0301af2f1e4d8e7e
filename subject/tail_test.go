package subject

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTailText(t *testing.T) {
	long := strings.Repeat("x", tailBytes)
	tests := []struct {
		name, in, want string
	}{
		{"nothing", "", ""},
		{"one line", "a\n", "a"},
		{"unfinished line", "a\nb", "a\nb"},
		{"as many as kept", strings.Repeat("a\n", tailLines), strings.Repeat("\na", tailLines)[1:]},
		{"one more", "b\n" + strings.Repeat("a\n", tailLines), strings.Repeat("\na", tailLines)[1:]},
		{"exactly full", long, long},
		{"a long line loses its beginning", "y" + long, long},
		{"a cut line is dropped", "y" + long[:tailBytes-2] + "\nb", "b"}, // 1 + n−2 + 2 = n + 1 bytes
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var kept tail
			kept.Write([]byte(test.in))
			if got := kept.text(); got != test.want {
				t.Errorf("got %d bytes %.40q, want %d bytes %.40q", len(got), got, len(test.want), test.want)
			}
		})
	}
}

// However a stream is cut into writes, the tail is the same.
func TestTailCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOf(rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.StringN(1, 9, -1).Draw(t, "text"), rapid.IntRange(0, 2000).Draw(t, "times"))
		})).Draw(t, "chunks")
		var parts, whole tail
		for _, chunk := range chunks {
			parts.Write([]byte(chunk))
		}
		whole.Write([]byte(strings.Join(chunks, "")))
		if parts.text() != whole.text() {
			t.Fatal("the tail depends on the cuts")
		}
	})
}

// A caller that has waited for a line can read it.
func TestLineIsKeptBeforeItIsSeen(t *testing.T) {
	watch := must(Ready{Log: "ready"}.watch())
	kept := tail{watch: watch}
	written := make(chan bool)
	kept.mu.Lock() // nothing can be kept until it is unlocked
	go func() {
		kept.Write([]byte("ready\n"))
		close(written)
	}()
	select {
	case <-watch.seen:
		t.Error("seen before it is kept")
	case <-time.After(20 * time.Millisecond):
	}
	kept.mu.Unlock()
	<-written
	<-watch.seen
}

// However a stream is cut into reads, a line is found exactly if it occurs.
func TestLineWatch(t *testing.T) {
	pattern := regexp.MustCompile(`^ab*c$`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[abc\n]{0,60}`).Draw(t, "text")
		lines := strings.Split(text, "\n")
		want := slices.ContainsFunc(lines[:len(lines)-1], pattern.MatchString) // the last is not complete
		watch := &lineWatch{pattern: pattern, seen: make(chan struct{})}
		var rest []byte
		for len(text) > 0 {
			n := rapid.IntRange(1, len(text)).Draw(t, "read")
			rest = watch.scan(rest, []byte(text[:n]))
			text = text[n:]
		}
		if got := watch.probe(t.Context()) == nil; got != want {
			t.Fatalf("seen %v, want %v", got, want)
		}
	})
}

func TestLineWatchIsBounded(t *testing.T) {
	watch := &lineWatch{pattern: regexp.MustCompile("x"), seen: make(chan struct{})}
	var rest []byte
	for range 100 {
		rest = watch.scan(rest, make([]byte, tailBytes+1))
	}
	if len(rest) != tailBytes {
		t.Errorf("an endless line takes %d bytes, want %d", len(rest), tailBytes)
	}
}
