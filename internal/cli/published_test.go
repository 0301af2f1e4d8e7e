package cli

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/valyala/fasthttp"
	"google.golang.org/grpc"

	"contend/guard"
	"contend/systems/counter/counterpb"
)

// published is a server of the shape of those that others have published: it insists on
// its port, of all addresses, and knows nothing of contend. Its arguments are http or
// grpc, which has no reflection, the port, and the guard of its counter.
func published() {
	design, err := guard.Lookup(os.Args[3])
	if err == nil {
		err = map[string]func(port string, c guard.Counter) error{"http": publishedHTTP, "grpc": publishedGRPC}[os.Args[1]](os.Args[2], design.NewCounter())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func publishedHTTP(port string, c guard.Counter) error {
	return fasthttp.ListenAndServe(":"+port, func(ctx *fasthttp.RequestCtx) {
		n, err := c.Add(context.Background(), 1)
		if err != nil {
			ctx.SetStatusCode(fasthttp.StatusInternalServerError)
		}
		fmt.Fprintf(ctx, `{"counter":%d}`, n)
	})
}

type counterServer struct {
	counterpb.UnimplementedIncrementCounterServer
	guard.Counter
}

func (s counterServer) Increment(ctx context.Context, by *counterpb.IncrementBy) (*counterpb.Status, error) {
	n, err := s.Add(ctx, int64(by.GetValue()))
	return &counterpb.Status{Message: fmt.Sprint("Incremented value is ", n)}, err
}

func publishedGRPC(port string, c guard.Counter) error {
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	counterpb.RegisterIncrementCounterServer(server, counterServer{Counter: c})
	return server.Serve(listener)
}
