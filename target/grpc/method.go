package grpc

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// A method is a unary method with the types that its messages may mention.
type method struct {
	protoreflect.MethodDescriptor
	types typeResolver
}

// A typeResolver finds the messages inside google.protobuf.Any and the
// extensions that JSON names.
type typeResolver interface {
	protoregistry.MessageTypeResolver
	protoregistry.ExtensionTypeResolver
}

// findMethod resolves the method of a by cfg's .proto files or by reflection
// over l.
func findMethod(ctx context.Context, l *link, a address, cfg Config) (method, error) {
	var (
		service protoreflect.ServiceDescriptor
		types   typeResolver
		err     error
	)
	if len(cfg.ProtoFiles) > 0 {
		service, types, err = serviceFromFiles(ctx, a.service, cfg)
	} else {
		service, types, err = serviceFromServer(ctx, l, a.service)
	}
	if err != nil {
		return method{}, err
	}
	found := service.Methods().ByName(a.method)
	switch {
	case found == nil:
		return method{}, fmt.Errorf("method %q: service %s has %s", a.method, a.service, methodNames(service))
	case found.IsStreamingClient() || found.IsStreamingServer():
		return method{}, fmt.Errorf("method %s is streaming: only unary methods can be called", found.FullName())
	}
	return method{MethodDescriptor: found, types: types}, nil
}

func methodNames(service protoreflect.ServiceDescriptor) string {
	var names []string
	for i := range service.Methods().Len() {
		names = append(names, string(service.Methods().Get(i).Name()))
	}
	return list(names)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func serviceFromFiles(ctx context.Context, name protoreflect.FullName, cfg Config) (protoreflect.ServiceDescriptor, typeResolver, error) {
	paths, names := slices.Clone(cfg.ImportPaths), slices.Clone(cfg.ProtoFiles)
	if len(paths) == 0 {
		for i, file := range names {
			paths, names[i] = append(paths, filepath.Dir(file)), filepath.Base(file)
		}
	}
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: paths}),
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		return nil, nil, fmt.Errorf("proto files: %w", err)
	}
	var services []string
	for _, file := range files {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			if service.FullName() == name {
				return service, files.AsResolver(), nil
			}
			services = append(services, string(service.FullName()))
		}
	}
	return nil, nil, unknownService(name, "the proto files describe", services)
}

func unknownService(name protoreflect.FullName, who string, services []string) error {
	return fmt.Errorf("service %q: %s %s", name, who, list(services))
}

func (m method) path() string { return fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()) }

// encode turns protobuf JSON into the bytes of the request message.
func (m method) encode(data []byte) (*request, error) {
	if len(data) == 0 {
		data = []byte("{}")
	}
	message := dynamicpb.NewMessage(m.Input())
	if err := (protojson.UnmarshalOptions{Resolver: m.types}).Unmarshal(data, message); err != nil {
		return nil, fmt.Errorf("data for %s: %s; its fields: %s", m.Input().FullName(), withoutPrefix(err), fieldNames(m.Input()))
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return nil, errors.New("data: " + withoutPrefix(err))
	}
	return newRequest(encoded), nil
}

// withoutPrefix takes off "proto:" and the space after it, which the protobuf
// module varies on purpose.
func withoutPrefix(err error) string {
	return strings.TrimLeftFunc(strings.TrimPrefix(err.Error(), "proto:"), unicode.IsSpace)
}

func fieldNames(message protoreflect.MessageDescriptor) string {
	var names []string
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		names = append(names, fmt.Sprintf("%s (%s)", field.JSONName(), field.Kind()))
	}
	return list(names)
}
