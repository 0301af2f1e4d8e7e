package deploy_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
)

// A proxy is nginx with the configuration of the Compose file.
type proxy struct{ http, grpc, router string }

// startProxy starts one, as a user who is not root, in front of replicas and routers on
// this machine.
func startProxy(t *testing.T, http, grpc, routers []string) proxy {
	t.Helper()
	nginx := testenv.Program(t, "nginx")
	dir, err := os.MkdirTemp("", "proxy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	p := proxy{http: testenv.HeldAddress(t), grpc: testenv.HeldAddress(t), router: testenv.HeldAddress(t)}
	text := readFile(t, composeDir, "proxy.conf")
	for _, r := range []struct{ old, new string }{
		{"listen 8080", "listen " + p.http}, {"listen 50055", "listen " + p.grpc}, {"listen 8081", "listen " + p.router}, {"/tmp/", dir + "/"}, {"/dev/stderr", "stderr"},
		{"server counter:8080 max_fails=1 fail_timeout=1s;", servers(http)},
		{"server counter:50055 max_fails=1 fail_timeout=1s;", servers(grpc)},
		{"server router:8080 max_fails=1 fail_timeout=1s;", servers(routers)},
	} {
		if !strings.Contains(text, r.old) {
			t.Fatalf("proxy.conf has no %q", r.old)
		}
		text = strings.ReplaceAll(text, r.old, r.new)
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(nginx, "-e", "stderr", "-p", dir, "-c", file, "-g", "daemon off;")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 101, Gid: 101}
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	await(t, p.http)
	return p
}

func servers(addresses []string) string {
	var text strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&text, "server %s max_fails=1 fail_timeout=1s;\n", a)
	}
	return text.String()
}

// await returns when somebody listens at an address.
func await(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return
		}
	}
	t.Fatalf("nobody listens at %s", address)
}

// Two replicas behind the proxy count as one, over HTTP and gRPC.
func TestProxyInFrontOfReplicas(t *testing.T) {
	project, err := loadCompose(filepath.Join(composeDir, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	redis := redistest.Start(t).TCP()
	var https, grpcs []string
	for range *project.Services["counter"].Deploy.Replicas {
		fields := startComposed(t, project.Services["counter"], map[string]string{"redis://redis:6379": redis})
		https, grpcs = append(https, fields["http"]), append(grpcs, fields["grpc"])
	}
	p := startProxy(t, https, grpcs, https)
	const callers, calls = 8, 25
	var seen sync.Map
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range calls {
				counter, err := increment(p.http)
				if _, again := seen.LoadOrStore(counter, true); err != nil || again || counter < 1 || counter > callers*calls {
					t.Errorf("counter %d, again: %v, %v", counter, again, err)
				}
			}
		})
	}
	all.Wait()
	const more = 30
	run := exec.CommandContext(t.Context(), contend(t), "run", "-n", fmt.Sprint(more), "--data", `{"value": 1}`,
		"grpc://"+p.grpc+"/counter.incrementCounter/increment")
	const invalid = 4 // the figures, on a busy machine
	if out, err := run.CombinedOutput(); err != nil && run.ProcessState.ExitCode() != invalid {
		t.Errorf("%v: %s", err, out)
	}
	if counter, err := increment(p.http); err != nil || counter != callers*calls+more+1 {
		t.Errorf("counter is %d after %d increments over HTTP and %d over gRPC (%v)", counter, callers*calls+1, more, err)
	}
	for _, address := range https {
		if !regexp.MustCompile(`(?m)^contend_counter_redis_increments_total [1-9]`).MatchString(page(t, address, "/metrics")) {
			t.Errorf("the proxy left out the replica %s", address)
		}
	}
}

// increment asks for one and returns the counter.
func increment(address string) (int64, error) {
	answer, err := http.Get("http://" + address + "/status")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var status struct{ Counter int64 }
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %s", answer.Status)
	}
	return status.Counter, json.NewDecoder(answer.Body).Decode(&status)
}

// The proxy never sends an increment again that may have happened, and asks another
// replica where one said that it did not.
func TestProxyRetriesOnlyWhatDidNotHappen(t *testing.T) {
	tests := []struct {
		name    string
		answer  http.HandlerFunc
		code    int
		replies int64
	}{
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, http.StatusBadGateway, 1},
		{"504", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) }, http.StatusGatewayTimeout, 1},
		{"500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, http.StatusInternalServerError, 1},
		{"503", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, http.StatusServiceUnavailable, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int64
			var replicas []string
			for range 2 {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					tt.answer(w, r)
				})}
				go server.Serve(l)
				t.Cleanup(func() { _ = server.Close() })
				replicas = append(replicas, l.Addr().String())
			}
			answer, err := http.Get("http://" + startProxy(t, replicas, replicas, replicas).http + "/status")
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != tt.code || asked.Load() != tt.replies {
				t.Errorf("status %d after %d replicas, want %d after %d", answer.StatusCode, asked.Load(), tt.code, tt.replies)
			}
			if tt.code == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After is %q, want 1", answer.Header.Get("Retry-After"))
			}
		})
	}
}
