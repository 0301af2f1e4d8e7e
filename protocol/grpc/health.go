package grpc

import (
	"fmt"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Health is the method that asks a server how one of its services is: {"service": name}.
var Health = &Method{method{healthpb.File_grpc_health_v1_health_proto.Services().Get(0).Methods().ByName("Check"), protoregistry.GlobalTypes}}

// HealthOf is what the answer to Health says: 0 unknown, 1 serving, 2 not serving, 3 no such service. The
// error says why nothing is known.
func HealthOf(r *Reply) (state int, err error) {
	if r.Code != 0 {
		return 0, fmt.Errorf("%v: %s", codes.Code(r.Code), r.Status)
	}
	var answer healthpb.HealthCheckResponse
	if err := proto.Unmarshal(r.Message, &answer); err != nil {
		return 0, fmt.Errorf("not a health service response: %s", withoutPrefix(err))
	}
	return int(answer.Status), nil
}
