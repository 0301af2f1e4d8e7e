package grpc

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"contend/h2"
)

// fields are the header of a call, by the gRPC over HTTP/2 specification,
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md. A timeout of 0 means no
// timeout.
func fields(path, authority string, timeout time.Duration, metadata map[string][]string) []h2.Field {
	all := append(make([]h2.Field, 0, 8+len(metadata)),
		h2.Field{Name: ":method", Value: "POST"},
		h2.Field{Name: ":scheme", Value: "http"},
		h2.Field{Name: ":path", Value: path},
		h2.Field{Name: ":authority", Value: authority},
		h2.Field{Name: "te", Value: "trailers"},
		h2.Field{Name: "content-type", Value: "application/grpc"},
		h2.Field{Name: "user-agent", Value: "contend"},
	)
	if timeout > 0 {
		all = append(all, h2.Field{Name: "grpc-timeout", Value: encodeTimeout(timeout)})
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		for _, value := range metadata[key] {
			if isBinary(key) {
				value = base64.RawStdEncoding.EncodeToString([]byte(value))
			}
			all = append(all, h2.Field{Name: key, Value: value})
		}
	}
	return all
}

// body is a message with its prefix, not compressed.
func body(message []byte) []byte {
	prefix := binary.BigEndian.AppendUint32(append(make([]byte, 0, prefixBytes+len(message)), 0), uint32(len(message)))
	return append(prefix, message...)
}

func isBinary(key string) bool { return strings.HasSuffix(key, "-bin") }

// decodeValue is a value of metadata as it was meant.
func decodeValue(key, value string) (string, error) {
	if !isBinary(key) {
		return value, nil
	}
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	return string(decoded), err
}

// encodeTimeout writes a timeout in the smallest unit in which it has at most
// eight digits, rounded up: a server must not give up before the caller.
func encodeTimeout(d time.Duration) string {
	const limit = 100_000_000
	unit := 0
	units := [...]struct {
		name string
		size time.Duration
	}{{"n", 1}, {"u", time.Microsecond}, {"m", time.Millisecond}, {"S", time.Second}, {"M", time.Minute}, {"H", time.Hour}}
	inUnits := func() time.Duration { return (d-1)/units[unit].size + 1 }
	for inUnits() >= limit {
		unit++
	}
	return fmt.Sprintf("%d%s", inUnits(), units[unit].name)
}
