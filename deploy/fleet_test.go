package deploy_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// fleetCluster is the fleet with the counter that it loads.
func fleetCluster(t *testing.T) *cluster {
	t.Helper()
	c := buildCluster(t, "memory")
	c.objects = append(c.objects, kustomize(t, filepath.Join("kubernetes", "fleet"))...)
	return c
}

func TestKubernetesFleet(t *testing.T) {
	t.Parallel()
	c := fleetCluster(t)
	for _, check := range []func(*cluster) []string{
		checkNames, checkSelectors, checkContainerPorts, checkServicePorts, checkFlows, checkVolumes, checkImages, checkSecurity, checkResources,
	} {
		for _, finding := range check(c) {
			t.Error(finding)
		}
	}
	for _, wrong := range checkFleet(c, documentation(t)) {
		t.Error(wrong)
	}
	for name, spoil := range map[string]func(worker, coordinator *batchv1.Job, service *corev1.Service){
		"workers are started again": func(w, _ *batchv1.Job, _ *corev1.Service) { *w.Spec.BackoffLimit = 6 },
		"so is the coordinator":     func(_, j *batchv1.Job, _ *corev1.Service) { j.Spec.Template.Spec.RestartPolicy = "OnFailure" },
		"not all at once":           func(w, _ *batchv1.Job, _ *corev1.Service) { *w.Spec.Parallelism = 1 },
		"no index":                  func(w, _ *batchv1.Job, _ *corev1.Service) { *w.Spec.CompletionMode = batchv1.NonIndexedCompletion },
		"others are wanted":         func(_, j *batchv1.Job, _ *corev1.Service) { j.Spec.Template.Spec.Containers[0].Args[2] = "--workers=5" },
		"a proxy between them":      func(_, _ *batchv1.Job, s *corev1.Service) { s.Spec.ClusterIP = "" },
		"another port":              func(_, _ *batchv1.Job, s *corev1.Service) { s.Spec.Ports[0].Port = 4223 },
		"a secret that nobody makes": func(w, _ *batchv1.Job, _ *corev1.Service) {
			w.Spec.Template.Spec.Containers[0].Env[1].ValueFrom.SecretKeyRef.Key = "x"
		},
		"a token for all to see": func(_, j *batchv1.Job, _ *corev1.Service) { j.Spec.Template.Spec.Containers[0].Env[0].ValueFrom = nil },
		"a name that all workers use": func(w, _ *batchv1.Job, _ *corev1.Service) {
			w.Spec.Template.Spec.Containers[0].Args[2] = "--name=worker"
		},
	} {
		c := fleetCluster(t)
		w, _ := named[*batchv1.Job](c, "fleet-worker")
		j, _ := named[*batchv1.Job](c, "fleet")
		s, _ := named[*corev1.Service](c, "fleet")
		spoil(w, j, s)
		if len(checkFleet(c, documentation(t))) == 0 {
			t.Errorf("%s: nothing is found", name)
		}
	}
}

// checkFleet: no pod is started again, as many workers wait at the same time as the coordinator wants, at its own
// address, with names of their own and the token of the documented Secret.
func checkFleet(c *cluster, docs string) []string {
	var found notes
	worker, _ := named[*batchv1.Job](c, "fleet-worker")
	coordinator, _ := named[*batchv1.Job](c, "fleet")
	service, _ := named[*corev1.Service](c, "fleet")
	for _, j := range []*batchv1.Job{worker, coordinator} {
		pod := j.Spec.Template.Spec
		if pod.RestartPolicy != corev1.RestartPolicyNever || j.Spec.BackoffLimit == nil || *j.Spec.BackoffLimit != 0 {
			found.add("Job %s: starts pods again", j.Name)
		}
		if j.Spec.ActiveDeadlineSeconds == nil || j.Spec.TTLSecondsAfterFinished == nil {
			found.add("Job %s: may stay for ever", j.Name)
		}
		i := slices.IndexFunc(pod.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "CONTEND_FLEET_TOKEN" })
		if i < 0 || pod.Containers[0].Env[i].ValueFrom == nil || pod.Containers[0].Env[i].ValueFrom.SecretKeyRef == nil {
			found.add("Job %s: has no token out of a Secret", j.Name)
		} else if ref := pod.Containers[0].Env[i].ValueFrom.SecretKeyRef; !strings.Contains(docs, "create secret generic "+ref.Name+" --from-literal="+ref.Key+"=") {
			found.add("Job %s: nobody is told to make the Secret %s with %s", j.Name, ref.Name, ref.Key)
		}
	}
	spec := worker.Spec
	if spec.CompletionMode == nil || *spec.CompletionMode != batchv1.IndexedCompletion || *spec.Completions != *spec.Parallelism {
		found.add("Job %s: is not indexed, or not all of its pods are there at the same time", worker.Name)
	}
	args := coordinator.Spec.Template.Spec.Containers[0].Args
	if n, _ := flagValue(args, "workers"); n != strconv.Itoa(int(*spec.Completions)) {
		found.add("Job %s: wants %s workers, and there are %d", coordinator.Name, n, *spec.Completions)
	}
	listens, _ := flagValue(args, "fleet")
	own := spec.Template.Spec.Containers[0].Args
	if at, _ := flagValue(own, "fleet"); at != "tls://"+service.Name+listens || service.Spec.ClusterIP != corev1.ClusterIPNone || !service.Spec.PublishNotReadyAddresses ||
		listens != ":"+strconv.Itoa(int(service.Spec.Ports[0].Port)) {
		found.add("Job %s: meets at %s, the Service is at %d, and the coordinator listens at %s", worker.Name, at, service.Spec.Ports[0].Port, listens)
	}
	if name, _ := flagValue(own, "name"); !strings.Contains(name, "$(WORKER_INDEX)") {
		found.add("Job %s: is called %q, as all are", worker.Name, name)
	}
	return found
}

// The commands of the fleet's files run, with the token as they have it, and the report names the workers.
func TestFleetCommands(t *testing.T) {
	t.Parallel()
	program := contend(t)
	c := fleetCluster(t)
	worker, _ := named[*batchv1.Job](c, "fleet-worker")
	coordinator, _ := named[*batchv1.Job](c, "fleet")
	project, err := loadFleet(t)
	if err != nil {
		t.Fatal(err)
	}
	counter := start(t, exec.Command(program, "serve", "counter", "--http=127.0.0.1:0"))
	for name, line := range map[string]struct{ coordinator, worker []string }{
		"kubernetes": {coordinator.Spec.Template.Spec.Containers[0].Args, worker.Spec.Template.Spec.Containers[0].Args},
		"compose":    {project.Services["coordinator"].Command, project.Services["worker"].Command},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		defer cancel()
		env := append(os.Environ(), "CONTEND_FLEET_TOKEN=0123456789abcdef0123456789abcdef")
		shorter := regexp.MustCompile(`^--(duration|warmup)=.*`)
		args := slices.Clone(line.coordinator)
		for i, arg := range args {
			arg = strings.Replace(arg, "--fleet=:4222", "--fleet=0.0.0.0:0", 1)
			args[i] = regexp.MustCompile(`^http://[^/]+`).ReplaceAllString(shorter.ReplaceAllString(arg, "--$1=200ms"), "http://"+counter["http"])
		}
		n, _ := flagValue(args, "workers")
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = env
		said := launch(t, cmd)
		port := said.await(t, regexp.MustCompile(`contend worker --fleet tls://\S*:(\d+)`))
		count, _ := strconv.Atoi(n)
		var workers sync.WaitGroup
		own, stop := context.WithCancel(ctx)
		for i := range count {
			args := slices.Clone(line.worker)
			for k, arg := range args {
				arg = regexp.MustCompile(`tls://[a-z]+:4222`).ReplaceAllString(arg, "tls://127.0.0.1:"+port)
				args[k] = strings.ReplaceAll(arg, "$(WORKER_INDEX)", strconv.Itoa(i))
			}
			w := exec.CommandContext(own, program, args...)
			w.Env = env
			workers.Go(func() { _ = w.Run() }) // until it is ended
		}
		err = cmd.Wait()
		stop()
		workers.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 4 || !strings.Contains(said.String(), "driven by "+n+" workers on 1 machine") {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
}

// loadFleet reads the Compose file of the fleet, with a token.
func loadFleet(t *testing.T) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(composeDir, "fleet.yaml")}, cli.WithConsistency(true), cli.WithEnv([]string{"CONTEND_FLEET_TOKEN=x"}))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(t.Context())
}

// No container of the fleet's Compose file may do more than it needs, and none is restarted.
func TestComposeFleet(t *testing.T) {
	t.Parallel()
	if _, err := loadCompose(filepath.Join(composeDir, "fleet.yaml")); err == nil || !strings.Contains(err.Error(), "openssl rand -hex 16") {
		t.Errorf("without a token: %v", err)
	}
	project, err := loadFleet(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range project.Services {
		if s.Image != imageName(composeDir) || s.Restart != "" || !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	n, _ := flagValue(project.Services["coordinator"].Command, "workers")
	if r := project.Services["worker"].Deploy.Replicas; strconv.Itoa(*r) != n {
		t.Errorf("%d workers, and %s are wanted", *r, n)
	}
}
