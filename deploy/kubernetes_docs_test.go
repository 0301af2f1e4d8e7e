package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// block returns the fenced block of the documentation that holds a text.
func block(t *testing.T, language, holds string) string {
	t.Helper()
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(documentation(t), -1) {
		if strings.Contains(m[1], holds) {
			return m[1]
		}
	}
	t.Fatalf("docs/deployment.md has no %s block with %q", language, holds)
	return ""
}

// The documented overlay of a user builds, and changes what it says.
func TestKubernetesOwnOverlay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	repository, err := filepath.Abs(root)
	if err == nil {
		err = os.Symlink(repository, filepath.Join(dir, "contend"))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(block(t, "yaml", "kind: Kustomization")), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{objects: kustomize(t, dir)}
	d, _ := named[*appsv1.Deployment](c, "counter")
	i, _ := named[*networkingv1.Ingress](c, "counter")
	p, _ := named[*networkingv1.NetworkPolicy](c, "counter")
	for _, got := range []struct{ got, want string }{
		{d.Spec.Template.Spec.Containers[0].Image, "registry.example.org/contend:1.0.0"},
		{i.Spec.Rules[0].Host, "counter.mine.example"},
		{*i.Spec.IngressClassName, "nginx"},
		{p.Spec.Ingress[0].From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"], "traefik"},
	} {
		if got.got != got.want {
			t.Errorf("%q, want %q", got.got, got.want)
		}
	}
}

// Folders and names that the documented commands use exist.
func TestKubernetesCommands(t *testing.T) {
	t.Parallel()
	text := documentation(t)
	folders := regexp.MustCompile("(?:-k|-f|cd) (deploy/[^\\s`]+)").FindAllStringSubmatch(text, -1)
	if len(folders) < 5 {
		t.Errorf("found only %q", folders)
	}
	for _, m := range folders {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("%s: %v", m[0], err)
		}
	}
	c := buildCluster(t, "redis")
	for _, folder := range []string{"fleet", "uplink"} {
		c.objects = append(c.objects, kustomize(t, filepath.Join("kubernetes", folder))...)
	}
	names := regexp.MustCompile(`\b(deployment|statefulset|service|job)/([a-z-]+)`).FindAllStringSubmatch(text, -1)
	if len(names) < 5 {
		t.Errorf("found only %q", names)
	}
	for _, m := range names {
		if !slices.ContainsFunc(c.objects, func(o object) bool { return strings.EqualFold(kind(o), m[1]) && o.GetName() == m[2] }) {
			t.Errorf("%s: there is no such object", m[0])
		}
	}
}

// The images are those of the Makefile and of Compose.
func TestKubernetesImages(t *testing.T) {
	t.Parallel()
	n := &node{cluster: buildCluster(t, "redis"), t: t}
	n.objects = append(n.objects, uplinkCluster(t).objects...)
	for name, place := range map[string]struct{ pattern, text string }{
		"counter":              {`(?m)^IMAGE\s*\?=\s*(\S+)$`, readFile(t, root, "Makefile")},
		"router":               {`(?m)^IMAGE\s*\?=\s*(\S+)$`, readFile(t, root, "Makefile")},
		"redis":                {`(?m)^\s+image: (redis:\S+)$`, readFile(t, "compose", "compose.yaml")},
		"redis-cluster":        {`(?m)^\s+image: (redis:\S+)$`, readFile(t, "compose", "compose.yaml")},
		"redis-cluster-keeper": {`(?m)^\s+image: (redis:\S+)$`, readFile(t, "compose", "compose.yaml")},
	} {
		_, container := n.workload(name)
		m := regexp.MustCompile(place.pattern).FindStringSubmatch(place.text)
		if m == nil || m[1] != container.Image {
			t.Errorf("%s runs %s, elsewhere it is %q", name, container.Image, m)
		}
	}
}
