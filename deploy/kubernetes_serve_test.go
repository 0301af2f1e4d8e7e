package deploy_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
	"contend/systems/counter/redis"
)

// A node runs the containers of a cluster on this machine: the commands, files and
// environment of the manifests, with addresses and folders of its own.
type node struct {
	*cluster
	t       *testing.T
	dir     string // replaces the root of every file system
	secrets string // folder with the keys of the documented Secret
}

func newNode(t *testing.T, c *cluster) *node {
	return &node{cluster: c, t: t, dir: t.TempDir(), secrets: makeSecrets(t, "counter-redis")}
}

// place returns what puts the folders of a workload's containers where they are here.
func (n *node) place(w workload) *strings.Replacer {
	var places []string
	for _, container := range w.template.Spec.Containers {
		for _, m := range container.VolumeMounts {
			places = append(places, m.MountPath, n.path(w, m.MountPath))
		}
	}
	return strings.NewReplacer(places...)
}

// path is where a folder of a workload's containers is here.
func (n *node) path(w workload, mount string) string {
	return filepath.Join(n.dir, w.GetName(), mount)
}

// makeSecrets runs the documented commands that make a Secret with a kubectl that
// keeps each value in a file.
func makeSecrets(t *testing.T, name string) string {
	t.Helper()
	const kubectl = `#!/bin/sh
for arg; do
  case $arg in --from-literal=*)
    pair=${arg#--from-literal=}
    printf %s "${pair#*=}" >"$SECRETS/${pair%%=*}"
  esac
done
`
	bin, secrets := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-ec", secretRecipe(t, name))
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "SECRETS=" + secrets}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return secrets
}

// mount writes the files of a container's volumes, edited, and with the folders of
// here.
func (n *node) mount(w workload, container *corev1.Container, edit func(string) string) {
	n.t.Helper()
	place := n.place(w)
	for _, m := range container.VolumeMounts {
		dir := n.path(w, m.MountPath)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			n.t.Fatal(err)
		}
		files, _ := n.volumeFiles(w, m.Name)
		for _, file := range files {
			text, ok := n.configuration(w, container, file)
			if !ok {
				text = readFile(n.t, n.secrets, file)
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(edit(place.Replace(text))), 0o644); err != nil {
				n.t.Fatal(err)
			}
		}
	}
}

func (n *node) workload(name string) (workload, *corev1.Container) {
	n.t.Helper()
	all := n.workloads()
	i := slices.IndexFunc(all, func(w workload) bool { return w.GetName() == name })
	if i < 0 {
		n.t.Fatalf("no workload %s", name)
	}
	return all[i], &all[i].template.Spec.Containers[0]
}

// command is that of a container of ours, in an empty folder, with no environment
// but its own.
func (n *node) command(w workload, container *corev1.Container, edit func(string) string) *exec.Cmd {
	place := n.place(w)
	var args []string
	for _, arg := range container.Args {
		args = append(args, edit(place.Replace(arg)))
	}
	cmd := exec.Command(contend(n.t), args...)
	cmd.Dir, cmd.Env = n.t.TempDir(), []string{}
	for _, e := range container.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	return cmd
}

// A redisPod is the StatefulSet's container on this machine.
type redisPod struct {
	*node
	workload  workload
	container *corev1.Container
	port      string
	cmd       *exec.Cmd
}

// startRedis runs the StatefulSet's command until the test ends.
func (n *node) startRedis() *redisPod {
	n.t.Helper()
	redistest.Need(n.t)
	testenv.Program(n.t, "redis-cli")
	w, container := n.workload("redis")
	n.mount(w, container, unchanged)
	p := &redisPod{node: n, workload: w, container: container, port: testenv.HeldPort(n.t)}
	p.start()
	n.t.Cleanup(p.kill)
	return p
}

func (p *redisPod) start() {
	p.t.Helper()
	command, place := slices.Clone(p.container.Command), p.place(p.workload)
	for i, arg := range command {
		command[i] = place.Replace(arg)
	}
	p.cmd = exec.Command(command[0], append(command[1:], "--port", p.port, "--bind", "127.0.0.1")...)
	log, err := os.Create(filepath.Join(p.dir, "redis.log"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := p.probe()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("Redis is not ready: %v\n%s", err, readFile(p.t, log.Name()))
		}
	}
}

func (p *redisPod) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// probe runs the readiness probe.
func (p *redisPod) probe() error {
	command := p.container.ReadinessProbe.Exec.Command
	cmd := exec.Command(command[0], append([]string{"-p", p.port}, command[1:]...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// ask sends a command to Redis as a user, and returns its answer.
func (p *redisPod) ask(user, password string, command ...string) string {
	args := []string{"-p", p.port, "--no-auth-warning"}
	if user != "" {
		args = append(args, "--user", user, "--pass", password)
	}
	out, _ := exec.Command("redis-cli", append(args, command...)...).CombinedOutput()
	return strings.TrimSpace(string(out))
}

func unchanged(text string) string { return text }

func (n *node) until(what string, condition func() bool) {
	n.t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			n.t.Fatalf("in %v never: %s", patience, what)
		}
	}
}

func get(t *testing.T, url string, header ...string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	client := http.Client{Timeout: patience}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// What the manifests say of the program is true of it: it takes the arguments, and
// serves what the probes, the Ingress, Prometheus and the Job ask for.
func TestKubernetesServes(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, buildCluster(t, overlay))
			w, container := n.workload("counter")
			n.mount(w, container, unchanged)
			addresses := []string{"=:8080", "=127.0.0.1:0", "=:50055", "=127.0.0.1:0"}
			var server *redisPod
			if len(of[*appsv1.StatefulSet](n.cluster)) > 0 {
				server = n.startRedis()
				addresses = append(addresses, "redis://redis:6379", "redis://127.0.0.1:"+server.port)
			}
			base := n.serve(w, container, strings.NewReplacer(addresses...).Replace)
			n.asked(base, w, container)
			if server != nil {
				server.guarded()
				server.survived(base, container)
				server.designs(w, container, addresses)
			}
			n.experiment(strings.TrimPrefix(base, "http://"))
		})
	}
}

// serve runs a counter until the test ends, and returns its URL when it is ready.
func (n *node) serve(w workload, container *corev1.Container, edit func(string) string) string {
	n.t.Helper()
	base := "http://" + start(n.t, n.command(w, container, edit))["http"]
	n.until("the counter is ready", func() bool {
		code, _ := get(n.t, base+container.ReadinessProbe.HTTPGet.Path)
		return code == http.StatusOK
	})
	return base
}

// designs: the documented user of Redis may do what each design needs, so that the
// Deployment can be given any.
func (p *redisPod) designs(w workload, container *corev1.Container, addresses []string) {
	p.t.Helper()
	for _, d := range redis.Designs() {
		edit := strings.NewReplacer(append(addresses, "redis-combining", d.Name)...)
		base := p.serve(w, container, edit.Replace)
		first := p.count(base, "once-"+d.Name)
		if again, next := p.count(base, "once-"+d.Name), p.count(base, ""); again != first || next != first+1 {
			p.t.Errorf("%s: %d, again %d, then %d", d.Name, first, again, next)
		}
	}
}

// asked tries every path that the manifests name.
func (n *node) asked(base string, w workload, container *corev1.Container) {
	n.t.Helper()
	paths := []string{container.LivenessProbe.HTTPGet.Path, container.ReadinessProbe.HTTPGet.Path,
		w.template.Annotations["prometheus.io/path"]}
	for _, i := range of[*networkingv1.Ingress](n.cluster) {
		for _, path := range ingressPaths(i) {
			paths = append(paths, path.Path)
		}
	}
	for _, path := range paths {
		if code, body := get(n.t, base+path); code != http.StatusOK {
			n.t.Errorf("%s: %d: %s", path, code, body)
		}
	}
}

// guarded: the counter's user and the probe's may do what they need, and no more.
func (p *redisPod) guarded() {
	p.t.Helper()
	user, password, _ := strings.Cut(readFile(p.t, p.secrets, "auth"), ":")
	for _, tt := range []struct {
		user, password string
		command        []string
		want           string
	}{
		{"", "", []string{"PING"}, "NOAUTH"},
		{"", "", []string{"GET", "{contend:counter}"}, "NOAUTH"},
		{"probe", "none", []string{"PING"}, "PONG"},
		{"probe", "none", []string{"GET", "{contend:counter}"}, "NOPERM"},
		{user, "wrong", []string{"PING"}, "WRONGPASS"},
		{user, password, []string{"EXISTS", "{contend:counter}"}, "1"},
		{user, password, []string{"EXISTS", "other"}, "NOPERM"},
		{user, password, []string{"FLUSHALL"}, "NOPERM"},
		{user, password, []string{"CONFIG", "GET", "*"}, "NOPERM"},
		{user, password, []string{"ACL", "LIST"}, "NOPERM"},
		{user, password, []string{"SHUTDOWN", "NOSAVE"}, "NOPERM"},
	} {
		if got := p.ask(tt.user, tt.password, tt.command...); !strings.Contains(got, tt.want) {
			p.t.Errorf("%s as %q: %q, want %s", tt.command, tt.user, got, tt.want)
		}
	}
}

// survived: without Redis a replica is alive and not ready, and afterwards it goes
// on where it was.
func (p *redisPod) survived(base string, container *corev1.Container) {
	p.t.Helper()
	live, ready := base+container.LivenessProbe.HTTPGet.Path, base+container.ReadinessProbe.HTTPGet.Path
	before := p.count(base, "")
	p.kill()
	p.until("the counter is not ready", func() bool { code, _ := get(p.t, ready); return code == http.StatusServiceUnavailable })
	if code, _ := get(p.t, live); code != http.StatusOK {
		p.t.Errorf("without Redis: liveness %d", code)
	}
	p.start()
	p.until("the counter is ready again", func() bool { code, _ := get(p.t, ready); return code == http.StatusOK })
	if after := p.count(base, ""); after != before+1 {
		p.t.Errorf("after Redis came back the next value is %d, want %d", after, before+1)
	}
}

var counted = regexp.MustCompile(`"counter":(\d+)`)

// count increments, once for each key that is not "", and returns the value.
func (n *node) count(base, key string) (value int) {
	n.t.Helper()
	var header []string
	if key != "" {
		header = []string{"Idempotency-Key", key}
	}
	code, body := get(n.t, base+"/status", header...)
	m := counted.FindStringSubmatch(body)
	if code != http.StatusOK || m == nil {
		n.t.Fatalf("/status: %d: %s", code, body)
	}
	_, _ = fmt.Sscan(m[1], &value)
	return value
}

// experiment runs the Job's command on its file, with less of everything, and
// leaves nothing behind in a file system that it could not write to.
func (n *node) experiment(address string) {
	n.t.Helper()
	w, container := n.workload("experiment")
	n.mount(w, container, func(text string) string {
		for _, s := range []struct{ long, short string }{
			{`\bcounter:80\b`, address}, {`rounds: \d+`, "rounds: 1"}, {`pairs: \d+`, "pairs: 1"},
			{`vus: \[.*?\]`, "vus: [4]"}, {`duration: \S+s\b`, "duration: 500ms"}, {`warmup: \S+s\b`, "warmup: 20ms"},
			{`timeout: \S+s\b`, "timeout: 60s"},
		} {
			pattern := regexp.MustCompile(s.long)
			if !pattern.MatchString(text) {
				n.t.Fatalf("no %s in\n%s", s.long, text)
			}
			text = pattern.ReplaceAllString(text, s.short)
		}
		return text
	})
	cmd := n.command(w, container, unchanged)
	late := time.AfterFunc(2*patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "throughput") {
		n.t.Errorf("%v: %v\n%s", container.Args, err, out)
	}
	if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
		n.t.Errorf("%v leaves %v, %v", container.Args, left, err)
	}
}
