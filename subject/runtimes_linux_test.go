package subject

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"contend/internal/testenv"
)

// What a runtime wrote to name its functions is gone when its processes are.
func TestMapsAreRemoved(t *testing.T) {
	t.Parallel()
	const server = `const { fork } = require("child_process"), http = require("http")
if (process.argv[2] === "child") setInterval(() => {}, 1000)
else {
	fork(__filename, ["child"])
	http.createServer((_, res) => res.end("served")).listen(process.env.PORT, "127.0.0.1")
}`
	node, script := testenv.Program(t, "node"), testenv.Write(t, filepath.Join(t.TempDir(), "server.js"), server)
	s := started(t, Config{Command: []string{node, script, "{{port}}"}, Named: true})
	var maps []string
	testenv.Eventually(t, "a map of each of two processes", func() bool {
		_, err := s.Sample()
		testenv.Must(t, err)
		maps = nil
		for _, pid := range s.census.pids {
			if name := fmt.Sprintf("/tmp/perf-%d.map", pid); exists(name) {
				maps = append(maps, name)
			}
		}
		return len(maps) == 2
	})
	testenv.Must(t, s.Stop(t.Context()))
	for _, name := range maps {
		if exists(name) {
			t.Errorf("%s is still there", name)
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
