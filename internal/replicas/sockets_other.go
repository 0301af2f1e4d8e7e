//go:build !linux

package replicas

import "errors"

// Listen fails: the kernel of this system does not spread connections over sockets.
func Listen(string, string, int) (*Sockets, error) {
	return &Sockets{}, errors.New("replicas need Linux")
}
