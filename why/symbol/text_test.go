package symbol

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestDemangled(t *testing.T) {
	tests := []struct{ symbol, want string }{
		{"malloc", "malloc"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"@plt", "@plt"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"},
		{"_ZN5outer5innerEi.cold", "outer::inner"},
		{"_Znwm", "operator new"},
		{"parse.constprop.0.isra.1", "parse"},
		// Rust, as it was written before 2025 and since (RFC 2603).
		{"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"},
		{"_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"},
		{"_Zwrong", "_Zwrong"},
		{"main.main", "main.main"},
	}
	for _, tt := range tests {
		if got := demangled(tt.symbol); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.symbol, got, tt.want)
		}
	}
}

func TestClean(t *testing.T) {
	tests := []struct{ text, want string }{
		{"main.(*Server).run[go.shape.int]", "main.(*Server).run[go.shape.int]"},
		{"schön", "schön"},
		{"a b", "a b"},
		{"\x1b[31mred\x07", "�[31mred�"},
		{"two\nlines\ttab", "two�lines�tab"},
		{"\xff\xfeutf", "��utf"},
		{"right\u202eto left", "right�to left"},
		{strings.Repeat("x", maxName), strings.Repeat("x", maxName)},
		{strings.Repeat("x", maxName+1), strings.Repeat("x", maxName-3) + "…"},
		{strings.Repeat("ö", maxName), strings.Repeat("ö", (maxName-3)/2) + "…"}, // 2 bytes each
	}
	for _, tt := range tests {
		if got := Printable(tt.text); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzDemangled(f *testing.F) {
	for _, s := range []string{"_ZNSt6vectorIiSaIiEE9push_backERKi", "_RNvCskwGfYPst2Cb_3foo16example_function",
		"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "\x1b[0m", "_ZSt1AIXadL_Z1fEEE"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, symbol string) { checkPrintable(t, demangled(symbol)) })
}

// checkPrintable wants a text that prints on one line.
func checkPrintable(t *testing.T, text string) {
	t.Helper()
	if len(text) > maxName || !utf8.ValidString(text) {
		t.Errorf("%q has %d bytes, or is not UTF-8", text, len(text))
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%q does not print at %d", text, i)
	}
}
