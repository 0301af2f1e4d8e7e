package deploy_test

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"contend/experiment"
)

// An image is what the Dockerfile says of ours.
type image struct {
	name       string
	user       int64
	entrypoint []string
	ports      []string
}

func ownImage(t *testing.T) (i image) {
	t.Helper()
	stages, err := parseDockerfile(readFile(t, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	final := stages[len(stages)-1]
	for _, c := range commands[*instructions.LabelCommand](final) {
		for _, l := range c.Labels {
			if strings.Trim(l.Key, `"`) == "org.opencontainers.image.title" {
				i.name = strings.Trim(l.Value, `"`)
			}
		}
	}
	for _, c := range commands[*instructions.UserCommand](final) {
		uid, _, _ := strings.Cut(c.User, ":")
		if i.user, err = strconv.ParseInt(uid, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range commands[*instructions.EntrypointCommand](final) {
		i.entrypoint = c.CmdLine
	}
	for _, c := range commands[*instructions.ExposeCommand](final) {
		i.ports = append(i.ports, c.Ports...)
	}
	return i
}

// containers calls f with every container.
func (c *cluster) containers(f func(w workload, container *corev1.Container)) {
	for _, w := range c.workloads() {
		for i := range w.template.Spec.Containers {
			f(w, &w.template.Spec.Containers[i])
		}
	}
}

// ours reports whether a container runs our image.
func (c *cluster) ours(container *corev1.Container) bool {
	return path.Base(repository(container.Image)) == c.image.name
}

func repository(image string) string {
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		return image[:i]
	}
	return image
}

// checkImages: images have a tag that says which, ours is everywhere the same, and
// runs as the Dockerfile has it.
func checkImages(c *cluster) []string {
	var found notes
	used := map[string]bool{}
	c.containers(func(w workload, container *corev1.Container) {
		if tag := strings.TrimPrefix(container.Image[len(repository(container.Image)):], ":"); tag == "" || tag == "latest" {
			found.add("%s: image %s has no tag that says which", w, container.Image)
		}
		if !c.ours(container) {
			return
		}
		used[container.Image] = true
		if len(container.Command) > 0 {
			found.add("%s: command is set, and hides the image's %q", w, c.image.entrypoint)
		}
		for _, p := range container.Ports {
			port := strconv.Itoa(int(p.ContainerPort))
			if meets, _ := flagValue(container.Args, "fleet"); !slices.Contains(c.image.ports, port) && meets != ":"+port {
				found.add("%s: port %d is none of the image's: %q", w, p.ContainerPort, c.image.ports)
			}
		}
		if user := w.template.Spec.SecurityContext.RunAsUser; user == nil || *user != c.image.user {
			found.add("%s: runAsUser is not the image's %d", w, c.image.user)
		}
	})
	if len(used) != 1 {
		found.add("images of ours: %d different ones, want 1", len(used))
	}
	return found
}

// checkSecurity: no rights beyond those of the Pod Security Standard "restricted",
// no root file system to write to, and no token of the API.
func checkSecurity(c *cluster) []string {
	var found notes
	yes := func(b *bool) bool { return b != nil && *b }
	no := func(b *bool) bool { return b != nil && !*b }
	for _, w := range c.workloads() {
		pod := w.template.Spec
		s := pod.SecurityContext
		if s == nil || !yes(s.RunAsNonRoot) || s.RunAsUser == nil || *s.RunAsUser == 0 || s.RunAsGroup == nil || *s.RunAsGroup == 0 {
			found.add("%s: may run as root", w)
		}
		if s == nil || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			found.add("%s: seccompProfile is not RuntimeDefault", w)
		}
		if !no(pod.AutomountServiceAccountToken) || !no(pod.EnableServiceLinks) {
			found.add("%s: has a token of the API, or variables for every service", w)
		}
		if pod.HostNetwork || pod.HostPID || pod.HostIPC {
			found.add("%s: shares a namespace with its node", w)
		}
	}
	c.containers(func(w workload, container *corev1.Container) {
		s := container.SecurityContext
		if s == nil {
			found.add("%s: has no securityContext", w)
			return
		}
		if !yes(s.ReadOnlyRootFilesystem) {
			found.add("%s: may write to its root file system", w)
		}
		if !no(s.AllowPrivilegeEscalation) || yes(s.Privileged) {
			found.add("%s: may gain privileges", w)
		}
		if s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
			found.add("%s: keeps capabilities", w)
		}
	})
	ns, ok := named[*corev1.Namespace](c, namespace)
	if !ok || ns.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		found.add("Namespace %s: does not enforce the restricted standard", namespace)
	}
	return found
}

// checkResources: CPU and memory are requested and limited, and what a process is
// told to keep to is below its limit.
func checkResources(c *cluster) []string {
	var found notes
	c.containers(func(w workload, container *corev1.Container) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, requested := container.Resources.Requests[name]
			limit, limited := container.Resources.Limits[name]
			if !requested || !limited || request.Sign() <= 0 || request.Cmp(limit) > 0 {
				found.add("%s: %s: request %s, limit %s: want 0 < request ≤ limit", w, name, request.String(), limit.String())
			}
		}
		limit := container.Resources.Limits[corev1.ResourceMemory]
		for _, e := range container.Env {
			if e.Name != "GOMEMLIMIT" {
				continue
			}
			soft, err := resource.ParseQuantity(strings.TrimSuffix(e.Value, "B"))
			if err != nil || soft.Cmp(limit) >= 0 {
				found.add("%s: GOMEMLIMIT is %s, want less than the limit of %s", w, e.Value, limit.String())
			}
		}
		// A rewrite of the append-only file is a fork, which copies every page that is
		// written to during it: at worst all.
		if conf, ok := c.configuration(w, container, "redis.conf"); ok {
			m := regexp.MustCompile(`(?m)^maxmemory (\d+)mb$`).FindStringSubmatch(conf)
			if m == nil {
				found.add("%s: redis.conf has no maxmemory", w)
				return
			}
			if most := resource.MustParse(m[1] + "Mi"); 2*most.Value() > limit.Value() {
				found.add("%s: maxmemory is %smb, want at most half of the limit of %s", w, m[1], limit.String())
			}
		}
	})
	return found
}

// checkProbes: what keeps running is asked whether it lives and, by another
// question, whether it is ready.
func checkProbes(c *cluster) []string {
	var found notes
	c.containers(func(w workload, container *corev1.Container) {
		live, ready := container.LivenessProbe, container.ReadinessProbe
		switch {
		case kind(w.object) == "Job":
		case live == nil || ready == nil:
			found.add("%s: wants a liveness and a readiness probe", w)
		case live.HTTPGet != nil && ready.HTTPGet != nil && live.HTTPGet.Path == ready.HTTPGet.Path:
			found.add("%s: liveness and readiness ask the same path %s", w, live.HTTPGet.Path)
		case c.ours(container) && (live.HTTPGet == nil || ready.HTTPGet == nil):
			found.add("%s: probes do not ask by HTTP", w)
		}
	})
	return found
}

// checkTermination: a pod has the time that its server takes to drain.
func checkTermination(c *cluster) []string {
	var found notes
	c.containers(func(w workload, container *corev1.Container) {
		drain, ok := flagValue(container.Args, "drain-timeout")
		if !ok {
			return
		}
		needed, err := time.ParseDuration(drain)
		if err != nil {
			found.add("%s: --drain-timeout: %v", w, err)
		}
		if l := container.Lifecycle; l == nil || l.PreStop == nil || l.PreStop.Sleep == nil || l.PreStop.Sleep.Seconds <= 0 {
			found.add("%s: drains while connections are still sent to it: preStop does not sleep", w)
		} else {
			needed += time.Duration(l.PreStop.Sleep.Seconds) * time.Second
		}
		if grace := time.Duration(*w.template.Spec.TerminationGracePeriodSeconds) * time.Second; grace <= needed {
			found.add("%s: terminationGracePeriodSeconds is %v, want more than preStop and --drain-timeout, %v", w, grace, needed)
		}
	})
	return found
}

// flagValue is that of --name=value.
func flagValue(args []string, name string) (value string, ok bool) {
	for _, arg := range args {
		if value, ok = strings.CutPrefix(arg, "--"+name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// checkReplicas: a counter in memory has one replica, at any time, and one that is
// shared has several.
func checkReplicas(c *cluster) []string {
	var found notes
	for _, d := range of[*appsv1.Deployment](c) {
		guard, _ := flagValue(d.Spec.Template.Spec.Containers[0].Args, "guard")
		if strings.HasPrefix(guard, "redis-") {
			if *d.Spec.Replicas < 2 {
				found.add("Deployment %s: a shared counter has %d replicas, want at least 2", d.Name, *d.Spec.Replicas)
			}
			if len(d.Spec.Template.Spec.TopologySpreadConstraints) == 0 {
				found.add("Deployment %s: its replicas may all be on one node", d.Name)
			}
			continue
		}
		if *d.Spec.Replicas != 1 || len(of[*autoscalingv2.HorizontalPodAutoscaler](c)) > 0 {
			found.add("Deployment %s: guard %s counts in memory, so there can be one replica only", d.Name, guard)
		}
		if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
			found.add("Deployment %s: guard %s counts in memory, so an update must not run two pods at a time", d.Name, guard)
		}
	}
	return found
}

// checkDisruption: a budget leaves room to drain a node.
func checkDisruption(c *cluster) []string {
	var found notes
	for _, p := range of[*policyv1.PodDisruptionBudget](c) {
		for _, w := range c.selected(p.Spec.Selector) {
			least, most := p.Spec.MinAvailable, p.Spec.MaxUnavailable
			if most == nil && (least == nil || least.IntVal < 1 || least.IntVal >= w.replicas) {
				found.add("PodDisruptionBudget %s: minAvailable is %v, want 1 to %d", p.Name, least, w.replicas-1)
			}
			if most != nil && (least != nil || most.IntVal < 1 || most.IntVal >= w.replicas) {
				found.add("PodDisruptionBudget %s: maxUnavailable is %v, want 1 to %d", p.Name, most, w.replicas-1)
			}
		}
	}
	return found
}

// checkScaling: an autoscaler has something to scale, by a share of what is
// requested, and does not fight with the number of replicas.
func checkScaling(c *cluster) []string {
	var found notes
	for _, h := range of[*autoscalingv2.HorizontalPodAutoscaler](c) {
		ref := h.Spec.ScaleTargetRef
		d, ok := named[*appsv1.Deployment](c, ref.Name)
		if !ok || ref.Kind != "Deployment" || ref.APIVersion != "apps/v1" {
			found.add("HorizontalPodAutoscaler %s: no %s %s of %s", h.Name, ref.Kind, ref.Name, ref.APIVersion)
			continue
		}
		if h.Spec.MinReplicas == nil || *h.Spec.MinReplicas != *d.Spec.Replicas || *h.Spec.MinReplicas > h.Spec.MaxReplicas {
			found.add("HorizontalPodAutoscaler %s: minReplicas is not the Deployment's %d, or above maxReplicas", h.Name, *d.Spec.Replicas)
		}
		for _, m := range h.Spec.Metrics {
			for _, container := range d.Spec.Template.Spec.Containers {
				if _, ok := container.Resources.Requests[m.Resource.Name]; !ok {
					found.add("HorizontalPodAutoscaler %s: no request of %s to take a share of", h.Name, m.Resource.Name)
				}
			}
		}
	}
	return found
}

// checkJobs: a job runs once, ends, and its experiment drives an existing target
// within the job's time.
func checkJobs(c *cluster) []string {
	var found notes
	jobs := of[*batchv1.Job](c)
	if len(jobs) == 0 {
		found.add("Job: there is none")
	}
	for _, j := range jobs {
		pod := j.Spec.Template.Spec
		if pod.RestartPolicy != corev1.RestartPolicyNever || j.Spec.BackoffLimit == nil || *j.Spec.BackoffLimit != 0 {
			found.add("Job %s: would run again when an expectation fails", j.Name)
		}
		if j.Spec.ActiveDeadlineSeconds == nil || j.Spec.TTLSecondsAfterFinished == nil {
			found.add("Job %s: may stay for ever", j.Name)
			continue
		}
		w := workload{object: j, template: &j.Spec.Template}
		text, ok := c.configuration(w, &pod.Containers[0], "experiment.yaml")
		if !ok {
			found.add("Job %s: has no experiment", j.Name)
			continue
		}
		f, err := experiment.Parse("experiment.yaml", []byte(text))
		if err != nil {
			found.add("Job %s: %v", j.Name, err)
			continue
		}
		for name, s := range f.Subjects {
			if !c.serves(s.URL) {
				found.add("Job %s: subject %s: no service at %q", j.Name, name, s.URL)
			}
		}
		if takes, may := duration(f), time.Duration(*j.Spec.ActiveDeadlineSeconds)*time.Second; 2*takes > may {
			found.add("Job %s: takes %v and more, and has %v", j.Name, takes, may)
		}
	}
	return found
}

// duration is how long an experiment drives its arms.
func duration(f *experiment.File) time.Duration {
	p := f.Experiment("").Parts[0]
	d := p.Design
	block := time.Duration(2*d.Pairs) * d.Block
	round := time.Duration(len(d.Levels)*(len(p.Arms)-1)) * (2*d.Warmup + block)
	return time.Duration(d.Rounds) * round
}
