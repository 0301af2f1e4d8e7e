package setting

import "testing"

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"vus", "", 3},
		{"vsu", "vus", 1},            // two neighbours swapped
		{"comand", "command", 1},     // one left out
		{"durration", "duration", 1}, // one too many
		{"warnup", "warmup", 1},      // one replaced
		{"kitten", "sitting", 3},     // k→s, e→i, +g
		{"µs", "ms", 1},              // runes, not bytes
	} {
		if got := EditDistance(c.a, c.b); got != c.want || EditDistance(c.b, c.a) != got {
			t.Errorf("EditDistance(%q, %q) = %d, want %d both ways", c.a, c.b, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"command", "serve", "url", "ready", "env", "dir"}
	for given, want := range map[string]string{
		"comand": "command", "Serve": "serve", "ulr": "url", "reddy": "ready", "": "", "timeout": "", "x": "",
	} {
		if got := Nearest(given, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", given, got, want)
		}
	}
}
