// Positions prints where some of its functions are, each on a line: the address, the name,
// the file and the line, as the runtime knows them. If functions are inlined at an address,
// the innermost comes first. Then it waits until its input ends.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
)

func main() {
	tree[int]{}.walk(func() { slices.SortFunc([]int{2, 1}, func(a, b int) int { inlined(); return a - b }) })
	more()
	fmt.Println()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

type tree[T any] struct{}

//go:noinline
func (tree[T]) walk(visit func()) { visit() }

func inlined() { show() }

// show prints the functions that led here.
//
//go:noinline
func show() {
	pcs := make([]uintptr, 20)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	address := uintptr(0)
	for f, more := frames.Next(); ; f, more = frames.Next() {
		if address == 0 {
			address = f.PC
		}
		fmt.Printf("%x\t%s\t%s\t%d\n", address, f.Function, f.File, f.Line)
		if f.Func != nil {
			address = 0 // of its caller
		}
		if !more {
			return
		}
	}
}
