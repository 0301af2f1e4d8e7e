// Package counterpb is the gRPC contract of the counter service, generated
// from counter.proto.
package counterpb

import _ "embed"

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative counter.proto

// Source is the text of counter.proto, for clients that make their own code
// from it. It is never changed.
//
//go:embed counter.proto
var Source string
