package script

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/grafana/sobek"

	"contend/protocol/grpc"
)

// grpcConnect is what client.connect gets in addition to the address.
type grpcConnect struct {
	grpc.Options
	plain, reflect  bool
	timeout         time.Duration
	reflectMetadata grpc.Metadata
}

var grpcConnectReaders = map[string]func(v *vu, p *grpcConnect, value sobek.Value) error{
	"plaintext":       func(_ *vu, p *grpcConnect, value sobek.Value) error { p.plain = value.ToBoolean(); return nil },
	"reflect":         func(_ *vu, p *grpcConnect, value sobek.Value) error { p.reflect = value.ToBoolean(); return nil },
	"reflectMetadata": func(v *vu, p *grpcConnect, value sobek.Value) error { return v.readMetadata(p.reflectMetadata, value) },
	"timeout": func(_ *vu, p *grpcConnect, value sobek.Value) (err error) {
		p.timeout, err = timeoutOf(value)
		return err
	},
	"maxReceiveSize": func(_ *vu, p *grpcConnect, value sobek.Value) error { return readSize(&p.MaxReceive, value) },
	"maxSendSize":    func(_ *vu, p *grpcConnect, value sobek.Value) error { return readSize(&p.MaxSend, value) },
	"tls":            func(v *vu, p *grpcConnect, value sobek.Value) error { return v.readTLS(p.TLS, value.ToObject(v.rt)) },
}

// grpcCall is what a call gets in addition to its message.
type grpcCall struct {
	name     string // in results
	metadata grpc.Metadata
	timeout  time.Duration // 0: none
	tags     tagMap
}

var grpcCallReaders = map[string]func(v *vu, p *grpcCall, value sobek.Value) error{
	"metadata": func(v *vu, p *grpcCall, value sobek.Value) error { return v.readMetadata(p.metadata, value) },
	"timeout":  func(_ *vu, p *grpcCall, value sobek.Value) (err error) { p.timeout, err = timeoutOf(value); return err },
	"tags": func(v *vu, p *grpcCall, value sobek.Value) (err error) {
		if p.tags, err = v.readTagMap(value); p.tags["name"] != "" {
			p.name = p.tags["name"]
		}
		return err
	},
}

// readObject reads each name of an object by its reader; one that has none is for unknown. null and undefined are like
// nothing, except for the names whose readers want them.
func readObject[T any](v *vu, into *T, params sobek.Value, readers map[string]func(*vu, *T, sobek.Value) error, unknown func(name, hint string), nullable ...string) {
	if !isObject(params) {
		return
	}
	o := params.ToObject(v.rt)
	for _, name := range o.Keys() {
		read, known := readers[name]
		if !known {
			unknown(name, meant(name, slices.Sorted(maps.Keys(readers))))
			continue
		}
		if value := o.Get(name); isObject(value) || slices.Contains(nullable, name) {
			if err := read(v, into, value); err != nil {
				v.throw("params.%s: %v", name, err)
			}
		}
	}
}

// refuseParam is for parameters of gRPC and of WebSocket, ignoreParam for others, as in k6.
func (v *vu) refuseParam(name, hint string) { v.throw("params.%s is not known%s", name, hint) }

func (v *vu) ignoreParam(name, hint string) {
	v.target.console.once(fmt.Sprintf("%sparams.%s is not known, and ignored%s", place(v.rt.CaptureCallStack(0, nil)), name, hint))
}

func (v *vu) connectParams(host string, params sobek.Value) *grpcConnect {
	p := &grpcConnect{timeout: defaultTimeout, reflectMetadata: grpc.Metadata{}}
	p.Traffic = &v.traffic
	p.TLS = v.target.tlsFor(host).Clone()
	p.TLS.NextProtos = nil // gRPC has its own
	readObject(v, p, params, grpcConnectReaders, v.refuseParam)
	return p
}

func (v *vu) callParams(m *grpc.Method, params sobek.Value) *grpcCall {
	p := &grpcCall{name: m.Path(), metadata: grpc.Metadata{}}
	if !m.ClientStreams() && !m.ServerStreams() {
		p.timeout = defaultTimeout
	}
	readObject(v, p, params, grpcCallReaders, v.refuseParam)
	return p
}

// readMetadata takes text, bytes, or lists of them.
func (v *vu) readMetadata(into grpc.Metadata, value sobek.Value) error {
	o := value.ToObject(v.rt)
	for _, name := range o.Keys() {
		values := []any{o.Get(name).Export()}
		if list, ok := values[0].([]any); ok {
			values = list
		}
		for _, one := range values {
			text := fmt.Sprint(one)
			if b, ok := one.(sobek.ArrayBuffer); ok {
				text = string(b.Bytes())
			}
			v.target.around.Secrets.Field(name, text)
			if err := into.Add(name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func readSize(into *int, value sobek.Value) error {
	n := value.ToInteger()
	if n <= 0 || n > 1<<31-1 {
		return fmt.Errorf("is %v; expected 1 to 2147483647 bytes", value)
	}
	*into = int(n)
	return nil
}

// readTLS takes our certificate with its key, and authorities, as text in PEM form.
func (v *vu) readTLS(c *tls.Config, o *sobek.Object) error {
	text := func(name string) []byte {
		if value := o.Get(name); isObject(value) {
			return []byte(value.String())
		}
		return nil
	}
	for _, name := range o.Keys() {
		switch name {
		case "cert", "key", "cacerts":
		case "password":
			return errors.New("password is not possible: decrypt the key first")
		default:
			return fmt.Errorf("%s is not known; expected cert, key, cacerts", name)
		}
	}
	if cert, key := text("cert"), text("key"); cert != nil || key != nil {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	value := o.Get("cacerts")
	if !isObject(value) {
		return nil
	}
	c.RootCAs = x509.NewCertPool()
	var all []string
	if value.ToObject(v.rt).ClassName() != "Array" {
		all = []string{value.String()}
	} else if err := v.rt.ExportTo(value, &all); err != nil {
		return err
	}
	for _, one := range all {
		if !c.RootCAs.AppendCertsFromPEM([]byte(one)) {
			return errors.New("cacerts has no certificate in PEM form")
		}
	}
	return nil
}
