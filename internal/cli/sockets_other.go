//go:build !linux

package cli

import "errors"

func openSockets(string, string, int) (*sockets, error) {
	return &sockets{}, errors.New("replicas need Linux")
}
