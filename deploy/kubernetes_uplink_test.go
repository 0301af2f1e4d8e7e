package deploy_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// uplinkCluster is the routers on their Redis Cluster.
func uplinkCluster(t *testing.T) *cluster {
	t.Helper()
	return &cluster{
		objects: append(kustomize(t, filepath.Join("kubernetes", "namespace")), kustomize(t, filepath.Join("kubernetes", "uplink"))...),
		secrets: documentedSecrets(t),
		image:   ownImage(t),
	}
}

// uplinkFindings are what does not fit together.
func uplinkFindings(c *cluster) []string {
	var all []string
	for _, check := range []func(*cluster) []string{
		checkNames, checkSelectors, checkContainerPorts, checkServicePorts, checkFlows, checkVolumes, checkImages, checkSecurity,
		checkResources, checkProbes, checkTermination, checkReplicas, checkDisruption, checkArguments, checkSets, checkNodes, checkRouters,
	} {
		all = append(all, check(c)...)
	}
	return all
}

func TestKubernetesUplink(t *testing.T) {
	t.Parallel()
	for _, finding := range uplinkFindings(uplinkCluster(t)) {
		t.Error(finding)
	}
}

// checkSets: several pods are spread, have a budget, and get from their fields what their variables say.
func checkSets(c *cluster) []string {
	var found notes
	for _, s := range of[*appsv1.StatefulSet](c) {
		pod := s.Spec.Template.Spec
		if *s.Spec.Replicas < 3 {
			found.add("StatefulSet %s: has %d replicas, want at least 3", s.Name, *s.Spec.Replicas)
		}
		if !slices.ContainsFunc(pod.TopologySpreadConstraints, func(t corev1.TopologySpreadConstraint) bool { return t.TopologyKey == corev1.LabelHostname }) {
			found.add("StatefulSet %s: its pods may all be on one node", s.Name)
		}
		if s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
			found.add("StatefulSet %s: its pods wait for each other", s.Name)
		}
		if !slices.ContainsFunc(of[*policyv1.PodDisruptionBudget](c), func(p *policyv1.PodDisruptionBudget) bool {
			return slices.ContainsFunc(c.selected(p.Spec.Selector), func(w workload) bool { return w.object == s })
		}) {
			found.add("StatefulSet %s: has no budget for disruptions", s.Name)
		}
		for _, e := range pod.Containers[0].Env {
			want := map[string]string{"POD_IP": "status.podIP", "POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}[e.Name]
			if want != "" && (e.ValueFrom == nil || e.ValueFrom.FieldRef == nil || e.ValueFrom.FieldRef.FieldPath != want) {
				found.add("StatefulSet %s: %s is not %s", s.Name, e.Name, want)
			}
		}
	}
	return found
}

// checkNodes: the nodes of the Redis Cluster tell their names, keep what they have, and are those of the keeper.
func checkNodes(c *cluster) []string {
	var found notes
	nodes, _ := named[*appsv1.StatefulSet](c, "redis-cluster")
	keeper, _ := named[*appsv1.Deployment](c, "redis-cluster-keeper")
	service, _ := named[*corev1.Service](c, nodes.Spec.ServiceName)
	w := workload{object: nodes, template: &nodes.Spec.Template}
	container := &nodes.Spec.Template.Spec.Containers[0]
	for name, want := range map[string]string{"--cluster-announce-ip": "$(POD_IP)",
		"--cluster-announce-hostname": "$(POD_NAME)." + nodes.Spec.ServiceName + ".$(POD_NAMESPACE).svc"} {
		if i := slices.Index(container.Command, name); i < 0 || container.Command[i+1] != want {
			found.add("%s: %s is not %s", w, name, want)
		}
	}
	conf, _ := c.configuration(w, container, "redis.conf")
	for _, want := range []string{"cluster-enabled yes", "cluster-preferred-endpoint-type hostname", "cluster-require-full-coverage no",
		"appendonly yes", "maxmemory-policy noeviction"} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(conf) {
			found.add("%s: redis.conf does not say %q", w, want)
		}
	}
	if len(nodes.Spec.VolumeClaimTemplates) == 0 {
		found.add("%s: keeps nothing", w)
	}
	if service == nil || !service.Spec.PublishNotReadyAddresses {
		found.add("Service %s: does not name pods that are not ready yet", nodes.Spec.ServiceName)
		return found
	}
	var all []string
	for _, pod := range c.pods(service.Name) {
		all = append(all, pod+"."+service.Name+":"+strconv.Itoa(int(service.Spec.Ports[0].Port)))
	}
	command := keeper.Spec.Template.Spec.Containers[0].Command
	if !slices.Equal(command[2:], all) || !c.mounted(workload{object: keeper, template: &keeper.Spec.Template}, &keeper.Spec.Template.Spec.Containers[0], command[1]) {
		found.add("Deployment %s: runs %v, and the nodes are %v", keeper.Name, command, all)
	}
	return found
}

// checkRouters: routers have names that stay, what they share is not in one of them, and the way to them is that of
// several.
func checkRouters(c *cluster) []string {
	var found notes
	router, ok := named[*appsv1.StatefulSet](c, "router")
	if !ok {
		return []string{"StatefulSet router: there is none"}
	}
	container := router.Spec.Template.Spec.Containers[0]
	for name, want := range map[string]string{"instance": "$(POD_NAME)", "db": "postgres://"} {
		if got, _ := flagValue(container.Args, name); got != want {
			found.add("StatefulSet router: --%s is %q, want %s", name, got, want)
		}
	}
	if from := container.EnvFrom; len(from) != 1 || from[0].SecretRef == nil || !slices.Contains(c.secrets[from[0].SecretRef.Name], "PGHOST") {
		found.add("StatefulSet router: no Secret says where PostgreSQL is")
	}
	url, _ := flagValue(container.Args, "redis")
	if n := len(redisAddresses(url)); n < 2 {
		found.add("StatefulSet router: --redis names %d nodes, and fewer than 2 are no cluster", n)
	}
	all, _ := flagValue(container.Args, "max-conns")
	if each, _ := flagValue(container.Args, "max-conns-per-address"); all == "" || each != all {
		found.add("StatefulSet router: --max-conns-per-address is %q behind a proxy, want --max-conns, %q", each, all)
	}
	if p := container.StartupProbe; p == nil || p.PeriodSeconds*p.FailureThreshold < 120 {
		found.add("StatefulSet router: has no time to read its table")
	}
	for _, i := range of[*networkingv1.Ingress](c) {
		if by := i.Annotations["nginx.ingress.kubernetes.io/upstream-hash-by"]; by != "$http_authorization$arg_access_token" {
			found.add("Ingress %s: streams of one customer go to several routers: %q", i.Name, by)
		}
		for _, path := range ingressPaths(i) {
			if path.Path != "/api/v1" {
				found.add("Ingress %s: %s is for nobody outside", i.Name, path.Path)
			}
		}
	}
	return found
}

// An uplinkBreaker has short names for what it breaks.
type uplinkBreaker struct {
	breaker
	router, nodes *appsv1.StatefulSet
	keeper        *appsv1.Deployment
	pod, node     *corev1.Container
}

func newUplinkBreaker(c *cluster) uplinkBreaker {
	b := uplinkBreaker{breaker: breaker{cluster: c}}
	b.router, _ = named[*appsv1.StatefulSet](c, "router")
	b.nodes, _ = named[*appsv1.StatefulSet](c, "redis-cluster")
	b.keeper, _ = named[*appsv1.Deployment](c, "redis-cluster-keeper")
	b.service, _ = named[*corev1.Service](c, "redis-cluster")
	b.ingress = of[*networkingv1.Ingress](c)[0]
	b.budget, _ = named[*policyv1.PodDisruptionBudget](c, "redis-cluster")
	b.pod, b.node = &b.router.Spec.Template.Spec.Containers[0], &b.nodes.Spec.Template.Spec.Containers[0]
	b.container = b.pod
	return b
}

// Each of these mistakes is found, as are those that any cluster may have.
var brokenUplink = []struct {
	name string
	make func(b uplinkBreaker)
	want string
}{
	{"two routers", func(b uplinkBreaker) { *b.router.Spec.Replicas = 2 }, "StatefulSet router: has 2 replicas"},
	{"all on one node", func(b uplinkBreaker) { b.nodes.Spec.Template.Spec.TopologySpreadConstraints = nil }, "StatefulSet redis-cluster: its pods may all be"},
	{"one after the other", func(b uplinkBreaker) { b.nodes.Spec.PodManagementPolicy = "OrderedReady" }, "wait for each other"},
	{"no budget", func(b uplinkBreaker) { b.remove("PodDisruptionBudget redis-cluster") }, "StatefulSet redis-cluster: has no budget"},
	{"a budget of all", func(b uplinkBreaker) { b.budget.Spec.MaxUnavailable = new(intstr.FromInt32(6)) }, "maxUnavailable is 6"},
	{"a budget of none", func(b uplinkBreaker) { b.budget.Spec.MaxUnavailable = new(intstr.FromInt32(0)) }, "maxUnavailable is 0"},
	{"another field", func(b uplinkBreaker) { b.node.Env[0].ValueFrom.FieldRef.FieldPath = "status.hostIP" }, "POD_IP is not status.podIP"},
	{"no such variable", func(b uplinkBreaker) { b.node.Env = b.node.Env[1:] }, "$(POD_IP): no such variable"},
	{"a name that nobody has", func(b uplinkBreaker) { b.nodes.Spec.Template.Spec.Containers[0].Command[9] = "redis" }, "--cluster-announce-hostname is not"},
	{"no cluster", func(b uplinkBreaker) { b.edit("redis.conf", "cluster-enabled yes", "") }, `does not say "cluster-enabled yes"`},
	{"uplinks that are evicted", func(b uplinkBreaker) { b.edit("redis.conf", "noeviction", "allkeys-lru") }, "noeviction"},
	{"a Redis that fills its pod", func(b uplinkBreaker) { b.edit("redis.conf", "400mb", "800mb") }, "maxmemory is 800mb"},
	{"no volume", func(b uplinkBreaker) { b.nodes.Spec.VolumeClaimTemplates = nil }, "keeps nothing"},
	{"only those that are ready", func(b uplinkBreaker) { b.service.Spec.PublishNotReadyAddresses = false }, "not ready yet"},
	{"a node that nobody keeps", func(b uplinkBreaker) { *b.nodes.Spec.Replicas = 7 }, "and the nodes are"},
	{"another script", func(b uplinkBreaker) { b.keeper.Spec.Template.Spec.Containers[0].Command[1] = "/etc/redis/keep.sh" }, "/etc/redis/keep.sh: no such file"},
	{"two keepers", func(b uplinkBreaker) { *b.keeper.Spec.Replicas = 2 }, "Deployment redis-cluster-keeper"},
	{"one name for all", func(b uplinkBreaker) { b.argument("--instance=$(POD_NAME)", "--instance=router") }, "--instance is"},
	{"a table for each", func(b uplinkBreaker) { b.argument("--db=postgres://", "--db=sqlite:ran.db") }, "--db is"},
	{"no PostgreSQL", func(b uplinkBreaker) { b.pod.EnvFrom = nil }, "where PostgreSQL is"},
	{"a Secret of PostgreSQL that nobody makes", func(b uplinkBreaker) { b.pod.EnvFrom[0].SecretRef.Name = "postgres" }, "envFrom: there is no such"},
	{"a password that nobody makes", func(b uplinkBreaker) {
		b.keeper.Spec.Template.Spec.Containers[0].Env[1].ValueFrom.SecretKeyRef.Key = "keeper"
	}, "env REDISCLI_AUTH: there is no such"},
	{"a node that is not there", func(b uplinkBreaker) { *b.nodes.Spec.Replicas = 5 }, "redis-cluster-5.redis-cluster:6379: no such service"},
	{"one server", func(b uplinkBreaker) {
		i := slices.IndexFunc(b.pod.Args, func(arg string) bool { return strings.HasPrefix(arg, "--redis=") })
		b.pod.Args[i], _, _ = strings.Cut(b.pod.Args[i], "?")
	}, "names 1 nodes"},
	{"half of the connections", func(b uplinkBreaker) { b.argument("--max-conns-per-address=4000", "--max-conns-per-address=2000") }, "behind a proxy"},
	{"no time to begin", func(b uplinkBreaker) { b.pod.StartupProbe = nil }, "no time to read"},
	{"no time to drain", func(b uplinkBreaker) { *b.router.Spec.Template.Spec.TerminationGracePeriodSeconds = 15 }, "terminationGracePeriodSeconds is 15s"},
	{"two routers for a customer", func(b uplinkBreaker) { b.ingress.Annotations = nil }, "go to several routers"},
	{"metrics for all", func(b uplinkBreaker) { b.ingress.Spec.Rules[0].HTTP.Paths[0].Path = "/" }, "for nobody outside"},
	{"no way to a startup", func(b uplinkBreaker) { b.pod.StartupProbe.HTTPGet.Port = intstr.FromString("web") }, "a probe asks port web"},
	{"a bus for all", func(b uplinkBreaker) {
		p := b.policy("redis-cluster")
		p.Ingress[1].Ports = p.Ingress[0].Ports
	}, "gateways () to redis-cluster, TCP port 16379"},
	{"no gateways", func(b uplinkBreaker) {
		b.policy("redis-cluster").Ingress[1].From = b.policy("redis-cluster").Ingress[1].From[:2]
	}, "gateways () to redis-cluster"},
	{"no database", func(b uplinkBreaker) { b.policy("router").Egress = slices.Delete(b.policy("router").Egress, 1, 2) }, "router to postgres"},
	{"no default", func(b uplinkBreaker) { b.remove("NetworkPolicy nothing") }, "default () to redis-cluster-keeper"},
}

func TestKubernetesUplinkFindings(t *testing.T) {
	t.Parallel()
	whole := uplinkCluster(t)
	for _, tt := range brokenUplink {
		t.Run(tt.name, func(t *testing.T) {
			c := whole.clone()
			tt.make(newUplinkBreaker(c))
			if found := uplinkFindings(c); !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, tt.want) }) {
				t.Errorf("found %q, want %q among them", found, tt.want)
			}
		})
	}
}
