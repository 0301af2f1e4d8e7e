package redistest

import (
	"fmt"
	"net"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

// answerTime is for how long a command waits for its reply: a server may be frozen.
const answerTime = 10 * time.Second

// ask sends a command on a connection of its own, and returns the reply as text. What polls a server does so
// hundreds of times: a client with its buffers, handshake and goroutines would cost more than most tests.
func ask(network, address string, args ...string) (string, error) {
	conn, err := net.DialTimeout(network, address, answerTime)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return "", err
	}
	text, err := proto.NewClient(conn).Do(args...)
	if err != nil {
		return "", err
	}
	reply, err := proto.Parse(text)
	if err != nil {
		return "", err
	}
	if failed, ok := reply.(error); ok {
		return "", failed
	}
	return fmt.Sprint(reply), nil
}
