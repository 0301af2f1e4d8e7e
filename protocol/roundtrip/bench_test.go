package roundtrip

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"contend/load"
)

// The time holds the server's part, which is in this process.
func BenchmarkRun(b *testing.B) {
	for _, w := range ways {
		for _, connections := range everyConnections[:3] {
			b.Run(fmt.Sprintf("%s/%v", w.name, connections), func(b *testing.B) {
				c := w.config(b, func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "hello") })
				c.Sharing = connections
				b.ReportAllocs()
				r := run(b, c, load.Plan{VUs: 10, Iterations: int64(b.N), Timeout: 1e10})
				if r.Completed != int64(b.N) {
					b.Fatal(r.Errored)
				}
			})
		}
	}
}
