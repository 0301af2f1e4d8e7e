package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
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
	text := fmt.Sprintf("*%d\r\n", len(args))
	for _, arg := range args {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return "", err
	}
	return readReply(bufio.NewReader(conn))
}

// readReply reads one of RESP2. Elements of an array are separated by spaces, and what is not there is empty.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, rest := line[0], strings.TrimRight(line[1:], "\r\n")
	switch kind {
	case '+', ':':
		return rest, nil
	case '-':
		return "", errors.New(rest)
	}
	n, err := strconv.Atoi(rest)
	if err != nil || kind != '$' && kind != '*' {
		return "", fmt.Errorf("not a reply: %q", line)
	}
	if kind == '*' {
		var all []string
		for range n {
			one, err := readReply(r)
			if err != nil {
				return "", err
			}
			all = append(all, one)
		}
		return strings.Join(all, " "), nil
	}
	if n < 0 {
		return "", nil
	}
	text := make([]byte, n+len("\r\n"))
	if _, err := io.ReadFull(r, text); err != nil {
		return "", err
	}
	return string(text[:n]), nil
}
