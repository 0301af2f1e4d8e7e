package deploy_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"

	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/table/tabletest"
)

// A redisNode is a pod of the Redis Cluster on this machine. Its address is a port of 127.0.0.1.
type redisNode struct {
	port string
	cmd  *exec.Cmd
}

// A redisCluster is the StatefulSet redis-cluster and the Deployment redis-cluster-keeper on this machine.
type redisCluster struct {
	*node
	nodes  []*redisNode
	keeper *lines
	end    func() // of the keeper
}

// startRedisCluster starts the nodes, and the keeper, and returns when the cluster is whole.
func startRedisCluster(n *node) *redisCluster {
	n.t.Helper()
	redistest.Need(n.t)
	testenv.Program(n.t, "redis-cli")
	c := &redisCluster{node: n}
	for _, name := range []string{"redis-cluster", "redis-cluster-keeper"} {
		w, container := n.workload(name)
		n.mount(w, container, unchanged)
	}
	w, _ := n.workload("redis-cluster")
	for i := range w.replicas {
		c.nodes = append(c.nodes, &redisNode{})
		c.start(int(i))
	}
	n.t.Cleanup(func() {
		for i := range c.nodes {
			c.kill(i)
		}
	})
	c.keep()
	c.whole()
	return c
}

// disk is where a node keeps its data.
func (c *redisCluster) disk(i int) string { return filepath.Join(c.dir, "disk", strconv.Itoa(i)) }

// start starts a node at an address that it has not had before.
func (c *redisCluster) start(i int) {
	c.t.Helper()
	w, container := c.workload("redis-cluster")
	command, place := slices.Clone(container.Command), c.place(w)
	for k, arg := range command {
		command[k] = place.Replace(strings.ReplaceAll(arg, "$(POD_IP)", "127.0.0.1"))
	}
	command[slices.Index(command, "--cluster-announce-hostname")+1] = "localhost" // no name of the cluster leads anywhere here
	if err := os.MkdirAll(c.disk(i), 0o755); err != nil {
		c.t.Fatal(err)
	}
	p := c.nodes[i]
	p.port = testenv.HeldPort(c.t)
	p.cmd = exec.Command(command[0], append(command[1:], "--bind", "127.0.0.1", "--port", p.port, "--cluster-port", testenv.HeldPort(c.t),
		"--dir", c.disk(i), "--logfile", filepath.Join(c.disk(i), "log"))...)
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *redisCluster) kill(i int) {
	_ = c.nodes[i].cmd.Process.Kill()
	_ = c.nodes[i].cmd.Wait()
}

// inside is a command of a container, which finds a node by redis-cli at the port that such a one would have.
func (c *redisCluster) inside(i int, command ...string) *exec.Cmd {
	c.t.Helper()
	bin := filepath.Join(c.disk(i), "bin")
	script := "#!/bin/sh\nexec " + testenv.Program(c.t, "redis-cli") + " -p " + c.nodes[i].port + " \"$@\"\n"
	if err := os.MkdirAll(bin, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "redis-cli"), []byte(script), 0o755); err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), "sh", append([]string{"-c", `exec "$@"`, "sh"}, command...)...)
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "REDISCLI_AUTH=" + readFile(c.t, c.secrets, "node")}
	return cmd
}

// keep starts the keeper, in place of one that runs, with the addresses that the names of the nodes lead to now.
func (c *redisCluster) keep() {
	c.t.Helper()
	if c.end != nil {
		c.end()
	}
	w, container := c.workload("redis-cluster-keeper")
	command := []string{container.Command[0], c.place(w).Replace(container.Command[1])}
	for _, p := range c.nodes {
		command = append(command, "127.0.0.1:"+p.port)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PAUSE=0.5", "REDISCLI_AUTH=" + readFile(c.t, c.secrets, "node"),
		"ROUND=" + c.place(w).Replace(container.Env[slices.IndexFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == "ROUND" })].Value)}
	c.keeper = launch(c.t, cmd)
	c.end = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c.t.Cleanup(c.end)
}

// rounds waits until the keeper has begun a new round and ended it.
func (c *redisCluster) rounds() {
	c.t.Helper()
	w, _ := c.workload("redis-cluster-keeper")
	for range 2 {
		_ = os.Remove(c.path(w, "/tmp/round"))
		c.until("a round of the keeper", func() bool { _, err := os.Stat(c.path(w, "/tmp/round")); return err == nil })
	}
}

// ready reports whether the probe of a node says that it is.
func (c *redisCluster) ready(i int) bool {
	c.t.Helper()
	_, container := c.workload("redis-cluster")
	return c.inside(i, slices.Clone(container.ReadinessProbe.Exec.Command)...).Run() == nil
}

// whole waits until the probes of all nodes, and the keeper's, say that they are ready, half of the nodes are replicas,
// and all have heard so.
func (c *redisCluster) whole() {
	c.t.Helper()
	w, keeper := c.workload("redis-cluster-keeper")
	ready := func() bool {
		for i := range c.nodes {
			if heard := c.roles(i); heard["master"] != len(c.nodes)/2 || heard["slave"] != len(c.nodes)/2 {
				return false
			}
		}
		for i := range c.nodes {
			if !c.ready(i) {
				return false
			}
		}
		probe := slices.Clone(keeper.ReadinessProbe.Exec.Command)
		probe[len(probe)-1] = c.place(w).Replace(probe[len(probe)-1])
		return c.inside(0, probe...).Run() == nil
	}
	for end := time.Now().Add(patience); !ready(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			for i := range c.nodes {
				c.t.Logf("node %d at %s knows\n%s", i, c.nodes[i].port, c.view(i))
			}
			c.t.Fatalf("in %v never whole: %s", patience, c.keeper)
		}
	}
}

// empty waits until a node answers, which has nothing and must not be ready.
func (c *redisCluster) empty(i int) {
	c.t.Helper()
	c.until("the empty node answers", func() bool { return strings.Contains(c.self(i), "master") })
	if c.ready(i) {
		c.t.Errorf("a node without slots is ready: %s", c.self(i))
	}
}

// documented is the command of redis-cli in the keeper's container that docs/deployment.md has for something.
func (c *redisCluster) documented(what string) string {
	c.t.Helper()
	m := regexp.MustCompile(`exec deployment/redis-cluster-keeper -- (redis-cli .*` + what + `.*)`).FindStringSubmatch(documentation(c.t))
	if m == nil {
		c.t.Fatalf("docs/deployment.md has no command for %s", what)
	}
	return m[1]
}

// failover has a replica take over from its master, in order, by the documented command.
func (c *redisCluster) failover() {
	c.t.Helper()
	i := slices.IndexFunc(c.nodes, func(p *redisNode) bool { return strings.Contains(c.self(slices.Index(c.nodes, p)), "slave") })
	command := strings.Replace(c.documented("cluster failover"), "redis-cluster-4.redis-cluster", "127.0.0.1", 1)
	if out, err := c.inside(i, strings.Fields(command)...).CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "OK" {
		c.t.Fatalf("%s: %v, %s", command, err, out)
	}
	c.until("the replica takes over", func() bool { return strings.Contains(c.self(i), "master") })
	c.whole()
}

// view is what a node knows of all nodes.
func (c *redisCluster) view(i int) string {
	return c.redis(i, "node", "CLUSTER", "NODES")
}

// self is what a node knows of itself.
func (c *redisCluster) self(i int) string {
	for line := range strings.Lines(c.view(i)) {
		if strings.Contains(line, "myself,") {
			return line
		}
	}
	return ""
}

// roles counts the nodes that are on the line of one, by role.
func (c *redisCluster) roles(i int) map[string]int {
	roles := map[string]int{}
	for line := range strings.Lines(c.view(i)) {
		if f := strings.Fields(line); len(f) > 7 && f[7] == "connected" && !strings.Contains(f[2], "fail") {
			roles[strings.TrimPrefix(f[2], "myself,")]++
		}
	}
	return roles
}

// known are the ids of all nodes that one knows.
func (c *redisCluster) known(i int) (all []string) {
	for line := range strings.Lines(c.view(i)) {
		all = append(all, strings.Fields(line)[0])
	}
	slices.Sort(all)
	return all
}

// url names all nodes, as the router's argument does.
func (c *redisCluster) url() string {
	var all []string
	for _, p := range c.nodes {
		all = append(all, "127.0.0.1:"+p.port)
	}
	return "redis://" + strings.Replace(strings.Join(all, "&addr="), "&", "?", 1)
}

// redis asks a node for something as a user, or, if another node has it, that node.
func (c *redisCluster) redis(i int, user string, command ...string) string {
	password := "none"
	switch user {
	case "gateway", "node":
		password = readFile(c.t, c.secrets, user)
	case "router":
		_, password, _ = strings.Cut(readFile(c.t, c.secrets, "redis-auth"), ":")
	}
	args := []string{"-c", "-h", "127.0.0.1", "-p", c.nodes[i].port, "--no-auth-warning"}
	if user != "" {
		args = append(args, "--user", user, "--pass", password)
	}
	out, _ := exec.CommandContext(c.t.Context(), "redis-cli", append(args, command...)...).CombinedOutput()
	return strings.TrimSpace(string(out))
}

// The keeper ends when it is asked to, however long it still had to wait: as the first process of a container it
// would get no signal that it does not handle.
func TestKubernetesKeeperEnds(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "redis-cli")
	round := filepath.Join(t.TempDir(), "round")
	cmd := exec.Command("sh", filepath.Join("kubernetes", "uplink", "cluster.sh"), testenv.HeldAddress(t))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PAUSE=3600", "ROUND=" + round}
	output := launch(t, cmd)
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	(&node{t: t}).until("a round of the keeper", func() bool { _, err := os.Stat(round); return err == nil })
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

// The nodes become a cluster by the keeper, once, and it is kept one: when a node has lost its disk, when all have moved,
// and when there are more, as documented.
func TestKubernetesRedisCluster(t *testing.T) {
	t.Parallel()
	n := &node{cluster: uplinkCluster(t), t: t, dir: t.TempDir(), secrets: makeSecrets(t, "redis-cluster")}
	c := startRedisCluster(n)
	before := c.known(0)
	c.keep()
	c.rounds()
	if after := c.known(0); !slices.Equal(before, after) || regexp.MustCompile(`Performing|meets|becomes|forgets`).MatchString(c.keeper.String()) {
		t.Errorf("a keeper that finds a cluster has made of\n%q\n%q\n%s", before, after, c.keeper)
	}
	for i := range 30 {
		if got := c.redis(i%6, "router", "SET", fmt.Sprint("ran:", i), fmt.Sprint(i)); got != "OK" {
			t.Fatalf("SET: %s", got)
		}
	}
	_ = c.nodes[0].cmd.Process.Signal(syscall.SIGTERM) // in order, so that its replica has everything
	_ = c.nodes[0].cmd.Wait()
	if err := os.RemoveAll(c.disk(0)); err != nil {
		t.Fatal(err)
	}
	c.start(0)
	c.empty(0)
	c.keep()
	c.until("a probe of the emptied node", func() bool { return c.ready(0) })
	if got := c.redis(0, "probe", "INFO", "replication"); !strings.Contains(got, "master_link_status:up") {
		t.Errorf("a node that has lost its disk is ready before it is a replica in step: %s", got)
	}
	c.whole()
	c.until("all have forgotten the node that was lost", func() bool {
		for i := range c.nodes {
			if len(c.known(i)) != len(c.nodes) {
				return false
			}
		}
		return true
	})
	c.failover()

	for i := range c.nodes {
		c.kill(i)
	}
	for i := range 5 {
		c.start(i)
	}
	c.keep()
	c.until("five of six find each other", func() bool {
		for i := range 5 {
			if roles := c.roles(i); roles["master"]+roles["slave"] != 5 {
				return false
			}
		}
		return true
	})
	c.start(5)
	c.keep()
	c.whole()

	c.nodes = append(c.nodes, &redisNode{})
	c.start(6)
	c.keep()
	c.until("the seventh node is met", func() bool {
		for i := range c.nodes {
			if c.roles(i)["master"] != 4 {
				return false
			}
		}
		return true
	})
	c.rounds()
	c.empty(6)
	// The weight makes it few slots: each takes its time.
	weight := []string{"--cluster-weight", strings.Fields(c.self(6))[0] + "=0.05"}
	c.until("it is given its share", func() bool {
		out, err := c.asDocumented("--cluster rebalance", weight...)
		if err != nil {
			t.Logf("%v\n%s", err, out) // the node takes no writes in its first seconds
			out, err = c.asDocumented("--cluster fix")
			t.Logf("%v\n%s", err, out)
			return false
		}
		return true
	})
	c.nodes = append(c.nodes, &redisNode{})
	c.start(7)
	c.keep()
	c.whole()
	for i := range 30 {
		if got := c.redis(i%6, "router", "GET", fmt.Sprint("ran:", i)); got != fmt.Sprint(i) {
			t.Errorf("GET: %s, want %d", got, i)
		}
	}
}

// asDocumented runs a command of the page at the first node.
func (c *redisCluster) asDocumented(name string, more ...string) ([]byte, error) {
	command := strings.ReplaceAll(c.documented(name), "redis-cluster-0.redis-cluster:6379", "127.0.0.1:"+c.nodes[0].port)
	return c.inside(0, append(strings.Fields(command), more...)...).CombinedOutput()
}

// Three routers with the arguments and the Secrets of the manifests pass uplinks on that the documented user of gateways
// writes, and are ready while the cluster is whole.
func TestKubernetesRouters(t *testing.T) {
	t.Parallel()
	n := &node{cluster: uplinkCluster(t), t: t, dir: t.TempDir(), secrets: makeSecrets(t, "redis-cluster")}
	program := contend(t)
	database, err := pgx.ParseConfig(tabletest.Start(t).Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	c := startRedisCluster(n)
	w, container := n.workload("router")
	n.mount(w, container, unchanged)
	var bases []string
	for i := range w.replicas {
		url, _ := flagValue(container.Args, "redis")
		cmd := n.command(w, container, strings.NewReplacer("=:8080", "=127.0.0.1:0", url, c.url(), "$(POD_NAME)", fmt.Sprint("router-", i)).Replace)
		cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool { return e == "POD_NAME=" })
		cmd.Env = append(cmd.Env, "PGHOST="+database.Host, "PGPORT="+strconv.Itoa(int(database.Port)), "PGDATABASE="+database.Database,
			"PGUSER="+database.User, "PGPASSWORD="+database.Password, "PGSSLMODE=disable")
		fields := start(t, cmd)
		if fields["instance"] != fmt.Sprint("router-", i) {
			t.Errorf("a router is called %v", fields)
		}
		bases = append(bases, "http://"+fields["http"])
	}
	for _, base := range bases {
		n.until("the router is ready", func() bool {
			code, _ := get(t, base+container.ReadinessProbe.HTTPGet.Path)
			return code == http.StatusOK
		})
		for _, path := range []string{container.LivenessProbe.HTTPGet.Path, container.StartupProbe.HTTPGet.Path, w.template.Annotations["prometheus.io/path"], "/api/v1/openapi.yaml"} {
			if code, body := get(t, base+path); code != http.StatusOK {
				t.Errorf("%s: %d: %s", path, code, body)
			}
		}
	}
	customer, token, _ := strings.Cut(readFile(t, n.secrets, "tokens"), " ")
	d := lorawan.DemoDevice(1, 0)
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, bases[0]+"/api/v1/devices/insert",
		strings.NewReader(fmt.Sprintf(`{"DevEUI": %q, "JoinEUI": %q, "DevAddr": %q}`, d.DevEUI, d.JoinEUI, d.DevAddr)))
	request.Header.Set("Authorization", "Bearer "+token)
	if answer, err := http.DefaultClient.Do(request); err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("the device of %s: %v, %v", customer, answer, err)
	}
	const uplinks = "300"
	sink := exec.Command(program, "uplink", "sink", "--url", strings.Replace(bases[2], "http", "ws", 1)+"/api/v1/stream/upstream/", "--token", token, "--expect", uplinks)
	received := launch(t, sink)
	t.Cleanup(func() { _ = sink.Process.Kill() })
	gateway := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(gateway, []byte("gateway:"+readFile(t, n.secrets, "gateway")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "uplink", "gen", "flat", "-n", uplinks, "--redis", c.url(), "--redis-auth", "file:"+gateway).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := sink.Wait(); err != nil {
		t.Errorf("%v: %s", err, received)
	}
	c.guarded()
	for i := range c.nodes {
		c.kill(i)
	}
	for _, base := range bases {
		n.until("without Redis no router is ready", func() bool {
			code, _ := get(t, base+container.ReadinessProbe.HTTPGet.Path)
			return code == http.StatusServiceUnavailable
		})
		if code, _ := get(t, base+container.LivenessProbe.HTTPGet.Path); code != http.StatusOK {
			t.Errorf("without Redis: liveness %d", code)
		}
	}
}

// guarded: each user may do what it needs, and no more.
func (c *redisCluster) guarded() {
	c.t.Helper()
	for _, tt := range []struct {
		user    string
		command []string
		want    string
	}{
		{"", []string{"PING"}, "NOAUTH"},
		{"", []string{"GET", "ran:partitions"}, "NOAUTH"},
		{"probe", []string{"GET", "ran:partitions"}, "NOPERM"},
		{"probe", []string{"CLUSTER", "RESET"}, "NOPERM"},
		{"gateway", []string{"GET", "ran:partitions"}, `^8$`},
		{"gateway", []string{"XADD", "ran:uplinks:0", "*", "v", "2"}, `^\d+-\d+$`},
		{"gateway", []string{"XLEN", "ran:uplinks:0"}, `^\d+$`},
		{"gateway", []string{"WAIT", "0", "10"}, `^\d+$`},
		{"gateway", []string{"CLIENT", "PAUSE", "1"}, "NOPERM"},
		{"gateway", []string{"SET", "ran:uplinks:0", "1"}, "NOPERM"},
		{"gateway", []string{"XADD", "ran:partitions", "*", "v", "2"}, "NOPERM"},
		{"gateway", []string{"XADD", "ran:uplinks:bad", "*", "v", "2"}, "NOPERM"},
		{"gateway", []string{"XRANGE", "ran:uplinks:0", "-", "+"}, "NOPERM"},
		{"gateway", []string{"DEL", "ran:uplinks:0"}, "NOPERM"},
		{"gateway", []string{"GET", "ran:instances"}, "NOPERM"},
		{"gateway", []string{"CLUSTER", "RESET"}, "NOPERM"},
		{"router", []string{"SMEMBERS", "ran:instances"}, "router-1"},
		{"router", []string{"WAIT", "0", "10"}, `^\d+$`},
		{"router", []string{"CLIENT", "PAUSE", "1"}, "NOPERM"},
		{"router", []string{"GET", "other"}, "NOPERM"},
		{"router", []string{"FLUSHALL"}, "NOPERM"},
		{"router", []string{"CONFIG", "GET", "*"}, "NOPERM"},
		{"router", []string{"CLUSTER", "FAILOVER"}, "NOPERM"},
		{"node", []string{"CONFIG", "GET", "*"}, "NOPERM"},
		{"node", []string{"GET", "ran:partitions"}, "NOPERM"},
	} {
		if got := c.redis(0, tt.user, tt.command...); !regexp.MustCompile(tt.want).MatchString(got) {
			c.t.Errorf("%s as %q: %q, want %s", tt.command, tt.user, got, tt.want)
		}
	}
}
