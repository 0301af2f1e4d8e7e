package symbol

import "testing"

func TestPerfMap(t *testing.T) {
	text := "1000 100 LazyCompile:~first /app/server.js:1\n" +
		"0x1040 10 within\n" +
		"2000 80 Builtin:second\n" +
		"1080 100 LazyCompile:*moved in\n" + // over the end of the first, which is gone there
		"\n" + "zz 10 not a number\n" + "3000 -1 negative\n" + "4000 10\n" + "ffffffffffffffff 10 wraps\n" + "5000 0 empty\n" +
		"6000 10 no newline"
	n := perfMap([]byte(text))
	tests := []struct {
		addr uint64
		want string
	}{
		{0xfff, ""},
		{0x1000, "LazyCompile:~first /app/server.js:1"},
		{0x103f, "LazyCompile:~first /app/server.js:1"},
		{0x1040, "within"},
		{0x1050, "LazyCompile:~first /app/server.js:1"},
		{0x1080, "LazyCompile:*moved in"},
		{0x117f, "LazyCompile:*moved in"},
		{0x1180, ""},
		{0x207f, "Builtin:second"},
		{0x2080, ""},
		{0x3000, ""},
		{0x4000, ""},
		{0x5000, ""},
		{0x600f, "no newline"},
		{0xffffffffffffffff, ""},
	}
	for _, tt := range tests {
		if got, ok := n.at(tt.addr); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%#x: %q, %v; want %q", tt.addr, got, ok, tt.want)
		}
	}
}

func TestScripted(t *testing.T) {
	for name, want := range map[string]string{
		"JS:*addTax /tmp/fh/b.js:1:43":                         "addTax (b.js)",
		"JS:^addTax /tmp/fh/b.js:1:43":                         "addTax (b.js)",
		"LazyCompile:~ /srv/server.js:12:5":                    "(anonymous) (server.js:12)",
		"JS:*finish node:internal/streams/writable:949:16":     "finish (node:internal/streams/writable)",
		"JS:*get length /app/node_modules/a/lib/index.js:3:7":  "get length (a/lib/index.js)",
		"Script:~ file:///app/main.mjs:1:1":                    "(anonymous) (main.mjs:1)",
		"JS:*f /srv/my app/b.js:1:43":                          "f (b.js)",
		"JS:*list /srv/orders/index.js:1:43":                   "list (orders/index.js)",
		"RegExp:x+y":                                           "RegExp:x+y",
		"Builtin:ArrayMap":                                     "Builtin:ArrayMap",
		"py::handle:/app/server.py":                            "handle (server.py)",
		"py::Cart.add.<locals>.<lambda>:/app/shop/__init__.py": "Cart.add.<locals>.<lambda> (shop/__init__.py)",
		"py::dumps:/usr/lib/python3.12/json/__init__.py":       "dumps (json/__init__.py)",
		"py::get:/venv/lib/python3.12/site-packages/a/b.py":    "get (a/b.py)",
		"py::_find:<frozen importlib._bootstrap>":              "_find (<frozen importlib._bootstrap>)",
		"io.netty.channel.Channel::write":                      "io.netty.channel.Channel::write",
		"JS:":                                                  "JS:",
	} {
		if got, _ := scripted(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestKallsyms(t *testing.T) {
	n := kallsyms([]byte("ffffffff81000000 T _stext\n" +
		"ffffffff81000000 T startup_64\n" +
		"ffffffff81000100 t do_syscall_64\n" +
		"ffffffff81000180 D some_data\n" +
		"ffffffff81000200 T last\n" +
		"ffffffffc0000010 t nft_do_chain\t[nf_tables]\n" +
		"broken\n"))
	tests := []struct {
		addr uint64
		want Frame
	}{
		{0xffffffff80ffffff, Frame{Package: "kernel"}},
		{0xffffffff81000000, Frame{Function: "startup_64", Package: "kernel"}},
		{0xffffffff8100017f, Frame{Function: "do_syscall_64", Package: "kernel"}},
		{0xffffffff81000180, Frame{Package: "kernel"}}, // data is not a function
		{0xffffffff81000200, Frame{Function: "last", Package: "kernel"}},
		{0xffffffff81000200 + maxKernel, Frame{Package: "kernel"}}, // between kernel and modules
		{0xffffffffc0000020, Frame{Function: "nft_do_chain", Package: "kernel/nf_tables"}},
	}
	for _, tt := range tests {
		if got := kernelFrame(n, tt.addr); got != tt.want {
			t.Errorf("%#x: %#v, want %#v", tt.addr, got, tt.want)
		}
	}
	hidden := kallsyms([]byte("0000000000000000 T _stext\n0000000000000000 t do_syscall_64\n"))
	if got, want := kernelFrame(hidden, 0xffffffff81000100), (Frame{Function: "[kernel]", Package: "kernel"}); got != want {
		t.Errorf("with addresses hidden: %#v, want %#v", got, want)
	}
}

func FuzzTexts(f *testing.F) {
	f.Add([]byte("1000 100 first\n0x1040 10 within\n"), uint64(0x1041))
	f.Add([]byte("ffffffff81000000 T _stext\nffffffffc0000010 t a\t[b]\n"), uint64(0xffffffffc0000010))
	f.Fuzz(func(t *testing.T, text []byte, addr uint64) {
		name, _ := perfMap(text).at(addr)
		checkPrintable(t, demangled(name))
		frame := kernelFrame(kallsyms(text), addr)
		checkPrintable(t, frame.Function)
		checkPrintable(t, frame.Package)
	})
}
