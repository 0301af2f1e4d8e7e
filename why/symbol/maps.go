package symbol

import (
	"bytes"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"contend/internal/lazyregexp"
)

// maxText bounds a text file that names functions: node's has some MB after an hour, the
// kernel's 12.
const maxText = 64 << 20

// readText reads a text of at most so many bytes, nil if it is longer.
func readText(r io.Reader, most int) []byte {
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil || len(text) > most {
		return nil
	}
	return text
}

// perfMap reads what a runtime writes about the functions it made, each on a line: where
// it starts, how long it is, both hexadecimal, and its name. Later ones take the place
// of earlier ones. Source: Linux, tools/perf/Documentation/jit-interface.txt.
func perfMap(text []byte) *names {
	var spans []span
	eachSymbol(text, func(start uint64, second []byte, name uint32) {
		if size, ok := hexadecimal(second); ok && int(name) < len(text) && text[name] != '\n' {
			spans = append(spans, span{start, start + size, name})
		}
	})
	return newNames(spans, text, '\n')
}

// eachSymbol calls found for each line of three words that begins with an address, with this, its second word and where
// in the text the third begins.
func eachSymbol(text []byte, found func(start uint64, second []byte, name uint32)) {
	for at := 0; at < len(text); {
		line, _, _ := bytes.Cut(text[at:], []byte("\n"))
		first, rest, _ := bytes.Cut(line, []byte(" "))
		second, name, ok := bytes.Cut(rest, []byte(" "))
		if start, isAddress := hexadecimal(first); ok && isAddress {
			found(start, second, uint32(at+len(line)-len(name)))
		}
		at += len(line) + 1
	}
}

// hexadecimal reads a number, with 0x before it or not.
func hexadecimal(text []byte) (n uint64, ok bool) {
	n, err := strconv.ParseUint(string(bytes.TrimPrefix(text, []byte("0x"))), 16, 64)
	return n, err == nil
}

// inScript is how V8 names the code of a function of a script: its kind and its tier, which changes while
// a program runs, the function, and where it stands. Source: V8, src/logging/log.cc.
var inScript = lazyregexp.New(`^(?:JS|LazyCompile|Function|Script|Eval):[~^+*']*(.*?) ?((?:/|file:|node:).*?)(:\d+)(?::\d+)?$`)

// inPython is how Python names a function in a file: py::Cart.add:/app/shop.py. Source: CPython, Python/perf_trampoline.c.
var inPython = lazyregexp.New(`^py::(.+?):(.+)$`)

// installed finds the folders of dependencies and of Python's library; what follows is how they are known.
var installed = lazyregexp.New(`^.*/(?:node_modules|site-packages|dist-packages|lib/python[0-9.]+)/`)

// Anonymous begins what a function of a script is called that has no name of its own; its file and line follow.
const Anonymous = "(anonymous) ("

// scripted is such a name as one says it, handle (server.js) or, of one that has no name, (anonymous)
// (server.js:12); of a dependency with its path. Any other name stays as it is.
func scripted(name string) (said string, of source) {
	of = inSource(name)
	if of.file == "" {
		return name, of
	}
	shown := installed().ReplaceAllString(of.file, "")
	if shown == of.file && strings.Contains(of.file, "/") && !strings.HasPrefix(of.file, "node:") {
		folder, base := path.Split(of.file)
		if shown = base; strings.HasPrefix(base, "index.") || strings.HasPrefix(base, "__") { // says nothing alone
			shown = path.Join(path.Base(folder), base)
		}
	}
	if of.function == "" {
		return Anonymous + shown + of.line + ")", of
	}
	return of.function + " (" + shown + ")", of
}

// A source is where V8 or Python says that a function of a script stands; of others the file is "". Python names no line; that of V8
// begins with a colon.
type source struct{ function, file, line string }

// inSource takes the name of a function apart.
func inSource(name string) source {
	if parts := inScript().FindStringSubmatch(name); parts != nil {
		return source{parts[1], parts[2], parts[3]}
	}
	if parts := inPython().FindStringSubmatch(name); parts != nil {
		return source{parts[1], parts[2], ""}
	}
	return source{}
}

// maxKernel is more than a function of the kernel has: what is farther from the start of
// the last one is in none. kallsyms tells no sizes.
const maxKernel = 256 << 10

// kallsyms reads /proc/kallsyms: an address, the kind of symbol, its name, and the module
// in brackets. Nil where the kernel hides addresses, which are 0 then.
func kallsyms(text []byte) *names {
	type symbol struct {
		span
		code bool
	}
	var list []symbol
	eachSymbol(text, func(start uint64, kind []byte, name uint32) {
		if start != 0 && len(kind) == 1 {
			list = append(list, symbol{span{start: start, name: name}, bytes.ContainsAny(kind, "tTwW")})
		}
	})
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b symbol) int { return byAddress(a.span, b.span) })
	var spans []span
	next := ^uint64(0)
	for i, s := range slices.Backward(list) {
		if i+1 < len(list) && list[i+1].start > s.start {
			next = list[i+1].start
		}
		if s.code {
			s.end = min(next, s.start+maxKernel)
			spans = append(spans, s.span)
		}
	}
	slices.Reverse(spans)
	return newNames(spans, text, '\n')
}

// Kernel returns a Frame for each address in the kernel. Where it hides its symbols
// (kernel.kptr_restrict, or who we are) the function is [kernel].
func (r *Resolver) Kernel(addresses []uint64) []Frame {
	if !r.kernelRead && len(addresses) > 0 {
		r.kernelRead, r.kernel = true, readKernel()
	}
	frames := make([]Frame, len(addresses))
	for i, addr := range addresses {
		frames[i] = kernelFrame(r.kernel, addr)
	}
	return frames
}

func kernelFrame(kernel *names, addr uint64) Frame {
	if kernel == nil {
		return Frame{Function: "[kernel]", Package: "kernel"}
	}
	name, ok := kernel.at(addr)
	if !ok {
		return Frame{Package: "kernel"}
	}
	name, module, inModule := strings.Cut(name, "\t[")
	f := Frame{Function: demangled(name), Package: "kernel"}
	if inModule {
		f.Package += "/" + Printable(strings.TrimSuffix(module, "]"))
	}
	return f
}
