package count

import (
	"context"
	"io"
	"math"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"contend/internal/testenv"
	"contend/load"
	"contend/stat"
	"contend/subject"
	"contend/trial"
)

// program builds the server of testdata: this test binary has no symbols.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spinning")
	if out, err := exec.CommandContext(t.Context(), testenv.Program(t, "go"), "build", "-o", path, "./testdata/spinning").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// spinning is an arm of a real server, started by package subject.
func spinning(name, program string, turns int) trial.Arm {
	return trial.Arm{Name: name, Start: func(ctx context.Context, setup trial.Setup) (*trial.Live, error) {
		s, err := subject.Start(ctx, subject.Config{Command: []string{program, "{{addr}}", strconv.Itoa(turns)}, Under: setup.Under,
			StartTimeout: testenv.Patience, StopTimeout: testenv.Patience})
		if err != nil {
			return nil, err
		}
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: Callers}}
		get := func(ctx context.Context) (load.Outcome, error) {
			answer, err := client.Get("http://" + s.Addr(""))
			if err != nil {
				return load.Outcome{}, err
			}
			defer answer.Body.Close()
			_, err = io.Copy(io.Discard, answer.Body)
			return load.Outcome{}, err
		}
		stop := func(ctx context.Context) error {
			client.CloseIdleConnections()
			return s.Stop(ctx)
		}
		return &trial.Live{Address: s.Addr(""), Subject: s, Target: load.Func(get), Stop: stop}, nil
	}}
}

// Fifty turns more of a loop are counted to the last instruction, in a server of Go that does much else. How many requests
// that takes is given, as if they were kept: other tests find a pace.
func TestCountsARealServer(t *testing.T) {
	if testing.Short() {
		t.Skip("servers under a simulator take half a minute")
	}
	testenv.Program(t, "valgrind")
	tool, err := Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := program(t)
	plan := load.Plan{VUs: 8, Timeout: testenv.Patience / slower}
	counts, err := Compare(t.Context(), []trial.Arm{spinning("A", server, 1000), spinning("B", server, 1050)}, plan, Options{Tool: tool, Repetitions: LeastRepetitions, Kept: &Kept{measured: 400}})
	if err != nil {
		t.Fatal(err)
	}
	c := counts.Comparisons[0]
	if c.Verdict != stat.More || len(c.Rows) == 0 || c.Rows[0].Name != "main.spin" {
		t.Fatalf("%s, %v\n%+v\n%+v", c.Verdict, c.Reason, c.Work, c.Rows)
	}
	// A turn is a few instructions, the same number each time.
	spin := c.Rows[0]
	if each := spin.Value / 50; math.Abs(each-math.Round(each)) > 0.001 || each < 2 || !spin.Agrees {
		t.Errorf("50 turns more are %+v", spin)
	}
}
