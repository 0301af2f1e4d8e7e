package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"contend/internal/testenv"
)

// The published output of generator and sink, from their command lines on; figures are masked before
// texts are compared.
const (
	publishedFlat = `Generating 100000 sequential uplinks:
Firing test!
Completed: [================================================================================] 100%
Done!
`
	publishedBatch = `Generating 100000 uplinks: 10 batches of 10000 uplinks, 1 s between batches:
Firing test!
Completed: [================================================================================] 100%
Done!
`
	publishedSink = `Using pool size: 10000
Connecting to: 'ws://0.0.0.0:8080/'...
Connected, waiting for load...
Test end marker received. Terminating test!...
Waiting tasks...
Test finished!
Summary:
  RPS (tottime):  8018.38781
  Total req:      100000
  Total time:     12.47133 secs
  Total bytes:    9.2MiB
  Average bytes:  96.26615B
  Throughput:     753.8KiB
  Slowest:        0.19318 secs
  Fastest:        0.00013 secs
  Average:        0.00792 secs

Response time histogram:
  0.00013 [1] |
  0.01944 [92952] |■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■
  0.03874 [752] |
  0.05804 [720] |
  0.07735 [824] |
  0.09666 [740] |
  0.11596 [696] |
  0.13526 [900] |
  0.15457 [785] |
  0.17388 [793] |
  0.19318 [837] |

Latency distribution:
  10% in 0.00014 secs
  25% in 0.00014 secs
  50% in 0.00016 secs
  75% in 0.00022 secs
  90% in 0.00099 secs
  95% in 0.07231 secs
  99% in 0.16873 secs
`
)

// masked returns an output without its figures.
func masked(text string) string {
	for _, m := range []struct{ figure, mask string }{
		{`'ws://[^']*'`, "'URL'"}, {`■`, ""}, {`[0-9]+(\.[0-9]+)?([KMG]?iB)?`, "#"},
	} {
		text = regexp.MustCompile(m.figure).ReplaceAllString(text, m.mask)
	}
	return text
}

// The published commands give the published output, and what is ours after it.
func TestPublishedCommands(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	router := exec.Command("contend", "serve", "router", "--http", "127.0.0.1:0", "--db", "sqlite::memory:", "--demo-devices", "1",
		"--no-trust-reduction", "--trust-start", "2")
	router.Stderr = out
	if err := router.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = router.Process.Signal(syscall.SIGTERM)
		_ = router.Wait()
	})
	ready := regexp.MustCompile(`msg="router is ready" http=(\S+) .*redis=(\S+)`)
	var at []string
	testenv.Eventually(t, "the router is ready", func() bool {
		text, _ := os.ReadFile(log)
		at = ready.FindStringSubmatch(string(text))
		return at != nil
	})
	for _, tt := range []struct {
		name            string
		generator, sink []string
		generated, sunk string
	}{
		{"flat", []string{"flat", "-n", "1000"}, []string{"-p", "10000"}, publishedFlat, publishedSink},
		{"batch", []string{"batch", "-b", "2", "-n", "500", "-d", "0.1"}, []string{"-p", "10000"}, publishedBatch, publishedSink},
		// Last, as what nobody answers stays with the router.
		{"without acks", []string{"flat", "-n", "1000"}, []string{"--no-ack"}, publishedFlat, "[WARN] Ack's will be not sent\n" + publishedSink},
	} {
		sink := exec.Command("contend", append([]string{"uplink", "sink", "--url", "ws://" + at[1] + "/api/v1/stream/upstream/"}, tt.sink...)...)
		var sunk bytes.Buffer
		sink.Stdout, sink.Stderr = &sunk, &sunk
		if err := sink.Start(); err != nil {
			t.Fatal(err)
		}
		generated, err := exec.Command("contend", append([]string{"uplink", "gen", "--redis", at[2]}, tt.generator...)...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", tt.name, err, generated)
		}
		if err := sink.Wait(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for _, both := range []struct{ ours, theirs string }{{string(generated), tt.generated}, {sunk.String(), tt.sunk}} {
			ours, theirs := masked(both.ours), masked(both.theirs)
			if rest, ok := strings.CutPrefix(ours, theirs); !ok || len(rest) < 50 {
				t.Errorf("%s:\n%s\nbegins otherwise than, or adds nothing to,\n%s", tt.name, ours, theirs)
			}
		}
	}
}
