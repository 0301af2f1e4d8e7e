package why

import "strings"

// ShortName removes from a Go function the path of its package, and its type parameters: sha256.block
// of crypto/internal/fips140/sha256.block, and main.(*queue[…]).put.
func ShortName(function string) string {
	path, _, _ := strings.Cut(function, "[") // with its type parameters, or [unknown] in a file
	path, _, _ = strings.Cut(path, "(")
	name := function[strings.LastIndexByte(path, '/')+1:]
	from, to := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if from > 0 && name[from-1] != ' ' && to > from+1 { // no [vdso], no operator[], and no suffix that a compiler adds after a space
		name = name[:from+1] + "…" + name[to:]
	}
	return name
}

// withoutFile is the name of a function of a script without its file, handle of handle (server.js); one without a name of its
// own has its line. Any other stays as it is.
func withoutFile(function string) string {
	if at, ok := placeOf(function); ok {
		return place{"", at.line}.String()
	}
	name, _, ok := strings.Cut(function, " (")
	if !ok || strings.HasPrefix(name, "<") || strings.HasPrefix(name, "(") {
		return function
	}
	return name
}
