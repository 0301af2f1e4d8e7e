package deploy_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The overlays; each runs with an experiment.
var overlays = []string{"memory", "redis"}

// A cluster is what is applied together.
type cluster struct {
	objects []object
	// secrets are the keys of those that the documentation has users make.
	secrets map[string][]string
	image   image
}

type object interface {
	runtime.Object
	metav1.Object
}

// of returns the objects of one type.
func of[T object](c *cluster) []T {
	var list []T
	for _, o := range c.objects {
		if t, ok := o.(T); ok {
			list = append(list, t)
		}
	}
	return list
}

// named returns the object of a type that has this name, or the zero value.
func named[T object](c *cluster, name string) (found T, ok bool) {
	for _, o := range of[T](c) {
		if o.GetName() == name {
			return o, true
		}
	}
	return found, false
}

// A workload is anything that makes pods.
type workload struct {
	object
	replicas int32
	selector *metav1.LabelSelector // nil for a job, which has its own
	template *corev1.PodTemplateSpec
}

func (w workload) String() string { return kind(w.object) + " " + w.GetName() }

func kind(o runtime.Object) string { return o.GetObjectKind().GroupVersionKind().Kind }

func (c *cluster) workloads() []workload {
	var list []workload
	for _, d := range of[*appsv1.Deployment](c) {
		list = append(list, workload{d, *d.Spec.Replicas, d.Spec.Selector, &d.Spec.Template})
	}
	for _, s := range of[*appsv1.StatefulSet](c) {
		list = append(list, workload{s, *s.Spec.Replicas, s.Spec.Selector, &s.Spec.Template})
	}
	for _, j := range of[*batchv1.Job](c) {
		list = append(list, workload{j, 1, nil, &j.Spec.Template})
	}
	return list
}

// strict decodes YAML into the types of the Kubernetes API. Fields that these do
// not have, and fields given twice, are errors.
func strict() *json.Serializer {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, autoscalingv2.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err) // the types are constants
		}
	}
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
}

// kustomizing lets one at a time build: kustomize does not say that several may.
var kustomizing sync.Mutex

// kustomize returns what kustomize makes of a folder.
func kustomize(t *testing.T, dir string) []object {
	t.Helper()
	kustomizing.Lock()
	defer kustomizing.Unlock()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var objects []object
	for _, r := range made.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		decoded, _, err := strict().Decode(text, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", dir, err, text)
		}
		objects = append(objects, decoded.(object))
	}
	return objects
}

func buildCluster(t *testing.T, overlay string) *cluster {
	t.Helper()
	return &cluster{
		objects: slices.Concat(
			kustomize(t, filepath.Join("kubernetes", "namespace")),
			kustomize(t, filepath.Join("kubernetes", "overlays", overlay)),
			kustomize(t, filepath.Join("kubernetes", "experiment", overlay))),
		secrets: documentedSecrets(t),
		image:   ownImage(t),
	}
}

func TestKubernetes(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			for _, finding := range findings(buildCluster(t, overlay)) {
				t.Error(finding)
			}
		})
	}
}

// Every file is also decoded as it is: kustomize itself ignores fields that are
// given twice.
func TestKubernetesFiles(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	err := filepath.WalkDir("kubernetes", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" || d.Name() == "kustomization.yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			if !strings.Contains(doc, "apiVersion:") {
				continue // a JSON patch, or an experiment
			}
			decoded, _, err := strict().Decode([]byte(doc), nil, nil)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			seen[kind(decoded)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Namespace", "Deployment", "StatefulSet", "Service", "Ingress", "NetworkPolicy",
		"PodDisruptionBudget", "HorizontalPodAutoscaler", "Job"} {
		if !seen[want] {
			t.Errorf("no %s in any file", want)
		}
	}
}

// Every folder with a kustomization is one that the tests build, or part of one.
func TestKubernetesFolders(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob("kubernetes/*/*/kustomization.yaml")
	single, err2 := filepath.Glob("kubernetes/*/kustomization.yaml")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	found = append(found, single...)
	var want []string
	for _, folder := range []string{"base", "fleet", "image", "namespace", "uplink"} {
		want = append(want, "kubernetes/"+folder+"/kustomization.yaml")
	}
	for _, applied := range []string{"namespace", "overlays/*", "experiment/memory", "experiment/redis", "fleet", "uplink"} {
		if !strings.Contains(readFile(t, root, "Makefile"), " deploy/kubernetes/"+applied) {
			t.Errorf("make kube-validate leaves %s out", applied)
		}
	}
	for _, overlay := range overlays {
		want = append(want, "kubernetes/overlays/"+overlay+"/kustomization.yaml", "kubernetes/experiment/"+overlay+"/kustomization.yaml")
	}
	want = append(want, "kubernetes/experiment/base/kustomization.yaml")
	slices.Sort(want)
	for i, path := range found {
		found[i] = filepath.ToSlash(path)
	}
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("found %q, the tests know %q", found, want)
	}
}

// Nothing but the folder of the namespace deletes it, as everything in it goes along, volumes included.
func TestKubernetesDelete(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"overlays/memory", "overlays/redis", "experiment/memory", "experiment/redis", "fleet", "uplink"} {
		if _, ok := named[*corev1.Namespace](&cluster{objects: kustomize(t, filepath.Join("kubernetes", folder))}, namespace); ok {
			t.Errorf("kubectl delete -k deploy/kubernetes/%s deletes the namespace", folder)
		}
	}
}

func TestKubernetesStrictness(t *testing.T) {
	t.Parallel()
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec:\n  ports:\n  - port: 80\n"
	tests := []struct{ name, text, want string }{
		{"right", service, ""},
		{"unknown field", service + "    targetport: 8080\n", `unknown field "spec.ports[0].targetport"`},
		{"field of another type", service + "  replicas: 3\n", `unknown field "spec.replicas"`},
		{"field given twice", service + "    port: 81\n", `"port" already set`},
		{"text for a number", strings.Replace(service, "80", "http", 1), "cannot unmarshal string"},
		{"unknown kind", strings.Replace(service, "Service", "Server", 1), `no kind "Server" is registered`},
		{"version that is no more", strings.Replace(service, "v1", "v1beta1", 1), `version "v1beta1"`},
	}
	for _, tt := range tests {
		_, _, err := strict().Decode([]byte(tt.text), nil, nil)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// findings are what does not fit together.
func findings(c *cluster) []string {
	var all []string
	for _, check := range []func(*cluster) []string{
		checkNames, checkSelectors, checkContainerPorts, checkServicePorts, checkFlows, checkVolumes,
		checkImages, checkSecurity, checkResources, checkProbes, checkTermination,
		checkReplicas, checkDisruption, checkScaling, checkArguments, checkJobs,
	} {
		all = append(all, check(c)...)
	}
	return all
}

// notes collects findings.
type notes []string

func (n *notes) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }
