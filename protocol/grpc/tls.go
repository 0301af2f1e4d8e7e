package grpc

import (
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"contend/protocol/wire"
)

// secured returns the credentials for an address.
func secured(a address, t wire.TLS) (credentials.TransportCredentials, error) {
	switch {
	case !a.secure:
		return insecure.NewCredentials(), t.Refuse("requires a grpcs URL")
	case t.NoSNI:
		return nil, t.CheckSNI()
	}
	config, err := t.Config("") // the library fills in the host
	return credentials.NewTLS(config), err
}
