package ws

import (
	"context"
	"fmt"
	"testing"

	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

var benchMessage = []byte(`{"id": 12345, "op": "increment", "by": 1, "who": "somebody"}`)

func benchConfig(b *testing.B, match Match) Config {
	c := Config{URL: "ws://" + wiretest.Listen(b, upgraded(serveEcho)), Match: match, Message: benchMessage}
	if match == ByID {
		c.IDPath = "$.id"
	}
	return c
}

// One virtual user; the time holds the server's part, which is in this process.
func BenchmarkDo(b *testing.B) {
	for _, match := range []Match{ByOrder, ByID} {
		b.Run(string(match), func(b *testing.B) {
			v := newTestVU(b, newTarget(b, benchConfig(b, match)))
			v.SetTimeout(1e10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Do(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Many virtual users over one connection write together.
func BenchmarkShared(b *testing.B) {
	for _, vus := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(vus), func(b *testing.B) {
			c := benchConfig(b, ByID)
			c.Connections = wire.Connections{Sharing: wire.Shared}
			target := newTarget(b, c)
			b.ReportAllocs()
			r := wiretest.Run(b, target, load.Plan{VUs: vus, Iterations: int64(b.N), Timeout: 1e10})
			if r.Completed != int64(b.N) {
				b.Fatal(r.Errored)
			}
		})
	}
}
