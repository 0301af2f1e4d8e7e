package redisserver

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
)

func connect(t *testing.T, s *Server) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(s.Options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestManagedKeepsItsDataAndEndsWithUs(t *testing.T) {
	redistest.Need(t)
	dir := filepath.Join(t.TempDir(), "data")
	for i := range 2 {
		r, err := Open(t.Context(), Config{URL: Managed, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		client := connect(t, r)
		value, _ := client.Do(t.Context(), client.B().Get().Key("key").Build()).ToString()
		if want := []string{"", "kept"}[i]; value != want {
			t.Errorf("start %d: %q, want %q", i, value, want)
		}
		if err := client.Do(t.Context(), client.B().Set().Key("key").Value("kept").Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if answers(t.Context(), r.URL()) {
			t.Error("it answers after Close")
		}
	}
}

// TestOwner is the process that TestManagedDiesWithUs kills.
func TestOwner(t *testing.T) {
	if os.Getenv("REDISSERVER_TEST_OWNER") == "" {
		t.Skip("only as a child")
	}
	r, err := Open(t.Context(), Config{URL: Managed})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("url", r.URL())
	select {}
}

func TestManagedDiesWithUs(t *testing.T) {
	redistest.Need(t)
	child := exec.Command(os.Args[0], "-test.run=^TestOwner$", "-test.timeout=5m")
	child.Env = append(os.Environ(), "REDISSERVER_TEST_OWNER=yes")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines, url := bufio.NewScanner(out), ""
	for url == "" && lines.Scan() {
		url, _ = strings.CutPrefix(lines.Text(), "url ")
		if !strings.HasPrefix(url, "unix:") {
			url = ""
		}
	}
	if !answers(t.Context(), url) {
		t.Errorf("%q does not answer", url)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	testenv.Eventually(t, "it ends", func() bool { return !answers(t.Context(), url) })
	_ = os.RemoveAll(filepath.Dir(strings.TrimPrefix(url, "unix://")))
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	redistest.Need(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{URL: Managed, Dir: file}); err == nil {
		t.Error("a file is taken for a directory")
	}
}
