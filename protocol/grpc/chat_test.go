package grpc

import (
	"io"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// A chatServer has the three kinds of streams of testdata/chat.proto.
type chatServer struct {
	file  protoreflect.FileDescriptor
	delay time.Duration // before each message that it sends
	// hook, if not nil, runs at the beginning of each stream; its error ends it.
	hook func(grpc.ServerStream) error

	streams, items, ended atomic.Int64 // opened; received; ended by the client in good order
}

func newChatServer(t testing.TB) *chatServer {
	t.Helper()
	return &chatServer{file: compile(t, "chat.proto")}
}

func (s *chatServer) start(t testing.TB, address string, kind reflectionKind, options ...grpc.ServerOption) (string, *grpc.Server) {
	t.Helper()
	return start(t, address, s.desc(), s.file, kind, options...)
}

func (s *chatServer) desc() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "chat.Room",
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{
			{StreamName: "Collect", Handler: s.handle(s.collect), ClientStreams: true},
			{StreamName: "List", Handler: s.handle(s.list), ServerStreams: true},
			{StreamName: "Talk", Handler: s.handle(s.talk), ClientStreams: true, ServerStreams: true},
		},
		Metadata: "chat.proto",
	}
}

func (s *chatServer) handle(next func(grpc.ServerStream) error) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) error {
		s.streams.Add(1)
		if s.hook != nil {
			if err := s.hook(stream); err != nil {
				return err
			}
		}
		return next(stream)
	}
}

func (s *chatServer) receive(stream grpc.ServerStream) (*dynamicpb.Message, error) {
	item := dynamicpb.NewMessage(s.file.Messages().ByName("Item"))
	err := stream.RecvMsg(item)
	if err == nil {
		s.items.Add(1)
	}
	return item, err
}

func (s *chatServer) send(stream grpc.ServerStream, message *dynamicpb.Message) error {
	time.Sleep(s.delay)
	return stream.SendMsg(message)
}

func value(message *dynamicpb.Message) int64 {
	return message.Get(message.Descriptor().Fields().ByName("value")).Int()
}

func (s *chatServer) collect(stream grpc.ServerStream) error {
	var count, total int64
	for {
		item, err := s.receive(stream)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		count, total = count+1, total+value(item)
	}
	s.ended.Add(1)
	sum := dynamicpb.NewMessage(s.file.Messages().ByName("Sum"))
	sum.Set(sum.Descriptor().Fields().ByName("count"), protoreflect.ValueOfInt32(int32(count)))
	sum.Set(sum.Descriptor().Fields().ByName("total"), protoreflect.ValueOfInt64(total))
	return s.send(stream, sum)
}

func (s *chatServer) list(stream grpc.ServerStream) error {
	item, err := s.receive(stream)
	if err != nil {
		return err
	}
	for range value(item) {
		if err := s.send(stream, item); err != nil {
			return err
		}
	}
	return nil
}

func (s *chatServer) talk(stream grpc.ServerStream) error {
	for {
		item, err := s.receive(stream)
		if err == io.EOF {
			s.ended.Add(1)
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.send(stream, item); err != nil {
			return err
		}
	}
}

// chat is the configuration of a call of the chat server's method.
func chat(address, method, data string) Config {
	return Config{
		URL:        "grpc://" + address + "/chat.Room/" + method,
		Data:       []byte(data),
		ProtoFiles: []string{"testdata/chat.proto"},
	}
}
