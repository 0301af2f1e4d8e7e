package grpc

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"contend/errkind"
)

// The two versions of the reflection service have the same messages, so one
// set of generated types serves both.
const (
	reflectionV1      = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	reflectionV1alpha = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
)

// reflectionTimeout bounds the look-up of a method, connecting included: a server that has just begun, or whose machine is
// busy, needs seconds for its first answer.
const reflectionTimeout = 5 * time.Second

// serviceFromServer asks the server over a connection of its own, for so long at most.
func serviceFromServer(ctx context.Context, d dialer, name protoreflect.FullName, timeout time.Duration) (service protoreflect.ServiceDescriptor, types typeResolver, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	l, err := d.open(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("look up %s by reflection (with a .proto file no server is needed for it): %w", name, err)
	}
	defer l.close()
	err = l.reflect(ctx, func(r *reflector) error {
		service, types, err = r.askService(name)
		return err
	})
	if status.Code(err) == codes.Unimplemented {
		return nil, nil, protoFiles.Wrong("is missing, and the server has no reflection service to ask")
	}
	return service, types, err
}

// reflect has ask ask the server in the newest version of reflection that it has; the error's code is
// Unimplemented if it has none.
func (l *channel) reflect(ctx context.Context, ask func(*reflector) error) (err error) {
	for _, version := range []string{reflectionV1, reflectionV1alpha} {
		if err = l.reflectBy(ctx, version, ask); status.Code(err) != codes.Unimplemented {
			break
		}
	}
	return err
}

func (l *channel) reflectBy(ctx context.Context, version string, ask func(*reflector) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := l.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, version)
	if err != nil {
		return reflectionError(ctx, l, err)
	}
	return ask(&reflector{ctx: ctx, link: l, stream: stream, files: map[string]*descriptorpb.FileDescriptorProto{}})
}

// A reflector asks one server over one stream.
type reflector struct {
	ctx    context.Context
	link   *channel
	stream grpc.ClientStream
	// files are the descriptors received, by file name.
	files map[string]*descriptorpb.FileDescriptorProto
}

func (r *reflector) askService(name protoreflect.FullName) (protoreflect.ServiceDescriptor, typeResolver, error) {
	if found, err := r.fetchSymbol(name); err != nil {
		return nil, nil, err
	} else if !found {
		return nil, nil, r.unknown(name)
	}
	registry, err := protodesc.NewFiles(r.fileSet())
	if err != nil {
		return nil, nil, fmt.Errorf("reflection: %w", err)
	}
	found, err := registry.FindDescriptorByName(name)
	if err != nil {
		return nil, nil, fmt.Errorf("reflection: %w", err)
	}
	service, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, nil, fmt.Errorf("%s is not a service", name)
	}
	return service, dynamicpb.NewTypes(registry), nil
}

// askAll asks for all services that the server describes.
func (r *reflector) askAll() (*Schema, error) {
	names, err := r.listed()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, err := r.fetchSymbol(protoreflect.FullName(name)); err != nil {
			return nil, err
		}
	}
	registry, err := protodesc.NewFiles(r.fileSet())
	if err != nil {
		return nil, fmt.Errorf("reflection: %w", err)
	}
	return newSchema(registry, "the server has"), nil
}

// fetchSymbol fetches the file of a service with all that it imports, if the server knows it.
func (r *reflector) fetchSymbol(name protoreflect.FullName) (found bool, err error) {
	answer, err := r.ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: string(name)},
	})
	if err != nil || answer.GetErrorResponse() != nil {
		return false, err
	}
	if err := r.add(answer); err != nil {
		return false, err
	}
	for {
		missing, found := r.missing()
		if !found {
			return true, nil
		}
		if err := r.fetchFile(missing); err != nil {
			return false, err
		}
	}
}

func (r *reflector) add(answer *reflection.ServerReflectionResponse) error {
	for _, encoded := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(encoded, file); err != nil {
			return fmt.Errorf("reflection: %w", err)
		}
		r.files[file.GetName()] = file
	}
	return nil
}

// missing returns the name of a file that is imported and not there.
func (r *reflector) missing() (string, bool) {
	for _, file := range r.files {
		for _, name := range file.GetDependency() {
			if r.files[name] == nil {
				return name, true
			}
		}
	}
	return "", false
}

// fetchFile prefers the server's file; servers may leave out the well-known
// ones.
func (r *reflector) fetchFile(name string) error {
	answer, err := r.ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: name},
	})
	if err != nil {
		return err
	}
	if err := r.add(answer); err != nil || r.files[name] != nil {
		return err
	}
	known, err := protoregistry.GlobalFiles.FindFileByPath(name)
	if err != nil {
		return fmt.Errorf("reflection: the server does not have %s, which its files import", name)
	}
	r.files[name] = protodesc.ToFileDescriptorProto(known)
	return nil
}

func (r *reflector) unknown(name protoreflect.FullName) error {
	services, err := r.listed()
	if err != nil {
		return err
	}
	return unknownService(name, "the server has", services)
}

// listed are the names of the server's services.
func (r *reflector) listed() ([]string, error) {
	answer, err := r.ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{},
	})
	if err != nil {
		return nil, err
	}
	var services []string
	for _, service := range answer.GetListServicesResponse().GetService() {
		services = append(services, service.GetName())
	}
	return services, nil
}

func (r *reflector) ask(question *reflection.ServerReflectionRequest) (*reflection.ServerReflectionResponse, error) {
	// An error of SendMsg is io.EOF; RecvMsg has its reason.
	_ = r.stream.SendMsg(question)
	answer := &reflection.ServerReflectionResponse{}
	if err := r.stream.RecvMsg(answer); err != nil {
		return nil, reflectionError(r.ctx, r.link, err)
	}
	return answer, nil
}

func (r *reflector) fileSet() *descriptorpb.FileDescriptorSet {
	set := &descriptorpb.FileDescriptorSet{}
	for _, file := range r.files {
		set.File = append(set.File, file)
	}
	return set
}

// reflectionError keeps Unimplemented recognisable and gives the others a kind.
func reflectionError(ctx context.Context, l *channel, err error) error {
	if ctx.Err() != nil {
		return ended(ctx, fmt.Errorf("reflection: %w", err))
	}
	if kind, local := madeUp(status.Convert(err), l); local {
		return &errkind.Error{Kind: kind, Err: fmt.Errorf("reflection: %w", err)}
	}
	return fmt.Errorf("reflection: %w", err)
}
