package why

import (
	"fmt"
	"maps"
	"regexp"
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
		{"inlined in the baseline", `
all 100 100
  main.serve 100 100
    main.handle 80 80
      main.check 0 20`,
			"main.check", ""},
		{"a function that no stack has", "all 100 130", "main.lost", "main.lost 0"},
		{"nothing", "all 100 100", "", ""},
	} {
		if got := rooted(tt.calls, tt.differ); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// rooted are the roots of calls as drawn, as text, where the named functions clearly differ and some have other code.
func rooted(text, names string, changed ...string) string {
	calls := drawn(text)
	tree := newTree(calls, 0, 1)
	var differ []Row
	for _, name := range strings.Fields(names) {
		before := tree.sum(name, 0)
		differ = append(differ, Row{Name: name, BaselineValue: before, CandidateValue: before + tree.delta(name), Shift: stat.Shift{Value: tree.delta(name)}})
	}
	var got []string
	for _, r := range Roots(differ, calls, 0, 1, changed) {
		text := fmt.Sprintf("%s %g", r.What(), r.Value)
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
	return strings.Join(got, "; ")
}

// Where code shows what was edited, that is the root, and not what it calls more often, or with other data.
func TestRootsWithOtherCode(t *testing.T) {
	const orders = `
all 100 130
  serve 100 130
    list 80 110
      order 60 90
        valid 20 48
    page 20 20
      valid 10 10`
	for _, tt := range []struct{ name, calls, differ, changed, want string }{
		{"both, under a caller that differs", "\nall 100 160\n  order 100 160\n    valid 10 40\n    clean 10 39", "order valid clean", "order", "order 60, mostly valid"},
		{"nothing is known", orders, "serve valid", "", "valid 28 under serve list order"},
		{"the function itself", orders, "serve valid", "valid order", "valid 28 under serve list order"},
		{"its caller, which does not clearly differ", orders, "serve valid", "order", "valid called by order 28 under serve list"},
		{"its caller", orders, "serve order valid", "order", "order 30 under serve list, mostly valid"},
		{"the caller of its caller", orders, "serve valid", "list", "valid called by list 28 under serve"},
		{"a caller under which it does not differ", orders, "serve valid", "page", "valid 28 under serve list order"},
		{"another function", orders, "serve valid", "elsewhere", "valid 28 under serve list order"},
		{"only in the candidate", "\nall 100 130\n  order 100 130\n    valid 0 30", "order valid", "order", "valid 30 only under order"},
		{"two under one caller", "\nall 100 160\n  order 100 160\n    valid 10 40\n    clean 10 39", "valid clean", "order", "valid called by order 30; clean called by order 29"},
	} {
		if got := rooted(tt.calls, tt.differ, strings.Fields(tt.changed)...); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
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
		{symbol.Frame{Function: "google.golang.org/protobuf/impl.(*M).size-fm", Package: "google.golang.org/protobuf/impl", File: "<autogenerated>"}, false},
		{symbol.Frame{Function: "gcWriteBarrier", Package: "shop", File: "/usr/lib/go/src/runtime/asm_amd64.s"}, false}, // without a package its own is the program's
		{symbol.Frame{Function: "handle_request", Package: "server"}, true},
		{symbol.Frame{Function: "memcpy", Package: "libc.so.6"}, false},
		{symbol.Frame{Function: "core::fmt::write", Package: "server"}, false},
		{symbol.Frame{Function: "shop::cart::add", Package: "server"}, true},
		{symbol.Frame{Function: "<shop::Cart as core::fmt::Display>::fmt", Package: "server"}, true},
		{symbol.Frame{Function: "<str as shop::Slug>::slug", Package: "server"}, true},
		{symbol.Frame{Function: "<str>::to_lowercase", Package: "server"}, false},
		{symbol.Frame{Function: "<str as core::cmp::Ord>::cmp", Package: "server"}, false},
		{symbol.Frame{Function: "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>", Package: "server"}, false},
		{symbol.Frame{Function: "<*const u8>::copy_to_nonoverlapping", Package: "server"}, false},
		{symbol.Frame{Function: "v8::internal::Builtin", Package: "node"}, false},
		{symbol.Frame{Function: "_PyEval_EvalFrameDefault", Package: "python3.12"}, false},
		{symbol.Frame{Function: "handle (server.js)", Package: symbol.Compiled, File: "/app/server.js"}, true},
		{symbol.Frame{Function: "next (express/lib/router.js)", Package: symbol.Compiled, File: "/app/node_modules/express/lib/router.js"}, false},
		{symbol.Frame{Function: "emit (node:events)", Package: symbol.Compiled, File: "node:events"}, false},
		{symbol.Frame{Function: "dumps (json/__init__.py)", Package: symbol.Compiled, File: "/usr/lib/python3.12/json/__init__.py"}, false},
		{symbol.Frame{Function: "Builtin:ArrayMap", Package: symbol.Compiled}, false},
		{symbol.Frame{Function: "tcp_sendmsg", Package: "kernel"}, false},
		{symbol.Frame{Package: "server"}, false},
		{symbol.Frame{Function: "order_id", Package: "libshop.so", Bundled: true}, true},
		{symbol.Frame{Function: "order_id", Package: "libshop.so.1"}, false},
	} {
		if got := originOf(tt.f, nil) == Own; got != tt.own {
			t.Errorf("%+v: own %v", tt.f, got)
		}
	}
}

// Where no own function clearly differs, those are named that call one of a library which does.
func TestCalling(t *testing.T) {
	own := drawn(`
all 100 101
  main.serve 100 101
    main.respond 50 51
      runtime.makeslice 1 5
      bytes.growSlice 4 1
    main.read 20 20
      fmt.Sprint 5 7
    main.write 20 20
      fmt.Sprint 5 7`)
	differ := func(name string, value float64) Row { return Row{Name: name, Shift: stat.Shift{Value: value}} }
	e := Explanation{Functions: []Row{differ("runtime.makeslice", 4), differ("fmt.Sprint", 4), differ("bytes.growSlice", -3), differ("runtime.scanObject", 2)}}
	e.Trace(own, nil, 0, 1, nil, Program{})
	if len(e.Roots) != 1 || e.Roots[0].Name != "main.respond" || e.Roots[0].What() != "runtime.makeslice called by main.respond" || e.Roots[0].Value != 4 ||
		strings.Join(e.Roots[0].Callers, " ") != "main.serve" {
		t.Errorf("%+v", e.Roots)
	}
}

// A function that took the place of another is compared with it, if nothing else could have.
func TestRenamed(t *testing.T) {
	for _, tt := range []struct{ name, calls, want string }{
		{"the only one", "all 100 105\n  main.handle 100 105\n    main.age 5 0\n      time.Now 5 0\n    main.ageText 0 10\n      time.Now 0 10", "main.ageText of main.age"},
		{"with nothing in common", "all 100 105\n  main.handle 100 105\n    main.age 5 0\n      time.Now 5 0\n    main.log 0 10\n      fmt.Println 0 10", ""},
		{"two that may be", "all 100 105\n  main.handle 100 105\n    main.age 5 0\n    main.a 0 5\n    main.b 0 5", ""},
		{"another under each caller", "all 100 105\n  main.get 50 55\n    main.age 5 0\n    main.text 0 10\n  main.put 50 50\n    main.size 5 0\n    main.text 0 5", ""},
		{"of a library", "all 100 105\n  main.handle 100 105\n    fmt.Sprint 5 0\n    strconv.Itoa 0 5", ""},
	} {
		calls := drawn(tt.calls)
		p := Profile{Arm: "B"}
		for _, c := range calls {
			if strings.HasPrefix(c.Function, "main.") {
				p.Functions = append(p.Functions, Function{Name: c.Function, Of: Own})
			}
		}
		got, renamed := []string{}, Renamed([]Profile{p}, [2]string{"A", "B"}, calls, 0, 1)
		for fresh, former := range renamed {
			got = append(got, fresh+" of "+former)
		}
		if joined := strings.Join(got, "; "); joined != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, joined, tt.want)
		}
		if as := As([]Profile{p}, "B", renamed)[0]; tt.want != "" && (as.Functions[2].Name != "main.age" || p.Functions[2].Name != "main.ageText") {
			t.Errorf("%s: functions are %v, were %v", tt.name, as.Functions, p.Functions)
		}
	}
	profile := func(arm string, packages ...string) Profile {
		p := Profile{Arm: arm, CPU: 100}
		for _, name := range packages {
			p.Packages = append(p.Packages, Package{Name: name, Time: 50})
		}
		return p
	}
	files := Renamed([]Profile{profile("A", "old", "libc.so.6"), profile("B", "libc.so.6", "new")}, [2]string{"A", "B"}, drawn("all 100 100"), 0, 1)
	if len(files) != 2 || files["new"] != "old" || files["[unknown] in new"] != "[unknown] in old" {
		t.Errorf("of files: %v", files)
	}
	if files := Renamed([]Profile{profile("A", "old"), profile("B", "old", "lib.so", "new")}, [2]string{"A", "B"}, drawn("all 100 100"), 0, 1); len(files) > 0 {
		t.Errorf("none is gone, two are new: %v", files)
	}
	e := Explanation{Own: []Row{{Name: "main.age", Shift: stat.Shift{Value: 5}}}}
	e.Trace(drawn("all 100 105\n  main.age 5 0\n  main.ageText 0 10"), nil, 0, 1, map[string]string{"main.ageText": "main.age"}, Program{})
	if r := e.Roots[0]; r.Name != "main.ageText" || r.Where("A", "B") != ", main.age in A" || e.Own[0].Name != r.Name {
		t.Errorf("%+v, own %v", r, e.Own)
	}
}

// Functions of a script that has another name are the same, and no page says what file they were in.
func TestAnotherFile(t *testing.T) {
	calls := drawn(`
all 100 105
  list@old.js 50 0
    match@old.js 20 0
    sort@old.js 5 0
    (anonymous)@old.js:3 1 0
  list@new.js 0 55
    match@new.js 0 20
    (anonymous)@new.js:3 0 1
    trim@new.js 0 5`)
	p := Profile{Arm: "A"}
	for i := range calls {
		if name, file, ok := strings.Cut(calls[i].Function, "@"); ok {
			calls[i].Function = name + " (" + file + ")"
			p.Functions = append(p.Functions, Function{Name: calls[i].Function, Of: Own})
		}
	}
	renamed := Renamed([]Profile{p}, [2]string{"A", "B"}, calls, 0, 1)
	want := map[string]string{"list (new.js)": "list (old.js)", "match (new.js)": "match (old.js)", "(anonymous) (new.js:3)": "(anonymous) (old.js:3)"}
	if !maps.Equal(renamed, want) {
		t.Errorf("%v, want %v", renamed, want)
	}
	e := Explanation{Own: []Row{{Name: "list (old.js)", Shift: stat.Shift{Value: 5}}}}
	e.Trace(calls, nil, 0, 1, renamed, Program{})
	if r := e.Roots[0]; r.Name != "list (new.js)" || r.Was != "" {
		t.Errorf("%+v", r)
	}
}

func TestConsequences(t *testing.T) {
	all := drawn(`
all 100 140
  main.handle 80 110
    main.copies 0 20
      runtime.newobject 0 9
        runtime.mallocgc 0 8
    main.other 5 10
      runtime.newobject 0 1
  runtime.gcBgMarkWorker 5 15`)
	collection := Row{Name: "garbage collection", Shift: stat.Shift{Value: 10}}
	for _, tt := range []struct {
		name string
		rows []Row
		want string
	}{
		{"9 of 10 ns of allocation are in one", []Row{collection}, "main.copies then garbage collection 10: 0.9 of allocation"},
		{"less collection for more allocation", []Row{{Name: "garbage collection", Shift: stat.Shift{Value: -10}}}, "main.copies"},
		{"no kind that follows another", []Row{{Name: "JSON", Shift: stat.Shift{Value: 10}}}, "main.copies"},
	} {
		e := Explanation{Rows: tt.rows, Own: []Row{{Name: "main.copies", Shift: stat.Shift{Value: 20}}}}
		e.Trace(all, all, 0, 1, nil, Program{})
		got := e.Roots[0].Name
		for _, then := range e.Roots[0].Then {
			got += fmt.Sprintf(" then %s %g: %g of %s", then.Name, then.Value, then.Share, then.Of)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
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
	for _, c := range OwnCallsOf(stacks([]symbol.Frame{alloc, json, main}, []symbol.Frame{main}, []symbol.Frame{alloc}), nil, 100) {
		got = append(got, fmt.Sprintf("%d %s %g", c.Depth, c.Function, c.PerOp[0]))
	}
	if want := "0 all 30; 1 [the rest] 10; 1 main.handle 20; 2 encoding/json.Marshal 10"; strings.Join(got, "; ") != want {
		t.Errorf("%q, want %q", strings.Join(got, "; "), want)
	}
	list := stacks([]symbol.Frame{alloc, json, main})
	if calls := OwnCallsOf(list, regexp.MustCompile(`^encoding/`), 100); len(calls) != 3 || calls[1].Function != "encoding/json.Marshal" {
		t.Errorf("own by name: %+v", calls)
	}
	if calls := OwnCallsOf(list, regexp.MustCompile(`json/encode.go$`), 100); len(calls) != 3 || calls[1].Function != "encoding/json.Marshal" {
		t.Errorf("own by file: %+v", calls)
	}
	if calls := OwnCallsOf(stacks([]symbol.Frame{{Function: "ngx_http_handler", Package: "libngx.so"}}), nil, 100); len(calls) != 2 {
		t.Errorf("of a library alone: %+v", calls)
	}
	if calls := OwnCallsOf(stacks([]symbol.Frame{{Package: "kernel"}}), nil, 100); calls != nil {
		t.Errorf("of nothing: %+v", calls)
	}
}

// An edit at line 100 added one: of functions without a name those below it have the next line, where another may have been.
func TestShifted(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after []int
		want          map[int]int
	}{
		{"one", []int{50, 140}, []int{50, 141}, map[int]int{141: 140}},
		{"several", []int{50, 140, 155, 180}, []int{50, 141, 156, 181}, map[int]int{141: 140, 156: 155, 181: 180}},
		{"to where another was", []int{50, 140, 141, 155}, []int{50, 141, 142, 156}, map[int]int{141: 140, 142: 141, 156: 155}},
		{"one is new, one gone", []int{50, 120, 140, 155, 180}, []int{50, 141, 156, 170, 181}, map[int]int{141: 140, 156: 155, 181: 180}},
		{"lines were removed", []int{140, 155}, []int{130, 145}, map[int]int{130: 140, 145: 155}},
		{"one is new", []int{50}, []int{50, 141}, nil},
		{"one is gone, as far from the next as that from the last", []int{10, 20, 30}, []int{20, 30}, nil},
		{"unlike", []int{10, 20, 30, 40}, []int{11, 23, 37, 59}, nil},
		{"equal", []int{50, 140}, []int{50, 140}, nil},
	} {
		own := []Call{{Function: "all", PerOp: []float64{100, 100}}}
		var names []string
		for side, lines := range [][]int{tt.before, tt.after} {
			for _, line := range lines {
				c := Call{Function: place{"app.js", line}.String(), Depth: 1, PerOp: make([]float64, 2)}
				c.PerOp[side] = 5
				own, names = append(own, c), append(names, c.Function)
			}
		}
		want := map[string]string{}
		for now, former := range tt.want {
			want[place{"app.js", now}.String()] = place{"app.js", former}.String()
		}
		if got := newTree(own, 0, 1).shifted(names); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tt.name, got, want)
		}
	}
}

// Both arms call two functions: that of line 6 in B was that of line 5 in A, where another is in line 6.
func TestRenameSplitsCalls(t *testing.T) {
	calls := drawn("all 100 109\n  get 100 109\n    f6 30 40\n      sum 10 19\n    f7 0 30\n    f5 40 0")
	renamed := map[string]string{"f6": "f5", "f7": "f6"}
	tree := newTree(rename(calls, 0, 1, renamed), 0, 1)
	for name, want := range map[string][2]float64{"f5": {40, 40}, "f6": {30, 30}, "f7": {}, "sum": {10, 19}, "get": {100, 109}} {
		if got := [2]float64{tree.sum(name, 0), tree.sum(name, 1)}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
