package deploy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"

	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
	"contend/systems/uplink/api"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/table/tabletest"
)

// startComposedNode starts a node of the Redis Cluster with the command of the Compose file, and returns its port.
func startComposedNode(t *testing.T, service types.ServiceConfig, conf, path string) string {
	t.Helper()
	dir, port := t.TempDir(), testenv.HeldPort(t)
	script := strings.ReplaceAll(service.Command[2], "/etc/redis/redis.conf", conf) +
		fmt.Sprintf(" --bind 127.0.0.1 --port %s --cluster-port %s --dir %s --logfile %s", port, testenv.HeldPort(t), dir, filepath.Join(dir, "log"))
	cmd := exec.Command(service.Command[0], service.Command[1], script)
	cmd.Env = []string{"PATH=" + path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return port
}

// startComposedCluster starts the nodes and the keeper of the Compose file, and returns the ports of the nodes by name
// when the keeper is healthy.
func startComposedCluster(t *testing.T, project *types.Project) map[string]string {
	t.Helper()
	redistest.Need(t)
	dir := t.TempDir()
	conf := filepath.Join(dir, "redis.conf")
	text := strings.ReplaceAll(readFile(t, project.Configs["redis-cluster"].File), "dir /data", "dir "+dir)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	// The name of a container leads nowhere here.
	if err := os.WriteFile(filepath.Join(dir, "hostname"), []byte("#!/bin/sh\n[ \"$1\" = -i ] && echo 127.0.0.1 || echo localhost\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ports := map[string]string{}
	for _, name := range redisNodes(project) {
		ports[name] = startComposedNode(t, project.Services[name], conf, dir+":"+os.Getenv("PATH"))
	}
	keeper := project.Services["keeper"]
	command := []string{project.Configs["redis-cluster-keeper"].File}
	for _, node := range keeper.Command[2:] {
		command = append(command, "127.0.0.1:"+ports[strings.TrimSuffix(node, ":6379")])
	}
	cmd := exec.Command(keeper.Command[0], command...)
	round := filepath.Join(dir, "round")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PAUSE=0.5", "ROUND=" + round}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	launch(t, cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	(&node{t: t}).until("the keeper is healthy", func() bool {
		test := slices.Clone([]string(keeper.HealthCheck.Test[1:]))
		test[len(test)-1] = strings.Replace(test[len(test)-1], *keeper.Environment["ROUND"], round, 1)
		return exec.CommandContext(t.Context(), test[0], test[1:]...).Run() == nil
	})
	return ports
}

// Three routers of the Compose files, on the Redis Cluster that these make, pass uplinks on through the proxy.
func TestComposeCluster(t *testing.T) {
	t.Parallel()
	project, err := loadCompose(filepath.Join(composeDir, "compose.yaml"), filepath.Join(composeDir, "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	program := contend(t)
	testenv.Program(t, "nginx")
	database := tabletest.Start(t).Fresh(t)
	ports := startComposedCluster(t, project)
	tokens := filepath.Join(t.TempDir(), "tokens")
	const token = "0123456789abcdef"
	if err := os.WriteFile(tokens, []byte(api.DemoCustomer+" "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	service := project.Services["router"]
	url, _ := flagValue(service.Command, "redis")
	there := regexp.MustCompile(`redis-\d:6379`).ReplaceAllStringFunc(url, func(node string) string {
		return "127.0.0.1:" + ports[strings.TrimSuffix(node, ":6379")]
	})
	var routers []string
	for range *service.Deploy.Replicas {
		routers = append(routers, startComposed(t, service, map[string]string{url: there, "/run/secrets/router-tokens": tokens,
			"postgres://ran@postgres:5432/ran": database})["http"])
	}
	p := startProxy(t, routers, routers, routers)
	d := lorawan.DemoDevice(1, 0)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.router+"/api/v1/devices/insert",
		strings.NewReader(fmt.Sprintf(`{"DevEUI": %q, "JoinEUI": %q, "DevAddr": %q}`, d.DevEUI, d.JoinEUI, d.DevAddr)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("%v, %v", answer, err)
	}
	_ = answer.Body.Close()
	const uplinks = "300"
	sink := exec.CommandContext(t.Context(), program, "uplink", "sink", "--url", "ws://"+p.router+"/api/v1/stream/upstream/", "--token", token, "--expect", uplinks)
	received := launch(t, sink)
	if out, err := exec.CommandContext(t.Context(), program, "uplink", "gen", "flat", "-n", uplinks, "--redis", there).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := sink.Wait(); err != nil {
		t.Errorf("%v: %s", err, received)
	}
}

// The proxy sends all that bears one token, wherever it is, to one router, and other tokens to others.
func TestProxyKeepsCustomersTogether(t *testing.T) {
	t.Parallel()
	var routers []string
	for i := range 3 {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, i) }))
		t.Cleanup(server.Close)
		routers = append(routers, server.Listener.Addr().String())
	}
	p := startProxy(t, routers, routers, routers)
	ask := func(header, query string) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.router+"/api/v1/devices", nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			request.Header.Set("Authorization", header)
		}
		if query != "" {
			request.URL.RawQuery = "access_token=" + query
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return string(text)
	}
	const customers = 60
	seen := map[string]bool{}
	for i := range customers {
		token := fmt.Sprint("token-", i)
		first := ask("Bearer "+token, "")
		for _, way := range [][2]string{{"Bearer " + token, ""}, {"bearer " + token, ""}, {"", token}, {"Bearer " + token, "another"}} {
			if again := ask(way[0], way[1]); again != first {
				t.Errorf("%s is sent to router %s, and as %q to %s", token, first, way, again)
			}
		}
		seen[first] = true
	}
	if len(seen) != len(routers) {
		t.Errorf("%d customers share the routers %v", customers, seen)
	}
}
