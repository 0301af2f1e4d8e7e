package counter

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/guard"
	"contend/systems/counter/counterpb"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

func connect(t testing.TB, s *running) *grpc.ClientConn {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:"+s.grpcAddr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

func timeout(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	t.Cleanup(cancel)
	return ctx
}

func TestIncrementOverGRPC(t *testing.T) {
	for _, design := range append(guard.Names(true), "inputQ", "MUTEX") {
		t.Run(design, func(t *testing.T) {
			client := counterpb.NewIncrementCounterClient(connect(t, start(t, grpcOnly(design))))
			tests := []struct {
				value int32
				want  string
				code  codes.Code
			}{
				{1, "Incremented value is 1", codes.OK},
				{1, "Incremented value is 2", codes.OK},
				{0, "Incremented value is 2", codes.OK},
				{-1, "Value cannot be negative", codes.InvalidArgument},
				{2147483647, "Incremented value is 2147483649", codes.OK}, // 2 + 2³¹−1
				{2147483647, "Incremented value is 4294967296", codes.OK},
			}
			for _, tt := range tests {
				out, err := client.Increment(timeout(t), &counterpb.IncrementBy{Value: tt.value})
				got := out.GetMessage()
				if err != nil {
					got = status.Convert(err).Message()
				}
				if got != tt.want || status.Code(err) != tt.code {
					t.Errorf("increment %d: %q, %v; want %q, %v", tt.value, got, status.Code(err), tt.want, tt.code)
				}
			}
		})
	}
}

// TestIncrementByReflection only knows the name of the service.
func TestIncrementByReflection(t *testing.T) {
	cc := connect(t, start(t, grpcOnly("mutex")))
	stream, err := reflectionpb.NewServerReflectionClient(cc).ServerReflectionInfo(timeout(t))
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: "counter.incrementCounter"}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.CloseSend()
	var file descriptorpb.FileDescriptorProto
	raw := answer.GetFileDescriptorResponse().GetFileDescriptorProto()
	if len(raw) != 1 || proto.Unmarshal(raw[0], &file) != nil {
		t.Fatalf("reflection answers %v", answer)
	}
	fd, err := protodesc.NewFile(&file, nil)
	if err != nil {
		t.Fatal(err)
	}
	method := fd.Services().ByName("incrementCounter").Methods().ByName("increment")
	in, out := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	in.Set(method.Input().Fields().ByName("value"), protoreflect.ValueOfInt32(3))
	if err := cc.Invoke(timeout(t), "/counter.incrementCounter/increment", in, out); err != nil {
		t.Fatal(err)
	}
	if got := out.Get(method.Output().Fields().ByName("message")).String(); got != "Incremented value is 3" {
		t.Errorf("message %q", got)
	}
}

// TestOriginalBytes sends what a client generated from the original proto
// sends: field 1 as a varint; and reads what it reads: field 1 as a string.
func TestOriginalBytes(t *testing.T) {
	cc := connect(t, start(t, grpcOnly("inputQ")))
	in, out := []byte{0x08, 0x01}, []byte(nil)
	err := cc.Invoke(timeout(t), "/counter.incrementCounter/increment", &in, &out, grpc.ForceCodec(rawCodec{}))
	if err != nil {
		t.Fatal(err)
	}
	if want := "\x0a\x16Incremented value is 1"; string(out) != want { // 0x16 = 22 bytes
		t.Errorf("%q, want %q", out, want)
	}
}

type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = slices.Clone(data); return nil }
func (rawCodec) Name() string                       { return "proto" }

func TestGRPCHealth(t *testing.T) {
	client := grpc_health_v1.NewHealthClient(connect(t, start(t, grpcOnly("mutex"))))
	for _, service := range []string{"", "counter.incrementCounter"} {
		got, err := client.Check(timeout(t), &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", service, got, err)
		}
	}
}

func TestGRPCFaults(t *testing.T) {
	broken := func(change func(guarded) guarded) func(*Server) {
		return func(s *Server) {
			r := s.sides[0].(*rpc)
			r.own = change(r.own)
		}
	}
	tests := []struct {
		name   string
		before func(*Server)
		call   []grpc.CallOption
		in     *counterpb.IncrementBy
		want   codes.Code
	}{
		{"panic", broken(func(t guarded) guarded { return panicking{t} }), nil,
			&counterpb.IncrementBy{Value: 1}, codes.Internal},
		{"guard closed", broken(func(t guarded) guarded { _ = t.Close(); return t }), nil,
			&counterpb.IncrementBy{Value: 1}, codes.Unavailable},
		{"message too large", nil, nil, tooLarge(), codes.ResourceExhausted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before []func(*Server)
			if tt.before != nil {
				before = append(before, tt.before)
			}
			client := counterpb.NewIncrementCounterClient(connect(t, start(t, grpcOnly("mutex"), before...)))
			if _, err := client.Increment(timeout(t), tt.in, tt.call...); status.Code(err) != tt.want {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// tooLarge carries an unknown field that does not fit the limit.
func tooLarge() *counterpb.IncrementBy {
	in := &counterpb.IncrementBy{Value: 1}
	// 0x7a: field 15, length-delimited; the length as a varint of two bytes
	n := maxBodyBytes
	field := append([]byte{0x7a, byte(n&0x7f | 0x80), byte(n >> 7)}, strings.Repeat("x", n)...)
	in.ProtoReflect().SetUnknown(field)
	return in
}

func TestCancelledCallIsNotCounted(t *testing.T) {
	s := start(t, grpcOnly("mutex"))
	r := s.sides[0].(*rpc)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	_, err := r.Increment(ctx, &counterpb.IncrementBy{Value: 1})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v, want DeadlineExceeded", err)
	}
	if n, _ := r.own.load(); n != 0 {
		t.Errorf("counter %d, want 0", n)
	}
}
