// Server serves HTTP with net/http or fasthttp, or gRPC, at an address. A request costs some turns of a loop in each of
// four functions, and in one of them so many more: server http|fasthttp|grpc ADDRESS PLACE TURNS.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"

	"contend/systems/counter/counterpb"

	"github.com/valyala/fasthttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
)

const turns = 100

// The functions differ only in where they begin, so that a turn is as many instructions in each.
var places = [...]func(int) uint64{place0, place1, place2, place3}

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	if len(args) != 4 {
		return errors.New("usage: server http|fasthttp|grpc ADDRESS PLACE TURNS")
	}
	place, errPlace := strconv.Atoi(args[2])
	more, errMore := strconv.Atoi(args[3])
	listener, err := net.Listen("tcp", args[1])
	if err := errors.Join(errPlace, errMore, err); err != nil {
		return err
	}
	work := func() string {
		sum := uint64(0)
		for i, do := range places {
			n := turns
			if i == place {
				n += more
			}
			sum += do(n)
		}
		return strconv.FormatUint(sum%10, 10)
	}
	switch args[0] {
	case "fasthttp":
		return fasthttp.Serve(listener, func(c *fasthttp.RequestCtx) { c.SetBodyString(work()) })
	case "grpc":
		server := grpc.NewServer()
		counterpb.RegisterIncrementCounterServer(server, calls{work: work})
		reflection.Register(server)
		return server.Serve(listener)
	}
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, work()) }))
}

// calls are those of gRPC.
type calls struct {
	counterpb.UnimplementedIncrementCounterServer
	work func() string
}

func (c calls) Increment(context.Context, *counterpb.IncrementBy) (*counterpb.Status, error) {
	return &counterpb.Status{Message: c.work()}, nil
}

//go:noinline
func place0(n int) (x uint64) {
	for x = 1; n > 0; n-- {
		x = x*31 + 7
	}
	return x
}

//go:noinline
func place1(n int) (x uint64) {
	for x = 2; n > 0; n-- {
		x = x*31 + 7
	}
	return x
}

//go:noinline
func place2(n int) (x uint64) {
	for x = 3; n > 0; n-- {
		x = x*31 + 7
	}
	return x
}

//go:noinline
func place3(n int) (x uint64) {
	for x = 4; n > 0; n-- {
		x = x*31 + 7
	}
	return x
}
