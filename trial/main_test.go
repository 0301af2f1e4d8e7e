package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"contend/load"
	"contend/protocol"
	"contend/protocol/wire"
	"contend/subject"
)

// The servers and the throttled generator of these tests are this test binary
// with roleKey in its environment.
const (
	roleKey = "TRIAL_TEST_ROLE"
	addrKey = "TRIAL_TEST_ADDR"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleKey) {
	case "server":
		err = serveRole(os.Getenv(addrKey))
	case "generator":
		err = generatorRole()
	case "burner":
		burnFor(5 * time.Second)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveRole answers at once, with /burn after a millisecond of work, with /wrong
// wrongly.
func serveRole(addr string) error {
	http.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/burn", func(http.ResponseWriter, *http.Request) { burnFor(time.Millisecond) })
	http.HandleFunc("/wrong", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	return http.ListenAndServe(addr, nil)
}

func burnFor(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// generatorRole measures a server as an arm of a comparison is measured and
// prints the cell.
func generatorRole() error {
	spec := protocol.Target{}.With("engine", "goroutines")
	c, err := Measure(context.Background(), serverArm(spec, "/"), load.Plan{VUs: 16, Warmup: 200 * time.Millisecond, Duration: time.Second, Grace: load.DefaultGrace})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}

// serverArm is a server of its own process, driven over HTTP.
func serverArm(target protocol.Target, path string) Arm {
	return Arm{Name: "server", Start: func(ctx context.Context, _ Setup) (*Live, error) {
		s, err := subject.Start(ctx, subject.Config{Name: "server", Command: []string{os.Args[0]},
			Env: []string{roleKey + "=server", addrKey + "={{addr}}"}, Ready: subject.Ready{HTTP: "/"}})
		if err != nil {
			return nil, err
		}
		live := &Live{Subject: s, Address: "http://" + s.Addr("") + path, Stop: s.Stop}
		opener := protocol.Opener{Surroundings: wire.Surroundings{VUs: load.MaxVUs}}
		live.Target, err = opener.Open(ctx, target.With("url", live.Address))
		return live, err
	}}
}
