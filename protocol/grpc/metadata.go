package grpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"
)

// checkMetadata holds metadata to the gRPC over HTTP/2 specification, section
// Custom-Metadata, https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
func checkMetadata(values map[string][]string) error {
	var mistakes []error
	for key, list := range values {
		if err := checkKey(key); err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		if strings.HasSuffix(key, "-bin") {
			continue
		}
		for i, value := range list {
			if at := strings.IndexFunc(value, notPrintable); at >= 0 {
				mistakes = append(mistakes, fmt.Errorf("metadata %s: value %d has %q at byte %d; allowed: printable ASCII (or a key that ends in -bin)",
					key, i+1, []rune(value[at:])[0], at))
			}
		}
	}
	return errors.Join(mistakes...)
}

func checkKey(key string) error {
	switch {
	case key == "" || strings.ContainsFunc(key, notInKey):
		return fmt.Errorf("metadata key is %q; allowed: lower-case letters, digits, '-', '_' and '.'", key)
	case strings.HasPrefix(key, "grpc-"):
		return fmt.Errorf("metadata key %q: the prefix grpc- is reserved", key)
	case slices.Contains([]string{"content-type", "te", "user-agent"}, key):
		return fmt.Errorf("metadata key %q: set by gRPC itself", key)
	}
	return nil
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
