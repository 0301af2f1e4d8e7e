// Package counterpb is the gRPC contract of the counter service, generated
// from counter.proto.
package counterpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative counter.proto
