// Spinning serves HTTP at an address with so many turns of a loop in each response. Package net/http would do as well, but
// starts for twice as long under a simulator.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
)

func main() {
	turns, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = serve(os.Args[1], turns)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func serve(address string, turns int) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go answer(conn, turns)
	}
}

// answer answers each request, whose head ends with an empty line and which has no body.
func answer(conn net.Conn, turns int) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if lines.Text() == "" {
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", spin(turns)%10)
		}
	}
}

//go:noinline
func spin(turns int) (x uint64) {
	for x = 1; turns > 0; turns-- {
		x = x*31 + 7
	}
	return x
}
