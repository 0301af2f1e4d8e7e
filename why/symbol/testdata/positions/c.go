//go:build cgo

package main

/*
__attribute__((noinline)) int in_c(int n) { return n + 1; }
static void *address(void) { return (void *)in_c; }
*/
import "C"

import "fmt"

func more() { fmt.Printf("%x\tin_c\t\t0\n", uintptr(C.address())) }
