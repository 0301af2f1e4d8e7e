package plain_test

import (
	"testing"

	"contend/report/plain"
)

func TestLine(t *testing.T) {
	tests := []struct{ give, want string }{
		{"plain µ ÷ … 東京", "plain µ ÷ … 東京"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"bell\a back\b null\x00 del\x7f", `bell\a back\b null\x00 del\x7f`},
		{"C1 \u009b31m", `C1 \u009b31m`}, // CSI in one character
		{"right \u202e to left", `right \u202e to left`},
		{"no\u200bwidth\ufeff", `no\u200bwidth\ufeff`},
		{"\xff\xfe", `\xff\xfe`}, // not UTF-8
		{"genuine \ufffd", "genuine \ufffd"},
		{"a\tb\u00a0c", "a b c"},
		{"one\r\n\n  two\n", "one; two"},
		{"line\u2028separator", `line\u2028separator`},
		{"", ""},
	}
	for _, tt := range tests {
		if got := plain.Line(tt.give); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.give, got, tt.want)
		}
	}
	if got := plain.Clip("ééééé", 4); got != "ééé…" {
		t.Errorf("clipped to %q", got)
	}
}

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"µ÷…α±": 5, "東京": 4, "e\u0301": 1, "🚀": 2, "ﾊ": 1, "Ａ": 2} {
		if got := plain.Width(text); got != want {
			t.Errorf("%q is %d wide, want %d", text, got, want)
		}
	}
}
