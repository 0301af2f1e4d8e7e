package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"sigs.k8s.io/yaml"

	"contend/experiment"
)

// composeDir has the Compose file and what it mounts.
const composeDir = "compose"

// loadCompose reads Compose files, in which later ones override earlier ones, as Compose does, which knows every
// field.
func loadCompose(files ...string) (*types.Project, error) {
	options, err := cli.NewProjectOptions(files, cli.WithConsistency(true))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}

// ours reports whether a service runs the program of this repository.
func ours(s types.ServiceConfig) bool { return s.Build != nil }

// A stack is the Compose file and the files that it mounts.
type stack struct {
	*types.Project
	dir string
	err []error
}

// stacks are the Compose files of each, by the last of them.
var stacks = map[string][]string{"compose.yaml": {"compose.yaml"}, "cluster.yaml": {"compose.yaml", "cluster.yaml"}}

// checkCompose returns everything that is wrong with a stack in a folder.
func checkCompose(dir, name string) error {
	var files []string
	for _, file := range stacks[name] {
		files = append(files, filepath.Join(dir, file))
	}
	project, err := loadCompose(files...)
	if err != nil {
		return err
	}
	s := &stack{Project: project, dir: dir}
	for _, name := range slices.Sorted(maps.Keys(project.Services)) {
		service := project.Services[name]
		if ours(service) {
			s.hardened(service)
		}
		s.mounted(service)
		s.published(service)
		s.waitedFor(service)
		s.calls(name, strings.Join(service.Command, "\n"), regexp.MustCompile(`(?m)(?:\w+://(?:\w+@)?|addr=|^)([a-z][a-z0-9-]*):(\d+)`))
	}
	s.files()
	s.cluster()
	return errors.Join(s.err...)
}

func (s *stack) failf(format string, args ...any) { s.err = append(s.err, fmt.Errorf(format, args...)) }

// hardened asks of our own containers what the image allows.
func (s *stack) hardened(c types.ServiceConfig) {
	if c.Image != imageName(s.dir) {
		s.failf("%s: image is %s, and `make image` makes %s", c.Name, c.Image, imageName(s.dir))
	}
	if file := filepath.Join(c.Build.Context, c.Build.Dockerfile); !exists(file) {
		s.failf("%s: there is no %s", c.Name, file)
	}
	if c.Privileged || !c.ReadOnly || !slices.Contains(c.CapDrop, "ALL") || !slices.Contains(c.SecurityOpt, "no-new-privileges:true") {
		s.failf("%s: may do more than it needs: want read_only, cap_drop ALL and no-new-privileges", c.Name)
	}
	if c.HealthCheck == nil || !slices.Equal(c.HealthCheck.Test[:3], []string{"CMD", "/contend", "health"}) {
		s.failf("%s: healthcheck must be CMD /contend health URL", c.Name)
	}
	if u := healthURL(c); !slices.Contains(c.Command, "--http=:"+portOf(u)) {
		s.failf("%s: its health is asked at %s, where it does not listen", c.Name, u)
	}
}

func healthURL(c types.ServiceConfig) string {
	if c.HealthCheck == nil || len(c.HealthCheck.Test) < 4 {
		return ""
	}
	return c.HealthCheck.Test[3]
}

func portOf(url string) string {
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	port, _, _ = strings.Cut(port, "/")
	return port
}

// imageName is the one that `make image` gives.
func imageName(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "../../Makefile"))
	if m := regexp.MustCompile(`(?m)^IMAGE\s*\?=\s*(\S+)`).FindSubmatch(text); err == nil && m != nil {
		return string(m[1])
	}
	return ""
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// mounted requires every file to exist; secrets are those that `make` makes.
func (s *stack) mounted(c types.ServiceConfig) {
	for _, config := range c.Configs {
		if file := s.Configs[config.Source].File; !exists(file) {
			s.failf("%s: there is no %s", c.Name, file)
		}
	}
	var readable []string
	for _, secret := range c.Secrets {
		readable = append(readable, "/run/secrets/"+secret.Source)
	}
	words := slices.Clone([]string(c.Command))
	for _, value := range c.Environment {
		if value != nil {
			words = append(words, *value)
		}
	}
	for _, used := range regexp.MustCompile(`/run/secrets/[\w-]+`).FindAllString(strings.Join(words, "\n"), -1) {
		if !slices.Contains(readable, used) {
			s.failf("%s: uses %s, which it is not given", c.Name, used)
		}
	}
}

// published requires that a server listens at each port, and that only this
// machine reaches it.
func (s *stack) published(c types.ServiceConfig) {
	for _, p := range c.Ports {
		if p.HostIP != "127.0.0.1" {
			s.failf("%s: port %s is published to %q, want 127.0.0.1", c.Name, p.Published, p.HostIP)
		}
		if port := strconv.Itoa(int(p.Target)); !s.listens(c.Name, port) {
			s.failf("%s: nobody listens on port %s", c.Name, port)
		}
	}
}

// listens reports whether a service listens on a port.
func (s *stack) listens(service, port string) bool {
	known := map[string]string{"redis": "6379", "postgres": "5432", "prometheus": "9090", "grafana": "3000"}
	for _, node := range redisNodes(s.Project) {
		known[node] = "6379"
	}
	c := s.Services[service]
	switch {
	case ours(c):
		return slices.ContainsFunc(c.Command, func(arg string) bool { return strings.HasSuffix(arg, "=:"+port) })
	case service == "proxy":
		return regexp.MustCompile(`listen ` + port + `\b`).MatchString(s.read("proxy.conf"))
	}
	return known[service] == port
}

func (s *stack) read(name string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.err = append(s.err, err)
	}
	return string(text)
}

// waitedFor asks that whoever is waited for can become healthy.
func (s *stack) waitedFor(c types.ServiceConfig) {
	for name, d := range c.DependsOn {
		if other := s.Services[name]; d.Condition != types.ServiceConditionHealthy || other.HealthCheck == nil {
			s.failf("%s: waits for %s, which has no health check, or does not wait for that", c.Name, name)
		}
	}
}

// calls asks that every host:port in a text is a service that the caller reaches.
func (s *stack) calls(caller, text string, pattern *regexp.Regexp) {
	found := pattern.FindAllStringSubmatch(text, -1)
	for _, m := range found {
		other, ok := s.Services[m[1]]
		switch {
		case !ok:
			s.failf("%s: calls %s, which is no service", caller, m[1])
		case !shareNetwork(s.Services[caller], other):
			s.failf("%s: shares no network with %s", caller, m[1])
		case !s.listens(m[1], m[2]):
			s.failf("%s: calls %s:%s, where nobody listens", caller, m[1], m[2])
		}
	}
	if len(found) == 0 && !ours(s.Services[caller]) && text != strings.Join(s.Services[caller].Command, "\n") {
		s.failf("%s: its file calls nobody", caller)
	}
}

func shareNetwork(a, b types.ServiceConfig) bool {
	for name := range a.Networks {
		if _, ok := b.Networks[name]; ok {
			return true
		}
	}
	return false
}

// files checks the names that mounted files call.
func (s *stack) files() {
	s.calls("proxy", s.read("proxy.conf"), regexp.MustCompile(`server ([a-z]+):(\d+)`))
	s.calls("grafana", s.read("grafana/datasource.yaml"), regexp.MustCompile(`url: http://([a-z]+):(\d+)`))
	var scrapes scrapes
	if err := yaml.UnmarshalStrict([]byte(s.read("prometheus.yml")), &scrapes); err != nil {
		s.failf("prometheus.yml: %w", err)
	}
	for _, job := range scrapes.Jobs {
		var targets []string
		for _, static := range job.Static {
			targets = append(targets, static.Targets...)
		}
		for _, d := range job.DNS {
			for _, name := range d.Names {
				targets = append(targets, name+":"+strconv.Itoa(d.Port))
			}
		}
		s.calls("prometheus", strings.Join(targets, "\n"), regexp.MustCompile(`(?m)^([a-z]+):(\d+)$`))
		if !slices.ContainsFunc(targets, func(t string) bool { return strings.HasPrefix(t, job.Name+":") }) {
			s.failf("prometheus.yml: job %s has the targets %v", job.Name, targets)
		}
	}
}

// redisNodes are the services that are nodes of a Redis Cluster.
func redisNodes(p *types.Project) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.Services)), func(name string) bool { return !strings.HasPrefix(name, "redis-") })
}

// cluster asks that each node of a Redis Cluster tells its own name, and keeps what it has where no other does; that the
// keeper names all, and several routers are not called the same.
func (s *stack) cluster() {
	nodes := redisNodes(s.Project)
	var all []string
	disks := map[string]bool{}
	for _, name := range nodes {
		all = append(all, name+":6379")
		if c := s.Services[name]; c.Hostname != name || !strings.Contains(strings.Join(c.Command, " "), `--cluster-announce-hostname "$(hostname)"`) {
			s.failf("%s: calls itself %q", name, c.Hostname)
		}
		for network := range s.Services[name].Networks {
			if !s.Networks[network].Internal {
				s.failf("%s: has no password, and is reached from outside", name)
			}
		}
		for _, v := range s.Services[name].Volumes {
			disks[v.Source] = true
		}
	}
	if len(disks) != len(nodes) {
		s.failf("%d nodes have %d volumes", len(nodes), len(disks))
	}
	if keeper, ok := s.Services["keeper"]; ok != (len(nodes) > 0) || ok && (!slices.Equal(keeper.Command[2:], all) || keeper.HealthCheck == nil) {
		s.failf("keeper: runs %v, and the nodes are %v", keeper.Command, all)
	}
	router := s.Services["router"]
	if name, ok := flagValue(router.Command, "instance"); ok && router.Deploy != nil && *router.Deploy.Replicas > 1 {
		s.failf("router: all are called %s", name)
	}
}

// scrapes are the parts of Prometheus' configuration that ours has.
type scrapes struct {
	Global struct {
		Interval string `json:"scrape_interval"`
		Timeout  string `json:"scrape_timeout"`
	} `json:"global"`
	Jobs []struct {
		Name   string `json:"job_name"`
		Static []struct {
			Targets []string `json:"targets"`
		} `json:"static_configs"`
		DNS []struct {
			Names   []string `json:"names"`
			Type    string   `json:"type"`
			Port    int      `json:"port"`
			Refresh string   `json:"refresh_interval"`
		} `json:"dns_sd_configs"`
	} `json:"scrape_configs"`
}

func TestCompose(t *testing.T) {
	for name := range stacks {
		if err := checkCompose(composeDir, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each check finds what it is there for.
func TestComposeChecks(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, old, new, want string }{
		{"field", "compose.yaml", "read_only: true", "readonly: true", "readonly"},
		{"network", "compose.yaml", "networks: [front, data]", "networks: [front, date]", "date"},
		{"volume", "compose.yaml", "- redis:/data", "- radis:/data", "radis"},
		{"image", "compose.yaml", "image: contend:dev", "image: contend:latest", "`make image` makes contend:dev"},
		{"capabilities", "compose.yaml", "cap_drop: [ALL]\n  security", "cap_drop: [NET_RAW]\n  security", "may do more"},
		{"dockerfile", "compose.yaml", "deploy/Dockerfile", "Dockerfile", "there is no"},
		{"health command", "compose.yaml", "[CMD, /contend, health,", "[CMD, /contend, lab,", "healthcheck must"},
		{"health port", "compose.yaml", "127.0.0.1:8080/ready", "127.0.0.1:80/ready", "does not listen"},
		{"secret", "compose.yaml", "secrets: [pgpass, router-tokens]", "secrets: [router-tokens]", "/run/secrets/pgpass"},
		{"unknown secret", "compose.yaml", "secrets: [pgpass,", "secrets: [passwd,", "passwd"},
		{"published port", "compose.yaml", "127.0.0.1:50055:50055", "127.0.0.1:50055:50056", "port 50056"},
		{"to the world", "compose.yaml", "127.0.0.1:9090:9090", "9090:9090", "want 127.0.0.1"},
		{"never healthy", "compose.yaml", "healthcheck:\n      test: [CMD-SHELL, pg_isready", "x-healthcheck:\n      test: [CMD-SHELL, pg_isready", "has no health check"},
		{"host", "compose.yaml", "redis://redis:6379", "redis://redes:6379", "calls redes"},
		{"port of a host", "compose.yaml", "@postgres:5432", "@postgres:5433", "postgres:5433"},
		{"unreachable", "compose.yaml", "networks: [front, data]", "networks: [front]", "counter: shares no network with redis"},
		{"no common network", "compose.yaml", "- \"127.0.0.1:9090:9090\"\n    networks: [front]", "- \"127.0.0.1:9090:9090\"\n    networks: [data]", "grafana: shares no network with prometheus"},
		{"mounted file", "compose.yaml", "file: proxy.conf", "file: nginx.conf", "nginx.conf"},
		{"upstream", "proxy.conf", "server counter:50055", "server counter:50056", "counter:50056"},
		{"listen", "proxy.conf", "listen 8080;", "listen 80;", "nobody listens on port 8080"},
		{"scrape field", "prometheus.yml", "scrape_timeout", "timeout", "timeout"},
		{"scrape port", "prometheus.yml", "names: [router]\n        type: A\n        port: 8080", "names: [router]\n        type: A\n        port: 9090", "router:9090"},
		{"scrape name", "prometheus.yml", "names: [counter]", "names: [counters]", "calls counters"},
		{"data source", "grafana/datasource.yaml", "prometheus:9090", "prometheus:80", "prometheus:80"},
		{"upstream of routers", "proxy.conf", "server router:8080", "server routers:8080", "calls routers"},
		{"node of a cluster", "cluster.yaml", "addr=redis-5:6379", "addr=redis-6:6379", "calls redis-6"},
		{"port of a node", "cluster.yaml", "addr=redis-5:6379", "addr=redis-5:6380", "redis-5:6380"},
		{"name of a node", "cluster.yaml", "hostname: redis-5", "hostname: redis-4", `redis-5: calls itself "redis-4"`},
		{"disk of a node", "cluster.yaml", `["redis-5:/data"]`, `["redis-4:/data"]`, "6 nodes have 5 volumes"},
		{"nodes of the keeper", "cluster.yaml", `, "redis-5:6379"]`, "]", "keeper: runs"},
		{"health of the keeper", "cluster.yaml", "healthcheck:\n      test: [CMD, grep", "x-healthcheck:\n      test: [CMD, grep", "keeper"},
		{"script of the keeper", "cluster.yaml", "uplink/cluster.sh}", "uplink/keep.sh}", "keep.sh"},
		{"names of routers", "cluster.yaml", "- --drain-timeout", "- --instance=router\n      - --drain-timeout", "all are called router"},
		{"network of nodes", "cluster.yaml", "networks: [data]", "networks: [front]", "reached from outside"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "deploy", composeDir)
			for _, folder := range []string{composeDir, "kubernetes"} {
				if err := os.CopyFS(filepath.Join(dir, "..", folder), os.DirFS(folder)); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range []string{"deploy/Dockerfile", "Makefile"} {
				if err := os.WriteFile(filepath.Join(dir, "../..", file), []byte(readFile(t, root, file)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			broken := strings.ReplaceAll(readFile(t, dir, tt.file), tt.old, tt.new)
			if broken == readFile(t, dir, tt.file) {
				t.Fatalf("%q does not occur", tt.old)
			}
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(broken), 0o644); err != nil {
				t.Fatal(err)
			}
			name := tt.file
			if stacks[name] == nil {
				name = "compose.yaml"
			}
			err := checkCompose(dir, name)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// The experiment for the stack is one, and its subjects are what the stack publishes.
func TestComposeExperiment(t *testing.T) {
	text := readFile(t, composeDir, "shared-counter.yaml")
	if _, err := experiment.Parse("shared-counter.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	project, err := loadCompose(filepath.Join(composeDir, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var published []string
	for _, p := range project.Services["proxy"].Ports {
		if p.Published == "8081" {
			continue // the router's
		}
		published = append(published, p.Published)
	}
	subjects := regexp.MustCompile(`\{url: "localhost:(\d+)"\}`).FindAllStringSubmatch(text, -1)
	if len(subjects) != len(published) {
		t.Errorf("the experiment has %d subjects, the proxy publishes %v", len(subjects), published)
	}
	for _, m := range subjects {
		if !slices.Contains(published, m[1]) {
			t.Errorf("nobody publishes port %s, published are %v", m[1], published)
		}
	}
}
