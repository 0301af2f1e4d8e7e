package grpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"

	"contend/protocol/wire"
	"contend/setting"
)

// metadataOf is the header with binary values decoded.
func (c *Config) metadataOf() (map[string][]string, error) {
	metadata := map[string][]string{}
	var errs []error
	for i, f := range c.Header {
		key, value := strings.ToLower(f.Name), f.Value
		problem := ""
		value, err := decodeValue(key, value)
		if err != nil {
			problem = f.Name + " is wrong: the value of a key that ends in -bin is not base64"
		}
		errs = append(errs, c.inHeader(i, problem), c.inHeader(i, wrongMetadata(key, value)))
		metadata[key] = append(metadata[key], value)
	}
	return metadata, errors.Join(errs...)
}

// inHeader is a mistake in a field of the header, -1 for an unknown one; nil without
// a problem.
func (c *Config) inHeader(i int, problem string) error {
	if problem == "" {
		return nil
	}
	m := setting.At(c, &c.Header).Wrong("%s", problem)
	m.Index = i
	return m
}

// checkMetadata returns the mistakes in Metadata, which a program may have set itself.
func (c *Config) checkMetadata() error {
	var errs []error
	for key, values := range c.Metadata {
		for _, value := range values {
			errs = append(errs, c.inHeader(-1, wrongMetadata(key, value)))
		}
	}
	return errors.Join(errs...)
}

// wrongMetadata says why a key or its value cannot be sent, or "", by the gRPC over
// HTTP/2 specification, section Custom-Metadata,
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
func wrongMetadata(key, value string) string {
	switch at := strings.IndexFunc(value, notPrintable); {
	case key == "" || strings.ContainsFunc(key, notInKey):
		return fmt.Sprintf("key is %q; expected lower-case letters, digits, '-', '_' and '.'", key)
	case strings.HasPrefix(key, "grpc-"):
		return fmt.Sprintf("key is %q, whose prefix grpc- is reserved", key)
	case wire.IsOfConnection(key):
		return fmt.Sprintf("key is %q, which HTTP/2 does not allow", key)
	case slices.Contains([]string{"content-length", "content-type", "te", "user-agent"}, key):
		return fmt.Sprintf("key is %q, which is set by gRPC itself", key)
	case at >= 0 && !isBinary(key):
		return fmt.Sprintf("%s has %q at byte %d; expected printable ASCII (or a key that ends in -bin)", key, []rune(value[at:])[0], at)
	}
	return ""
}

func notInKey(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
}

func notPrintable(r rune) bool { return r < 0x20 || r > 0x7e }

func copyMetadata(values map[string][]string) metadata.MD {
	if len(values) == 0 {
		return nil
	}
	return metadata.MD(values).Copy()
}
