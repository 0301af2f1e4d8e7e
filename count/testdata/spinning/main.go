// Spinning serves HTTP at an address with so many turns of a loop in each response.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
)

func main() {
	turns, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, spin(turns)%10) }))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

//go:noinline
func spin(turns int) (x uint64) {
	for x = 1; turns > 0; turns-- {
		x = x*31 + 7
	}
	return x
}
