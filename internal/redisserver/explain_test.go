package redisserver

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"contend/protocol/wire/wiretest"
)

// The errors of rueidis for a server that is not a Redis, and for a cluster without slots, are recognised.
func TestExplainTextsOfTheClient(t *testing.T) {
	address := wiretest.Listen(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
	})
	s, err := Open(t.Context(), Config{URL: "redis://" + address})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	options := s.Options()
	options.ForceSingleClient = true
	client, err := rueidis.NewClient(options)
	if err == nil {
		err = client.Do(t.Context(), client.B().Ping().Build()).Error()
		client.Close()
	}
	if got := s.Explain(err); got == nil || !strings.Contains(got.Error(), "what answers there is no Redis") {
		t.Errorf("not recognised: %v", got)
	}
	if got := s.Explain(fmt.Errorf("a key: %w", rueidis.ErrNoSlot)); !strings.Contains(got.Error(), "some slots of the cluster have no node") {
		t.Errorf("not recognised: %v", got)
	}
}
