package why

import (
	"fmt"
	"strings"
	"testing"

	"contend/stat"
	"contend/why/symbol"
)

// drawn makes calls of lines such as "  main.handle 80 110": two spaces a depth, and ns of both arms.
func drawn(text string) (calls []Call) {
	for line := range strings.Lines(strings.TrimPrefix(text, "\n")) {
		name := strings.TrimLeft(line, " ")
		c := Call{Depth: (len(line) - len(name)) / 2, PerOp: make([]float64, 2)}
		fmt.Sscan(name, &c.Function, &c.PerOp[0], &c.PerOp[1])
		calls = append(calls, c)
	}
	return calls
}

func TestRoots(t *testing.T) {
	for _, tt := range []struct{ name, calls, differ, want string }{
		{"a new function", `
all 100 130
  main.serve 100 130
    main.handle 80 110
      main.log 0 30
        fmt.Fprintln 0 25
        time.Now 0 5`,
			"main.serve main.handle main.log", "main.log 30 only under main.serve main.handle, mostly fmt.Fprintln"},
		{"two", `
all 100 150
  main.serve 100 150
    main.validate 10 30
    main.render 10 40
      json.Marshal 10 40`,
			"main.serve main.render main.validate", "main.render 30 under main.serve, mostly json.Marshal; main.validate 20 under main.serve"},
		{"in itself more than in what it calls", `
all 100 130
  main.handle 80 110
    main.check 10 15`,
			"main.handle main.check", "main.handle 30"},
		{"called more often by one of two", `
all 100 120
  main.list 50 70
    main.match 10 30
  main.get 50 50
    main.match 10 10`,
			"main.list main.match", "main.list 20, mostly main.match"},
		{"two called more often by one", `
all 100 140
  main.list 50 90
    main.match 10 30
    main.clean 10 30
  main.get 50 50
    main.clean 10 10
    main.match 10 10`,
			"main.list main.match main.clean", "main.list 40, mostly main.clean and main.match"},
		{"slower for both of two", `
all 100 120
  main.list 50 60
    main.match 10 20
  main.get 50 60
    main.match 10 20`,
			"main.match main.list main.get", "main.match 20 under main.get"},
		{"two that call each other", `
all 100 130
  main.even 50 65
    main.odd 40 55
  main.odd 50 65
    main.even 40 55`,
			"main.even main.odd", "main.even 30 under main.odd, mostly main.odd; main.odd 30, mostly main.even"},
		{"less than before", `
all 130 100
  main.serve 130 100
    main.log 30 0`,
			"main.serve main.log", "main.log -30 only under main.serve"},
		{"a function that no stack has", "all 100 130", "main.lost", "main.lost 0"},
		{"nothing", "all 100 100", "", ""},
	} {
		calls := drawn(tt.calls)
		var differ []Row
		for _, name := range strings.Fields(tt.differ) {
			r := Row{Name: name}
			tree := newTree(calls, 0, 1)
			for _, i := range tree.at[name] {
				r.BaselineValue += calls[i].PerOp[0]
				r.CandidateValue += calls[i].PerOp[1]
			}
			r.Shift = stat.Shift{Value: r.CandidateValue - r.BaselineValue}
			differ = append(differ, r)
		}
		var got []string
		for _, r := range Roots(differ, calls, 0, 1) {
			text := fmt.Sprintf("%s %g", r.Name, r.Value)
			if r.Only {
				text += " only"
			}
			if len(r.Callers) > 0 {
				text += " under " + strings.Join(r.Callers, " ")
			}
			if len(r.Mostly) > 0 {
				text += ", mostly " + strings.Join(r.Mostly, " and ")
			}
			got = append(got, text)
		}
		if joined := strings.Join(got, "; "); joined != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, joined, tt.want)
		}
	}
}

func TestIsOwn(t *testing.T) {
	for _, tt := range []struct {
		f   symbol.Frame
		own bool
	}{
		{symbol.Frame{Function: "main.handle", Package: "main", File: "/src/shop/main.go"}, true},
		{symbol.Frame{Function: "example.com/shop/cart.Add", Package: "example.com/shop/cart", File: "example.com/shop/cart/cart.go"}, true},
		{symbol.Frame{Function: "shop/cart.Add", Package: "shop/cart", File: "shop/cart/cart.go"}, true},
		{symbol.Frame{Function: "github.com/go-chi/chi/v5.(*Mux).ServeHTTP", Package: "github.com/go-chi/chi/v5", File: "github.com/go-chi/chi/v5@v5.2.1/mux.go"}, false},
		{symbol.Frame{Function: "github.com/x/y.F", Package: "github.com/x/y", File: "/src/shop/vendor/github.com/x/y/f.go"}, false},
		{symbol.Frame{Function: "net/http.(*conn).serve", Package: "net/http", File: "/usr/lib/go/src/net/http/server.go"}, false},
		{symbol.Frame{Function: "vendor/golang.org/x/net/http2/hpack.F", Package: "vendor/golang.org/x/net/http2/hpack", File: "vendor/golang.org/x/net/http2/hpack/f.go"}, false},
		{symbol.Frame{Function: "handle_request", Package: "server"}, true},
		{symbol.Frame{Function: "memcpy", Package: "libc.so.6"}, false},
		{symbol.Frame{Function: "core::fmt::write", Package: "server"}, false},
		{symbol.Frame{Function: "shop::cart::add", Package: "server"}, true},
		{symbol.Frame{Function: "v8::internal::Builtin", Package: "node"}, false},
		{symbol.Frame{Function: "_PyEval_EvalFrameDefault", Package: "python3.12"}, false},
		{symbol.Frame{Function: "handle (server.js)", Package: symbol.Compiled, File: "/app/server.js"}, true},
		{symbol.Frame{Function: "next (express/lib/router.js)", Package: symbol.Compiled, File: "/app/node_modules/express/lib/router.js"}, false},
		{symbol.Frame{Function: "emit (node:events)", Package: symbol.Compiled, File: "node:events"}, false},
		{symbol.Frame{Function: "py::dumps:/usr/lib/python3.12/json/__init__.py", Package: symbol.Compiled, File: "/usr/lib/python3.12/json/__init__.py"}, false},
		{symbol.Frame{Function: "Builtin:ArrayMap", Package: symbol.Compiled}, false},
		{symbol.Frame{Function: "tcp_sendmsg", Package: "kernel"}, false},
		{symbol.Frame{Package: "server"}, false},
	} {
		if got := isOwn(tt.f); got != tt.own {
			t.Errorf("%+v: own %v", tt.f, got)
		}
	}
}

// What libraries do is left out but for the first that own functions call; without own functions libraries are shown.
func TestOwnCallsOf(t *testing.T) {
	main := symbol.Frame{Function: "main.handle", Package: "main", File: "main.go"}
	json := symbol.Frame{Function: "encoding/json.Marshal", Package: "encoding/json", File: "encoding/json/encode.go"}
	alloc := symbol.Frame{Function: "runtime.mallocgc", Package: "runtime", File: "runtime/malloc.go"}
	stacks := func(frames ...[]symbol.Frame) [][]Stacks {
		s := Stacks{Operations: 1}
		for _, f := range frames {
			s.add(Stack{Frames: f, Samples: 1, Time: 10})
		}
		return [][]Stacks{{s}}
	}
	var got []string
	for _, c := range OwnCallsOf(stacks([]symbol.Frame{alloc, json, main}, []symbol.Frame{main}, []symbol.Frame{alloc}), 100) {
		got = append(got, fmt.Sprintf("%d %s %g", c.Depth, c.Function, c.PerOp[0]))
	}
	if want := "0 all 30; 1 [the rest] 10; 1 main.handle 20; 2 encoding/json.Marshal 10"; strings.Join(got, "; ") != want {
		t.Errorf("%q, want %q", strings.Join(got, "; "), want)
	}
	if calls := OwnCallsOf(stacks([]symbol.Frame{{Function: "ngx_http_handler", Package: "libngx.so"}}), 100); len(calls) != 2 {
		t.Errorf("of a library alone: %+v", calls)
	}
	if calls := OwnCallsOf(stacks([]symbol.Frame{{Package: "kernel"}}), 100); calls != nil {
		t.Errorf("of nothing: %+v", calls)
	}
}
