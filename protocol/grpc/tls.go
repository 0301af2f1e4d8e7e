package grpc

import (
	"errors"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"contend/protocol/wire"
)

// secured returns the credentials for an address.
func secured(a address, t wire.TLS) (credentials.TransportCredentials, error) {
	switch {
	case !a.secure && !t.IsZero():
		return nil, errors.New("TLS settings need a grpcs:// URL")
	case !a.secure:
		return insecure.NewCredentials(), nil
	case t.NoSNI:
		return nil, errors.New("TLS.NoSNI is not possible: the library names the host")
	}
	config, err := t.Config("") // the library fills in the host
	return credentials.NewTLS(config), err
}
