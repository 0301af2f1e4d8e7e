// Positions says where some of its functions are, each on a line: the address, the name, the
// file and the line, as the runtime knows them. Then it waits until its input ends.
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

// show prints the functions that led here. Of those inlined into another the line is
// that of the innermost.
//
//go:noinline
func show() {
	pcs := make([]uintptr, 20)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	inner, more := frames.Next()
	for f := inner; ; f, more = frames.Next() {
		if inner.PC == 0 {
			inner = f
		}
		if f.Func != nil {
			fmt.Printf("%x\t%s\t%s\t%d\n", inner.PC, f.Function, inner.File, inner.Line)
			inner = runtime.Frame{}
		}
		if !more {
			return
		}
	}
}
