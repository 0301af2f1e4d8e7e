//go:build !unix

package tabletest

import "errors"

func programs() (string, error) {
	return "", errors.New("PostgreSQL, which tests start on Unix only")
}

func (*Server) unprivileged() error { return nil }
