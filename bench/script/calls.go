package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// calls are those of testdata/data/echo.proto. Each answers with what it was sent, or with the status
// that its metadata ask for.
func calls(mux *http.ServeMux) {
	mux.Handle("/echo.Echo/", grpc.NewServer(grpc.ForceServerCodecV2(encoded{}), grpc.UnknownServiceHandler(echoCall)))
}

func echoCall(_ any, stream grpc.ServerStream) error {
	ctx := stream.Context()
	if err := stream.SendHeader(metadata.Pairs("kind", "echo", "raw-bin", "\x00\xff")); err != nil {
		return err
	}
	stream.SetTrailer(metadata.Pairs("cost", "7"))
	if asked := metadata.ValueFromIncomingContext(ctx, "x-status"); len(asked) > 0 {
		return status.Error(codes.Code(number(asked[0], 2)), "as asked: 100 %")
	}
	method, _ := grpc.Method(ctx)
	var last []byte
	for {
		var message []byte
		switch err := stream.RecvMsg(&message); {
		case err == io.EOF:
			if strings.HasSuffix(method, "/Last") {
				return stream.SendMsg(last)
			}
			return nil
		case err != nil:
			return err
		}
		last = message
		times := map[string]int{"/echo.Echo/Once": 1, "/echo.Echo/Thrice": 3, "/echo.Echo/Each": 1}[method]
		for range times {
			if err := stream.SendMsg(message); err != nil {
				return err
			}
		}
		if times == 0 && !strings.HasSuffix(method, "/Last") {
			return status.Error(codes.Unimplemented, method)
		}
	}
}

// encoded leaves messages as they are.
type encoded struct{}

func (encoded) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("%T is not encoded", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(message)}, nil
}

func (encoded) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (encoded) Name() string { return "" }
