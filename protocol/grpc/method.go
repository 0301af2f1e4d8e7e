package grpc

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"contend/protocol/wire"
	"contend/setting"
)

// A method is a method with the types that its messages may mention.
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

// protoFiles is the setting that a method is described with.
var protoFiles = setting.Pick(setting.Of(Config{}), "proto")[0]

// findMethod resolves the method of a by cfg's .proto files or, without any, by
// asking the server that d reaches.
func findMethod(ctx context.Context, d dialer, a address, cfg Config) (method, error) {
	var (
		service protoreflect.ServiceDescriptor
		types   typeResolver
		err     error
	)
	if len(cfg.ProtoFiles) > 0 {
		service, types, err = serviceFromFiles(ctx, a.service, cfg)
	} else {
		service, types, err = serviceFromServer(ctx, d, a.service, reflectionTimeout*time.Duration(max(1, cfg.Slower)))
	}
	if err != nil {
		return method{}, err
	}
	found := service.Methods().ByName(a.method)
	if found == nil {
		return method{}, wire.URL.Wrong("asks for the method %s; %s has %s", a.method, a.service, methodNames(service))
	}
	return method{MethodDescriptor: found, types: types}, nil
}

func (m method) kind() kind {
	switch {
	case m.IsStreamingClient() && m.IsStreamingServer():
		return bidirectional
	case m.IsStreamingClient():
		return clientStream
	case m.IsStreamingServer():
		return serverStream
	}
	return unary
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
	schema, err := NewSchema(ctx, paths, names, nil)
	if err != nil {
		return nil, nil, protoFiles.About(err)
	}
	if service := schema.services[name]; service != nil {
		return service, schema.types, nil
	}
	return nil, nil, unknownService(name, schema.source, schema.names())
}

func unknownService(name protoreflect.FullName, who string, services []string) error {
	return wire.URL.Wrong("asks for the service %s; %s %s", name, who, list(services))
}

func (m method) path() string { return fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()) }

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
