package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// A Schema describes services: those of .proto files, or those of a server by its reflection. It may
// be used concurrently.
type Schema struct {
	services map[protoreflect.FullName]protoreflect.ServiceDescriptor
	types    typeResolver
	source   string // as in "the server has"
}

// NewSchema compiles .proto files, which are looked up in paths as their imports are. Open opens a
// file; nil is the system's. The error has the file, the line and what is wrong there.
func NewSchema(ctx context.Context, paths, files []string, open func(path string) (io.ReadCloser, error)) (*Schema, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: paths, Accessor: open}),
	}
	compiled, err := compiler.Compile(ctx, files...)
	if err != nil {
		return nil, err
	}
	s := &Schema{types: compiled.AsResolver(), source: "the proto files describe"}
	for _, file := range compiled {
		s.add(file)
	}
	return s, nil
}

// ReadSchema reads a FileDescriptorSet, which protoc writes with --include_imports.
func ReadSchema(encoded []byte) (*Schema, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(encoded, &set); err != nil {
		return nil, fmt.Errorf("it is no set of descriptors: %s", withoutPrefix(err))
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, errors.New(withoutPrefix(err))
	}
	return newSchema(files, "the set describes"), nil
}

func newSchema(files *protoregistry.Files, source string) *Schema {
	s := &Schema{types: dynamicpb.NewTypes(files), source: source}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool { s.add(file); return true })
	return s
}

// add adds the services of a file.
func (s *Schema) add(file protoreflect.FileDescriptor) {
	if s.services == nil {
		s.services = map[protoreflect.FullName]protoreflect.ServiceDescriptor{}
	}
	for i := range file.Services().Len() {
		service := file.Services().Get(i)
		s.services[service.FullName()] = service
	}
}

// names are those of the services.
func (s *Schema) names() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.services)) {
		names = append(names, string(name))
	}
	return names
}

// Methods returns all methods, by their services and in the order of these.
func (s *Schema) Methods() []*Method {
	var all []*Method
	for _, name := range s.names() {
		methods := s.services[protoreflect.FullName(name)].Methods()
		for i := range methods.Len() {
			all = append(all, &Method{method{methods.Get(i), s.types}})
		}
	}
	return all
}

// Method finds a method by package.Service/Method, with or without a slash before it. The error
// names what there is.
func (s *Schema) Method(path string) (*Method, error) {
	name, of, found := splitMethod(strings.TrimPrefix(path, "/"))
	if !found {
		return nil, fmt.Errorf("method is %q; expected package.Service/Method", path)
	}
	service := s.services[protoreflect.FullName(name)]
	if service == nil {
		return nil, fmt.Errorf("method is %q, but %s %s", path, s.source, list(s.names()))
	}
	descriptor := service.Methods().ByName(protoreflect.Name(of))
	if descriptor == nil {
		return nil, fmt.Errorf("method is %q, but %s has %s", path, name, methodNames(service))
	}
	return &Method{method{descriptor, s.types}}, nil
}

// A Method is what a Client can call.
type Method struct{ of method }

// Path returns /package.Service/Method.
func (m *Method) Path() string { return m.of.path() }

// Package returns the package of the service.
func (m *Method) Package() string { return string(m.of.ParentFile().Package()) }

// Service returns the service without its package.
func (m *Method) Service() string { return string(m.of.Parent().Name()) }

// Name returns the method alone.
func (m *Method) Name() string { return string(m.of.Name()) }

// ClientStreams reports whether the client sends a stream of messages.
func (m *Method) ClientStreams() bool { return m.of.IsStreamingClient() }

// ServerStreams reports whether the server does.
func (m *Method) ServerStreams() bool { return m.of.IsStreamingServer() }

// Kind says in words who streams: "unary", "a server stream".
func (m *Method) Kind() string { return m.of.kind().String() }

// Encode turns a message in protobuf's JSON into bytes; without any JSON it has no fields. The error names the field and those that there are.
func (m *Method) Encode(json []byte) ([]byte, error) {
	encoded, err := m.of.encodeOne(json)
	if err != nil {
		return nil, fmt.Errorf("for %s: %w", m.of.Input().FullName(), err)
	}
	return encoded, nil
}

// Decode turns an answer's message into protobuf's JSON, in which fields that were not sent have their defaults.
func (m *Method) Decode(encoded []byte) ([]byte, error) {
	message := dynamicpb.NewMessage(m.of.Output())
	if err := (proto.UnmarshalOptions{Resolver: m.of.types}).Unmarshal(encoded, message); err != nil {
		return nil, fmt.Errorf("the answer is no %s: %s", m.of.Output().FullName(), withoutPrefix(err))
	}
	return protojson.MarshalOptions{Resolver: m.of.types, EmitUnpopulated: true}.Marshal(message)
}
