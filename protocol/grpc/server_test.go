package grpc

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"contend/internal/testenv"
)

const methodPath = "/counter.incrementCounter/increment"

// A counterServer is the published counter, written against the descriptors of
// testdata/counter.proto.
type counterServer struct {
	file protoreflect.FileDescriptor

	mu    sync.Mutex
	total int64
	seen  []metadata.MD
	// hook, if not nil, runs in each call.
	hook func(ctx context.Context) error
}

func newCounterServer(t testing.TB) *counterServer {
	return &counterServer{file: compile(t, "counter.proto")}
}

func compile(t testing.TB, name string) protoreflect.FileDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{"testdata"}}}
	files, err := compiler.Compile(t.Context(), name)
	testenv.Must(t, err)
	return files[0]
}

func (s *counterServer) increment(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	request := dynamicpb.NewMessage(s.file.Messages().ByName("incrementBy"))
	if err := decode(request); err != nil {
		return nil, err
	}
	if s.hook != nil {
		if err := s.hook(ctx); err != nil {
			return nil, err
		}
	}
	value := request.Get(request.Descriptor().Fields().ByName("value")).Int()
	if value < 0 {
		return nil, status.Error(codes.InvalidArgument, "value is negative")
	}
	sent, _ := metadata.FromIncomingContext(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += value
	s.seen = append(s.seen, sent)
	answer := dynamicpb.NewMessage(s.file.Messages().ByName("status"))
	answer.Set(answer.Descriptor().Fields().ByName("message"), protoreflect.ValueOfString(fmt.Sprintf("Incremented value is %d", s.total)))
	return proto.Message(answer), nil
}

func (s *counterServer) desc() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "counter.incrementCounter",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "increment", Handler: s.increment}},
		Metadata:    "counter.proto",
	}
}

// described makes a server describe itself without a global registry.
type described struct{ file protoreflect.FileDescriptor }

func (d described) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if path != d.file.Path() {
		return nil, fmt.Errorf("no file %s", path)
	}
	return d.file, nil
}

func (d described) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if service := d.file.Services().Get(0); name == service.FullName() {
		return service, nil
	}
	return nil, fmt.Errorf("no symbol %s", name)
}

// A reflectionKind says which reflection a test server has.
type reflectionKind int

const (
	noReflection reflectionKind = iota
	alphaReflection
	v1Reflection
)

// start serves on address ("127.0.0.1:0" for any port) until the test ends or
// the returned server is stopped.
func (s *counterServer) start(t testing.TB, address string, kind reflectionKind, options ...grpc.ServerOption) (string, *grpc.Server) {
	t.Helper()
	return start(t, address, s.desc(), s.file, kind, options...)
}

// counterAt and chatAt serve with a hook.
func counterAt(t testing.TB, hook func(context.Context) error) string {
	t.Helper()
	s := newCounterServer(t)
	s.hook = hook
	address, _ := s.start(t, "127.0.0.1:0", noReflection)
	return address
}

func chatAt(t testing.TB, hook func(grpc.ServerStream) error) string {
	t.Helper()
	s := newChatServer(t)
	s.hook = hook
	address, _ := s.start(t, "127.0.0.1:0", noReflection)
	return address
}

func start(t testing.TB, address string, desc *grpc.ServiceDesc, file protoreflect.FileDescriptor, kind reflectionKind, with ...grpc.ServerOption) (string, *grpc.Server) {
	t.Helper()
	server := grpc.NewServer(with...)
	server.RegisterService(desc, struct{}{})
	options := reflection.ServerOptions{Services: server, DescriptorResolver: described{file}}
	switch kind {
	case v1Reflection:
		grpc_reflection_v1.RegisterServerReflectionServer(server, reflection.NewServerV1(options))
	case alphaReflection:
		grpc_reflection_v1alpha.RegisterServerReflectionServer(server, reflection.NewServer(options))
	}
	return serve(t, address, server), server
}

func serve(t testing.TB, address string, server *grpc.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	testenv.Must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return listener.Addr().String()
}
