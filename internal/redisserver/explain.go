package redisserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/rueidis"
)

// Explain says of an error of this Redis where it is, and what is wrong with the URL or with the Redis where the
// error tells. It wraps err.
func (s *Server) Explain(err error) error {
	if err == nil {
		return nil
	}
	advice := s.advice(err)
	if advice != "" {
		advice = ": " + advice
	}
	return fmt.Errorf("no Redis at %s: %w%s", s.Place(), err, advice)
}

// notRESP is in the text of rueidis for what is not a message of RESP. All else that advice looks for in texts
// are replies of Redis.
const notRESP = "unknown message type"

// advice is what to do about an error; "": it says that itself.
func (s *Server) advice(err error) string {
	opt := s.Options()
	sentinels := opt.Sentinel.MasterSet != ""
	cluster := !sentinels && len(opt.InitAddress) > 1
	says := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(err.Error(), part) })
	}
	switch {
	case says("cluster support disabled"):
		return "it is one server and no node of a cluster, so the URL must name it alone, without addr"
	case says("MOVED ", "ASK ", "CLUSTERDOWN ", "CROSSSLOT ") && !cluster:
		return "it is a node of a cluster, so the URL must name another one, too, or this one twice: ?addr=HOST:PORT"
	case says("CLUSTERDOWN "), errors.Is(err, rueidis.ErrNoSlot):
		return "some slots of the cluster have no node: redis-cli --cluster check HOST:PORT says which"
	case says("unknown command 'SENTINEL'"):
		return "it is no sentinel: the URL must name sentinels if it has master_set"
	case says("No such master"):
		return fmt.Sprintf("master_set is %q; expected a name that the sentinels know, by sentinel monitor NAME", opt.Sentinel.MasterSet)
	case says("unknown command 'GET'", "unknown command 'CLUSTER'"):
		return "if it is a sentinel, the URL must name its master: ?master_set=NAME"
	case says("NOAUTH ", "WRONGPASS ", "without any password configured") && (cluster || sentinels):
		return "all its nodes must take the same user and password"
	case says("NOAUTH "):
		return "it wants a password"
	case says("READONLY "):
		return "it is a replica: the URL must name its master, or the sentinels of both"
	case says(notRESP):
		return "what answers there is no Redis"
	case opt.TLSConfig == nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return "if it wants TLS, the URL must begin with rediss://"
	case errors.Is(err, context.DeadlineExceeded) && opt.TLSConfig != nil:
		return "it is silent; if it does not speak TLS, the URL must begin with redis://"
	case errors.Is(err, context.DeadlineExceeded):
		return "it is silent"
	}
	return ""
}
