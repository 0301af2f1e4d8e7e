package script

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"

	"github.com/grafana/sobek"

	"contend/errkind"
	"contend/protocol/grpc"
)

// grpcModule is "k6/net/grpc".
func (v *vu) grpcModule() exports {
	all := exports{"Client": v.newGRPC, "Stream": v.newStream}
	for code, name := range grpc.Codes() {
		all["Status"+name] = code
	}
	for state, name := range []string{"Unknown", "Serving", "NotServing", "ServiceUnkown"} { // as the form of these scripts spells it
		all["HealthCheck"+name] = state
	}
	return all
}

// schemas are what .proto files describe, by their names: compiled once for all virtual users.
type schemas struct {
	mu  sync.Mutex
	all map[string]*grpc.Schema
}

// get returns a known schema, or makes it.
func (s *schemas) get(name string, make func() (*grpc.Schema, error)) (*grpc.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.all[name]; known != nil {
		return known, nil
	}
	made, err := make()
	if err != nil {
		return nil, err
	}
	if s.all == nil {
		s.all = map[string]*grpc.Schema{}
	}
	s.all[name] = made
	return made, nil
}

// A grpcClient is what new grpc.Client() makes: methods that are known, and a connection.
type grpcClient struct {
	v       *vu
	loaded  []*grpc.Schema // of .proto files
	asked   *grpc.Schema   // of the server, by reflection
	methods map[string]*grpc.Method
	conn    *grpc.Client // nil: not connected
}

func (v *vu) newGRPC(call sobek.ConstructorCall) *sobek.Object {
	c := &grpcClient{v: v, methods: map[string]*grpc.Method{}}
	v.hide(call.This, c)
	for name, method := range map[string]any{
		"load": c.load, "loadProtoset": c.loadProtoset, "connect": c.connect, "close": c.close,
		"invoke": c.invoke, "asyncInvoke": c.asyncInvoke, "healthCheck": c.healthCheck,
	} {
		_ = call.This.Set(name, method)
	}
	return nil
}

// load is client.load(paths, ...files): it compiles .proto files, which are looked up from the script's folder on.
func (c *grpcClient) load(call sobek.FunctionCall) sobek.Value {
	v, b := c.v, c.v.target.bundle
	v.early("load")
	var paths, files []string
	if isObject(call.Argument(0)) {
		if err := v.rt.ExportTo(call.Argument(0), &paths); err != nil {
			v.throw("load takes a list of folders first, or null")
		}
	}
	for i := 1; i < len(call.Arguments); i++ {
		file := filepath.Clean(strings.TrimPrefix(call.Argument(i).String(), "file://"))
		if filepath.IsAbs(file) {
			paths, file = append(paths, filepath.Dir(file)), filepath.Base(file)
		}
		files = append(files, filepath.ToSlash(file))
	}
	if len(files) == 0 {
		v.throw("load needs a .proto file after the list of folders")
	}
	if len(paths) == 0 {
		paths = []string{b.dir}
	}
	for i, path := range paths {
		if !filepath.IsAbs(path) {
			paths[i] = filepath.Join(b.dir, path)
		}
	}
	return c.learn("load", fmt.Sprintf("files %q %q", paths, files), func() (*grpc.Schema, error) {
		return grpc.NewSchema(context.Background(), paths, files, func(path string) (io.ReadCloser, error) {
			content, err := b.read(path, "")
			return io.NopCloser(bytes.NewReader(content)), err
		})
	})
}

// loadProtoset is client.loadProtoset(file): the compiled form of .proto files, with all that they import.
func (c *grpcClient) loadProtoset(path string) sobek.Value {
	v, b := c.v, c.v.target.bundle
	v.early("loadProtoset")
	return c.learn("loadProtoset", "set "+path, func() (*grpc.Schema, error) {
		content, err := b.read(path, "")
		if err != nil {
			return nil, err
		}
		return grpc.ReadSchema(content)
	})
}

// learn adds a schema, which is known by a name, and returns its methods.
func (c *grpcClient) learn(what, name string, make func() (*grpc.Schema, error)) sobek.Value {
	schema, err := c.v.target.schemas.get(name, make)
	if err != nil {
		c.v.throw("%s: %v", what, err)
	}
	c.loaded = append(c.loaded, schema)
	return c.v.methodsOf(schema)
}

// early refuses what belongs into the outermost part of the script.
func (v *vu) early(what string) {
	if v.started {
		v.throw("%s works in the outermost part of the script only", what)
	}
}

// methodsOf lists methods.
func (v *vu) methodsOf(s *grpc.Schema) sobek.Value {
	var all []any
	for _, m := range s.Methods() {
		all = append(all, v.object(exports{"package": m.Package(), "service": m.Service(), "method": m.Name(),
			"fullMethod": m.Path(), "isClientStream": m.ClientStreams(), "isServerStream": m.ServerStreams()}))
	}
	return v.rt.NewArray(all...)
}

// method finds one by its path.
func (c *grpcClient) method(path string) *grpc.Method {
	if m := c.methods[path]; m != nil {
		return m
	}
	from := c.loaded
	if c.asked != nil {
		from = append(from[:len(from):len(from)], c.asked)
	}
	if len(from) == 0 {
		c.v.throw("no method is known: client.load(null, 'file.proto') in the outermost part of the script, or connect with reflect: true")
	}
	var reason error
	for _, schema := range from {
		m, err := schema.Method(path)
		if err == nil {
			c.methods[path] = m
			return m
		}
		reason = err
	}
	c.v.throw("%v", reason)
	return nil
}

// connect is client.connect(address, params). It returns when there is a connection.
func (c *grpcClient) connect(address string, params sobek.Value) bool {
	v := c.v
	v.usable("connect")
	host, _, _ := net.SplitHostPort(address) // without a port it is refused below
	p := v.connectParams(host, params)
	c.close()
	server, plain := v.target.server(address, p.plain)
	if plain {
		p.TLS = nil
	}
	if p.At = v.at(server); p.At == server {
		p.At = ""
	}
	err := errEnded // unless the script is let go on
	v.away(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, p.timeout)
		defer cancel()
		if c.conn, err = grpc.Dial(ctx, server, p.Options); err == nil && p.reflect {
			c.asked, err = v.target.schemas.get("reflection of "+server, func() (*grpc.Schema, error) { return c.conn.Schema(ctx, p.reflectMetadata) })
		}
		if err != nil && c.conn != nil {
			c.conn.Close()
			c.conn = nil
		}
	})
	if err != nil {
		v.disconnected(err)
	}
	if v.connections == nil {
		v.connections = map[io.Closer]bool{}
	}
	v.connections[c.conn] = true
	return true
}

// usable refuses what waits in the outermost part of the script.
func (v *vu) usable(what string) {
	if !v.started {
		v.throw("%s works within an iteration, setup and teardown, not in the outermost part of the script", what)
	}
}

// disconnected ends the call with an exception; without a connection the iteration has no answer.
func (v *vu) disconnected(err error) {
	if v.lost == nil && v.ctx.Err() == nil && errkind.Of(err) != errkind.Other {
		v.lost = err
	}
	v.throw("%v", err)
}

// close is client.close().
func (c *grpcClient) close() {
	if c.conn == nil {
		return
	}
	c.v.away(func(context.Context) { c.conn.Close() })
	delete(c.v.connections, c.conn)
	c.conn = nil
}

// open returns the connection, or refuses to go on.
func (c *grpcClient) open(what string) *grpc.Client {
	c.v.usable(what)
	if c.conn == nil {
		c.v.throw("%s needs a connection: client.connect('host:port', { plaintext: true }) comes first", what)
	}
	return c.conn
}
