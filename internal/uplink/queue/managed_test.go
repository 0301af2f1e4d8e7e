package queue

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestManagedKeepsItsDataAndEndsWithUs(t *testing.T) {
	newTestServer(t) // skips where there is no Redis
	dir := filepath.Join(t.TempDir(), "data")
	for i := range 2 {
		r, err := Open(t.Context(), Config{URL: Managed, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		other := openURL(t, r.URL())
		value, _ := other.do(t.Context(), "GET", "key").ToString()
		if want := []string{"", "kept"}[i]; value != want {
			t.Errorf("start %d: %q, want %q", i, value, want)
		}
		if err := other.do(t.Context(), "SET", "key", "kept").Error(); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := other.do(t.Context(), "PING").Error(); err == nil {
			t.Error("it answers after Close")
		}
	}
}

// TestOwner is the process that TestManagedDiesWithUs kills.
func TestOwner(t *testing.T) {
	if os.Getenv("QUEUE_TEST_OWNER") == "" {
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
	newTestServer(t)
	child := exec.Command(os.Args[0], "-test.run=^TestOwner$", "-test.timeout=5m")
	child.Env = append(os.Environ(), "QUEUE_TEST_OWNER=yes")
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
	until(t, "it ends", func() bool { return !answers(t.Context(), url) })
	_ = os.RemoveAll(filepath.Dir(strings.TrimPrefix(url, "unix://")))
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	for url, want := range map[string]string{
		"http://localhost":                  "scheme",
		"redis://user:secret@127.0.0.1:1/0": "no Redis at redis://127.0.0.1:1/0",
		"unix:///nowhere/s":                 "no Redis at unix:///nowhere/s",
	} {
		_, err := Open(t.Context(), Config{URL: url})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	newTestServer(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{URL: Managed, Dir: file}); err == nil {
		t.Error("a file is taken for a directory")
	}
}
