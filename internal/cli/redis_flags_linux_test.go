package cli

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
)

// The flags lead to Redis through its access lists and TLS, replicas inherit them,
// and no password is in the log or on a child's command line.
func TestRedisFlags(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	dir := t.TempDir()
	cert, key := testenv.NewCertificate("127.0.0.1").Write(t)
	ca := cert
	tlsPort := testenv.HeldPort(t)
	server := redistest.Start(t, "--requirepass", "secret", "--user", "alice", "on", ">won:der", "~*", "&*", "+@all",
		"--tls-port", tlsPort, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "yes")
	file := filepath.Join(dir, "password")
	testenv.Write(t, file, "alice:won:der\n")
	overTLS := []string{"--redis", "rediss://127.0.0.1:" + tlsPort, "--redis-ca-file", ca, "--redis-cert-file", cert, "--redis-key-file", key}
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		code int
	}{
		{"the password of the URL", nil, []string{"--redis", "redis://:secret@" + server.Addr()}, 200},
		{"the URL of the environment", []string{"CONTEND_REDIS=redis://alice:won%3Ader@" + server.Addr()}, nil, 200},
		{"a password of the environment", []string{"PASSWORD=secret"}, []string{"--redis", server.TCP(), "--redis-auth", "env:PASSWORD"}, 200},
		{"a user of a file, two replicas", nil, []string{"--redis", server.TCP(), "--redis-auth", "file:" + file, "--replicas", "2"}, 200},
		{"TLS, two replicas", []string{"PASSWORD=secret"}, append(overTLS, "--redis-auth", "env:PASSWORD", "--replicas", "2"), 200},
		{"no password", nil, []string{"--redis", server.TCP()}, 503},
		{"no certificate of ours", []string{"PASSWORD=secret"}, append(overTLS[:4:4], "--redis-auth", "env:PASSWORD"), 503},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serveShared(t, tt.env, tt.args...)
			testenv.Eventually(t, "it answers as it should", func() bool {
				resp, err := http.Get("http://" + s.addr + "/status")
				return err == nil && resp.Body.Close() == nil && resp.StatusCode == tt.code
			})
			for _, secret := range []string{"secret", "won:der", "won%3Ader"} {
				if strings.Contains(s.log(), secret) {
					t.Errorf("a password in the log:\n%s", s.log())
				}
				for _, pid := range pids(s.log()) {
					if line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); strings.Contains(string(line), secret) {
						t.Errorf("a password on a command line: %q", line)
					}
				}
			}
		})
	}
}

// The router and the generator of its uplinks take the same flags.
func TestRedisFlagsOfTheRouter(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	dir := t.TempDir()
	server := redistest.Start(t, "--requirepass", "secret")
	file := filepath.Join(dir, "password")
	testenv.Write(t, file, "secret\n")
	redis := []string{"--redis", server.TCP(), "--redis-auth", "file:" + file}
	contend := func(args ...string) *exec.Cmd { return exec.Command("contend", append(args, redis...)...) }
	address := testenv.HeldAddress(t)
	var log bytes.Buffer
	router := contend("serve", "router", "--http", address, "--db", "sqlite::memory:", "--demo-devices", "1")
	router.Stderr = &log
	if err := router.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		_ = router.Process.Signal(syscall.SIGTERM)
		_ = router.Wait()
	})
	defer stop()
	testenv.Eventually(t, "it is ready", func() bool {
		resp, err := http.Get("http://" + address + "/ready")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
	if out, err := contend("uplink", "gen", "flat", "-n", "3").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	out, err := exec.Command("contend", "uplink", "sink", "--url", "ws://"+address+"/api/v1/stream/upstream/", "--devices", "1", "--expect", "3").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	stop()
	if strings.Contains(log.String(), "secret") {
		t.Errorf("a password in the log:\n%s", &log)
	}
}
