package deploy_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A breaker has short names for what it breaks, in the overlay redis.
type breaker struct {
	*cluster
	counter    *appsv1.Deployment
	redis      *appsv1.StatefulSet
	job        *batchv1.Job
	pod        *corev1.PodSpec   // of the counter
	container  *corev1.Container // of the counter
	service    *corev1.Service
	ingress    *networkingv1.Ingress
	budget     *policyv1.PodDisruptionBudget
	autoscaler *autoscalingv2.HorizontalPodAutoscaler
}

func newBreaker(c *cluster) breaker {
	b := breaker{cluster: c, counter: of[*appsv1.Deployment](c)[0], redis: of[*appsv1.StatefulSet](c)[0],
		job: of[*batchv1.Job](c)[0], ingress: of[*networkingv1.Ingress](c)[0],
		budget: of[*policyv1.PodDisruptionBudget](c)[0], autoscaler: of[*autoscalingv2.HorizontalPodAutoscaler](c)[0]}
	b.pod = &b.counter.Spec.Template.Spec
	b.container = &b.pod.Containers[0]
	b.service, _ = named[*corev1.Service](c, "counter")
	return b
}

func (b breaker) policy(name string) *networkingv1.NetworkPolicySpec {
	p, _ := named[*networkingv1.NetworkPolicy](b.cluster, name)
	return &p.Spec
}

// config returns the data of the ConfigMap that has this file.
func (b breaker) config(file string) map[string]string {
	for _, c := range of[*corev1.ConfigMap](b.cluster) {
		if _, ok := c.Data[file]; ok {
			return c.Data
		}
	}
	return nil
}

func (b breaker) edit(file, old, new string) {
	data := b.config(file)
	data[file] = strings.Replace(data[file], old, new, 1)
}

// argument replaces one of the counter's arguments.
func (b breaker) argument(old, new string) {
	b.container.Args[slices.Index(b.container.Args, old)] = new
}

func (b breaker) remove(kinds ...string) {
	b.objects = slices.DeleteFunc(b.objects, func(o object) bool { return slices.Contains(kinds, kind(o)+" "+o.GetName()) })
}

// Each of these mistakes is found.
var broken = []struct {
	name string
	make func(b breaker)
	want string
}{
	// Names.
	{"no namespace", func(b breaker) { b.remove("Namespace contend") }, "Namespace contend: does not exist"},
	{"another namespace", func(b breaker) { b.service.Namespace = "default" }, `Service counter: namespace is "default"`},
	{"the same object twice", func(b breaker) { b.cluster.objects = append(b.cluster.objects, b.service) }, "Service counter: there are two"},
	{"a name in capitals", func(b breaker) { b.budget.Name = "Counter" }, "PodDisruptionBudget Counter: name"},
	{"no common label", func(b breaker) { b.ingress.Labels = nil }, "Ingress counter: has no label"},
	{"a label with a space", func(b breaker) { b.ingress.Labels["x"] = "a b" }, "Ingress counter: labels"},

	// Selectors.
	{"a service of nothing", func(b breaker) { b.service.Spec.Selector = map[string]string{"app": "counter"} }, "Service counter: the selector matches the pods of 0"},
	{"a service of everything", func(b breaker) {
		b.service.Spec.Selector = map[string]string{"app.kubernetes.io/part-of": "contend"}
	}, "Service counter: the selector matches the pods of 3"},
	{"a deployment of others' pods", func(b breaker) { b.counter.Spec.Selector = b.redis.Spec.Selector }, "Deployment counter: the selector does not match its own pods"},
	{"a budget of nothing", func(b breaker) { b.budget.Spec.Selector.MatchLabels["x"] = "y" }, "PodDisruptionBudget counter: the selector"},
	{"a policy of nothing", func(b breaker) { b.policy("redis").PodSelector.MatchLabels["x"] = "y" }, "NetworkPolicy redis: the selector"},
	{"a policy for nobody", func(b breaker) { b.policy("redis").Ingress[0].From[0].PodSelector.MatchLabels["x"] = "y" }, "NetworkPolicy redis: peer: the selector"},
	{"a spread of nothing", func(b breaker) { b.pod.TopologySpreadConstraints[0].LabelSelector.MatchLabels["x"] = "y" }, "topologySpreadConstraints: the selector"},
	{"away from nothing", func(b breaker) {
		b.job.Spec.Template.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector.MatchLabels["x"] = "y"
	}, "podAntiAffinity: the selector"},

	// Ports.
	{"a probe of no port", func(b breaker) { b.container.ReadinessProbe.HTTPGet.Port = intstr.FromString("web") }, "a probe asks port web"},
	{"two ports of a name", func(b breaker) { b.container.Ports[1].Name = "http" }, "port http (50055): there are two"},
	{"a port with a long name", func(b breaker) { b.container.Ports[1].Name = "the-port-of-grpc" }, `port "the-port-of-grpc"`},
	{"a scrape of no port", func(b breaker) { b.counter.Spec.Template.Annotations["prometheus.io/port"] = "9090" }, "prometheus.io/port is 9090"},
	{"a service to no port", func(b breaker) { b.service.Spec.Ports[0].TargetPort = intstr.FromInt32(80) }, "Service counter: port http leads to 80"},
	{"an ingress to no port", func(b breaker) { b.ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port.Name = "web" }, "Ingress counter: path /status: no service"},
	{"an ingress to no service", func(b breaker) { b.remove("Service counter") }, "Ingress counter: path /status: no service"},
	{"no governing service", func(b breaker) { b.redis.Spec.ServiceName = "counter" }, "StatefulSet redis: serviceName: no headless service"},

	// Who may talk to whom.
	{"no default", func(b breaker) { b.remove("NetworkPolicy nothing") }, "redis to kube-system"},
	{"Redis for all", func(b breaker) {
		b.policy("redis").Ingress[0].From[0] = networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}}
	}, "ingress-nginx () to redis"},
	{"no Redis", func(b breaker) { b.remove("NetworkPolicy counter-to-redis") }, "counter to redis"},
	{"no names", func(b breaker) { b.policy("counter-to-redis").Egress = b.policy("counter-to-redis").Egress[:1] }, "counter to kube-system"},
	{"no proxy", func(b breaker) { b.policy("counter").Ingress = b.policy("counter").Ingress[1:] }, "ingress-nginx"},
	{"every namespace", func(b breaker) { b.policy("counter").Ingress[1].From[0].NamespaceSelector.MatchLabels = nil }, "default ("},
	{"no experiment", func(b breaker) { b.policy("experiment").Egress[0].Ports = nil }, "experiment to counter"},

	// Volumes.
	{"no such volume", func(b breaker) { b.pod.Volumes = nil }, "volume redis-auth: there is no such"},
	{"an undocumented secret", func(b breaker) { b.pod.Volumes[0].Secret.SecretName = "redis" }, "volume redis-auth: there is no such"},
	{"an undocumented key", func(b breaker) { b.pod.Volumes[0].Secret.Items[0].Key = "password" }, "volume redis-auth: there is no such"},
	{"no ConfigMap", func(b breaker) { b.job.Spec.Template.Spec.Volumes[0].ConfigMap.Name = "experiments" }, "volume experiment: there is no such"},
	{"a ConfigMap for nobody", func(b breaker) { b.job.Spec.Template.Spec.Volumes[0].ConfigMap.Name = "experiments" }, "nobody mounts it"},
	{"a secret for everybody", func(b breaker) { *b.pod.Volumes[0].Secret.DefaultMode = 0o444 }, "everybody may read"},
	{"a secret for root", func(b breaker) { b.pod.SecurityContext.FSGroup = nil }, "no fsGroup"},
	{"a volume that is not mounted", func(b breaker) { b.container.VolumeMounts = nil }, "volume redis-auth is not mounted"},
	{"a secret in the manifests", func(b breaker) {
		b.cluster.objects = append(b.cluster.objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}})
	}, "Secret: one is part"},
	{"a password in the environment", func(b breaker) { b.container.Env[0].Name = "REDIS_PASSWORD" }, "env REDIS_PASSWORD holds a secret"},
	{"a variable with a space", func(b breaker) { b.container.Env[0].Name = "GO MEMLIMIT" }, "env GO MEMLIMIT"},

	// Images and arguments.
	{"an image without a tag", func(b breaker) { b.container.Image = "contend" }, "image contend has no tag"},
	{"the latest image", func(b breaker) { b.redis.Spec.Template.Spec.Containers[0].Image = "redis:latest" }, "image redis:latest has no tag"},
	{"a registry's port is no tag", func(b breaker) { b.container.Image = "localhost:5000/contend" }, "image localhost:5000/contend has no tag"},
	{"two of our images", func(b breaker) { b.container.Image = "contend:other" }, "2 different ones"},
	{"another command", func(b breaker) { b.container.Command = []string{"contend"} }, "command is set"},
	{"another user", func(b breaker) { *b.pod.SecurityContext.RunAsUser = 1000 }, "runAsUser is not the image's 65532"},
	{"another port", func(b breaker) { b.container.Ports[0].ContainerPort = 8081 }, "port 8081 is none of the image's"},
	{"listening elsewhere", func(b breaker) { b.argument("--http=:8080", "--http=:8081") }, "--http is :8081"},
	{"Redis elsewhere", func(b breaker) { b.argument("--redis=redis://redis:6379", "--redis=redis://redis:6380") }, "redis://redis:6380: no such service"},
	{"a file that is not mounted", func(b breaker) { b.container.VolumeMounts[0].MountPath = "/run/secrets" }, "no such file is mounted"},
	{"a configuration that is not mounted", func(b breaker) { b.redis.Spec.Template.Spec.Containers[0].Command[1] = "/etc/redis.conf" }, "/etc/redis.conf: no such file"},
	{"no such guard", func(b breaker) { b.argument("--guard=redis-combining", "--guard=mutes") }, "--guard: "},

	// Rights.
	{"root", func(b breaker) { b.pod.SecurityContext.RunAsNonRoot = new(false) }, "may run as root"},
	{"no profile of system calls", func(b breaker) { b.pod.SecurityContext.SeccompProfile = nil }, "seccompProfile"},
	{"a token", func(b breaker) { b.pod.AutomountServiceAccountToken = nil }, "has a token"},
	{"the node's network", func(b breaker) { b.pod.HostNetwork = true }, "shares a namespace"},
	{"a file system to write to", func(b breaker) { b.container.SecurityContext.ReadOnlyRootFilesystem = nil }, "may write"},
	{"more privileges", func(b breaker) { b.container.SecurityContext.AllowPrivilegeEscalation = nil }, "may gain"},
	{"capabilities", func(b breaker) { b.container.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW"} }, "keeps capabilities"},
	{"no security context", func(b breaker) { b.container.SecurityContext = nil }, "has no securityContext"},
	{"a namespace without a standard", func(b breaker) {
		delete(of[*corev1.Namespace](b.cluster)[0].Labels, "pod-security.kubernetes.io/enforce")
	}, "restricted"},

	// Resources and life.
	{"more requested than allowed", func(b breaker) { b.container.Resources.Requests["cpu"] = resource.MustParse("3") }, "cpu: request 3, limit 2"},
	{"no limit", func(b breaker) { delete(b.container.Resources.Limits, "memory") }, "memory: request 50Mi"},
	{"a soft limit above the hard one", func(b breaker) { b.container.Env[0].Value = "200MiB" }, "GOMEMLIMIT is 200MiB"},
	{"a Redis that fills its pod", func(b breaker) { b.edit("redis.conf", "160mb", "200mb") }, "maxmemory is 200mb"},
	{"a Redis without bounds", func(b breaker) { b.edit("redis.conf", "maxmemory 160mb", "") }, "has no maxmemory"},
	{"no probe", func(b breaker) { b.container.LivenessProbe = nil }, "wants a liveness"},
	{"ready as long as it lives", func(b breaker) { b.container.ReadinessProbe.HTTPGet.Path = "/health" }, "ask the same path"},
	{"no time to drain", func(b breaker) { *b.pod.TerminationGracePeriodSeconds = 15 }, "terminationGracePeriodSeconds is 15s"},
	{"drains at once", func(b breaker) { b.container.Lifecycle = nil }, "preStop does not sleep"},

	// Replicas.
	{"one replica to share", func(b breaker) { *b.counter.Spec.Replicas = 1 }, "a shared counter has 1 replicas"},
	{"all on one node", func(b breaker) { b.pod.TopologySpreadConstraints = nil }, "may all be on one node"},
	{"many replicas in memory", func(b breaker) { b.argument("--guard=redis-combining", "--guard=mutex") }, "there can be one replica only"},
	{"an update of two pods in memory", func(b breaker) { b.argument("--guard=redis-combining", "--guard=mutex") }, "must not run two pods"},
	{"no room to drain a node", func(b breaker) { b.budget.Spec.MinAvailable.IntVal = 3 }, "minAvailable is 3"},
	{"a share of the replicas", func(b breaker) { *b.budget.Spec.MinAvailable = intstr.FromString("50%") }, "minAvailable is 50%"},
	{"nothing to scale", func(b breaker) { b.autoscaler.Spec.ScaleTargetRef.Name = "counters" }, "no Deployment counters"},
	{"fewer than there are", func(b breaker) { *b.autoscaler.Spec.MinReplicas = 2 }, "minReplicas is not"},
	{"a share of nothing", func(b breaker) { delete(b.container.Resources.Requests, "cpu") }, "no request of cpu"},

	// The experiment.
	{"no job", func(b breaker) { b.remove("Job experiment") }, "Job: there is none"},
	{"a job that runs again", func(b breaker) { *b.job.Spec.BackoffLimit = 6 }, "would run again"},
	{"a job that stays", func(b breaker) { b.job.Spec.TTLSecondsAfterFinished = nil }, "may stay for ever"},
	{"no time for the experiment", func(b breaker) { *b.job.Spec.ActiveDeadlineSeconds = 60 }, "and has 1m0s"},
	{"no experiment file", func(b breaker) { b.job.Spec.Template.Spec.Volumes = nil }, "has no experiment"},
	{"a mistake in the experiment", func(b breaker) { b.edit("experiment.yaml", "baseline:", "base:") }, "Job experiment: experiment.yaml:"},
	{"an experiment of nothing", func(b breaker) { b.edit("experiment.yaml", "counter:80", "counter:8080") }, `no service at "counter:8080"`},
}

func TestKubernetesFindings(t *testing.T) {
	t.Parallel()
	whole := buildCluster(t, "redis")
	for _, tt := range broken {
		t.Run(tt.name, func(t *testing.T) {
			c := whole.clone()
			tt.make(newBreaker(c))
			if found := findings(c); !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, tt.want) }) {
				t.Errorf("found %q, want %q among them", found, tt.want)
			}
		})
	}
}

// clone is one that may be broken.
func (c *cluster) clone() *cluster {
	clone := &cluster{secrets: c.secrets, image: c.image}
	for _, o := range c.objects {
		clone.objects = append(clone.objects, o.DeepCopyObject().(object))
	}
	return clone
}
