package roundtrip

import (
	"testing"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire/wiretest"
)

// A server that answers one request on each connection and ends the connection when another
// request comes, or refuses that: of 12 requests of one caller every second one finds such a
// connection.
func TestSendsAgainWhatAConnectionLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method  string
		refuses bool
		want    [3]int64 // completed, sent again, stale
	}{
		{"GET", false, [3]int64{12, 11, 0}},
		{"POST", false, [3]int64{6, 0, 6}},
		{"GET", true, [3]int64{12, 11, 0}},
		{"POST", true, [3]int64{12, 11, 0}},
	} {
		url := "http://" + wiretest.Listen(t, wiretest.OnceOverHTTP2(tt.refuses))
		r := run(t, Config{URL: url, Version: "2", Method: tt.method}, load.Plan{VUs: 1, Iterations: 12, Timeout: testenv.Patience})
		if got := [3]int64{r.Completed, r.Resent, r.Errored[errkind.Stale]}; got != tt.want {
			t.Errorf("%s, refuses %t: %v, want %v: %v %v", tt.method, tt.refuses, got, tt.want, r.Errored, r.Examples)
		}
	}
}
