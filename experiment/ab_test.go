package experiment

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
)

func TestReadAB(t *testing.T) {
	const text = `
Complete requests:      1000
Failed requests:        3
   (Connect: 0, Receive: 0, Length: 3, Exceptions: 0)
Non-2xx responses:      2
Requests per second:    7242.52 [#/sec] (mean)
Time per request:       2.762 [ms] (mean)
Time per request:       0.138 [ms] (mean, across all concurrent requests)
`
	csv := testenv.Write(t, filepath.Join(t.TempDir(), "e.csv"), "Percentage served,Time in ms\n0,0.1\n9,0.2\n98,3.1\n99,4.25\n")
	got, err := readAB(text, csv)
	want := clientRun{perSec: 7242.52, mean: 2.762, p99: 4.25, completed: 1000, failed: 5}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := readAB("apr_socket_recv: Connection refused (111)", csv); err == nil {
		t.Error("no report: no error")
	}
}

// Throughputs 2 and 1 per second in six rounds: the ratio is 2 in all of them.
func TestClientsRow(t *testing.T) {
	c := clients{vus: 20}
	for range 6 {
		c.ours = append(c.ours, clientRun{perSec: 2, mean: 1, p99: 3, generatorCPU: time.Millisecond, serverCPU: 4 * time.Millisecond, completed: 2})
		c.abs = append(c.abs, clientRun{perSec: 1, mean: 2, p99: 4, generatorCPU: 3 * time.Millisecond, serverCPU: 6 * time.Millisecond, completed: 2, failed: 1})
	}
	want := "nginx|20|2|1|2.00 [2.00 … 2.00]|1.00 ms|2.00 ms|3.00 ms|4.00 ms|500 µs|1.50 ms|2.00 ms|3.00 ms|0|6"
	if got := strings.Join(c.row("nginx"), "|"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestGeneratedFiles(t *testing.T) {
	s := Subject{Files: map[string]string{"page": "<h1>a</h1>{{text 2kB}}", "conf": "root {{dir}};"}}
	files := s.files()
	if len(files["page"]) != 2010 || files["conf"] != "root {{dir}};" {
		t.Errorf("page of %d bytes, conf %q; want 2010 and no change", len(files["page"]), files["conf"])
	}
	if _, err := textSize("{{text 65MB}}"); err == nil {
		t.Error("65 MB: no error")
	}
}
