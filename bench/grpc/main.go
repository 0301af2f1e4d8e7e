// Grpc compares contend with other generators of gRPC load: unary calls per
// second of the generator's CPU, against contend's own counter.
//
//	go run ./bench/grpc
//	go run ./bench/grpc -table calls -rounds 20
//
// h2load sends prepared frames and does not read grpc-status; the others do. Package
// bench/internal/paired has the method. h2load comes from the package nghttp2-client,
// ghz and k6 from go install; missing ones are named.
package main

import (
	"context"
	"fmt"
	"io"

	"contend/bench/internal/paired"
)

func main() {
	var c paired.Comparison
	c.Flags()
	paired.Main("grpc", func(ctx context.Context, w io.Writer, s paired.Setup) error {
		seconds, err := c.Seconds()
		if err != nil {
			return err
		}
		address, stop, err := paired.Serve(ctx, nil, s.Contend, "serve", "counter", "--grpc", "{{addr}}", "--guard", "mutex")
		if err != nil {
			return err
		}
		defer stop()
		made, err := tables(s, address, seconds)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "unary calls of %s, ", method)
		return c.Print(ctx, w, made)
	})
}
