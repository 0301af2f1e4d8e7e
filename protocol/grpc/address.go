package grpc

import (
	"net/url"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"contend/protocol/wire"
)

// An address is a parsed Config.URL.
type address struct {
	hostPort string
	secure   bool
	service  protoreflect.FullName
	method   protoreflect.Name
}

func parseAddress(text string) (address, error) {
	shown := wire.HideUser(text)
	refuse := func(why string) (address, error) {
		m := wire.URL.Wrong("is %q: %s", shown, why)
		m.Allowed = "grpc://host:port/package.Service/Method"
		return address{}, m
	}
	u, err := url.Parse(text)
	if err != nil && shown == text {
		return refuse(err.(*url.Error).Err.Error())
	}
	if err != nil {
		return refuse("not a URL")
	}
	switch {
	case u.Scheme != "grpc" && u.Scheme != "grpcs":
		return refuse("the scheme is neither grpc nor grpcs")
	case u.Hostname() == "" || u.Port() == "":
		return refuse("no host and port")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return refuse("only host, port and method are allowed")
	}
	service, method, found := splitMethod(strings.TrimPrefix(u.Path, "/"))
	a := address{
		hostPort: u.Host,
		secure:   u.Scheme == "grpcs",
		service:  protoreflect.FullName(service),
		method:   protoreflect.Name(method),
	}
	if !found || !a.service.IsValid() || !a.method.IsValid() {
		return refuse("no method")
	}
	return a, nil
}

func splitMethod(path string) (service, method string, found bool) {
	if service, method, found = strings.Cut(path, "/"); found {
		return service, method, true
	}
	dot := strings.LastIndexByte(path, '.')
	if dot < 0 {
		return "", "", false
	}
	return path[:dot], path[dot+1:], true
}
