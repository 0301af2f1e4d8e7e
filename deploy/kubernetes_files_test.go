package deploy_test

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	names "k8s.io/apimachinery/pkg/util/validation"

	"contend/guard"
)

// documentation is the page that these tests follow.
func documentation(t *testing.T) string {
	t.Helper()
	return readFile(t, root, "docs", "deployment.md")
}

// secretRecipe are the documented commands that make a Secret.
func secretRecipe(t *testing.T, name string) string {
	t.Helper()
	return block(t, "sh", "create secret generic "+name+" ")
}

// documentedSecrets are the keys of the secrets that docs/deployment.md has users
// make.
func documentedSecrets(t *testing.T) map[string][]string {
	t.Helper()
	secrets := map[string][]string{}
	for i, made := range strings.Split(documentation(t), "create secret generic ") {
		name, keys, _ := strings.Cut(made, " ")
		keys, _, _ = strings.Cut(keys, "```")
		for _, key := range regexp.MustCompile(`--from-literal=([\w.-]+)=`).FindAllStringSubmatch(keys, -1) {
			if i > 0 {
				secrets[name] = append(secrets[name], key[1])
			}
		}
	}
	return secrets
}

// volumeFiles are the names of the files in a volume; ok is false if it cannot be
// mounted.
func (c *cluster) volumeFiles(w workload, volume string) (files []string, ok bool) {
	if s, isSet := w.object.(*appsv1.StatefulSet); isSet {
		for _, claim := range s.Spec.VolumeClaimTemplates {
			if claim.Name == volume {
				return nil, true
			}
		}
	}
	i := slices.IndexFunc(w.template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
	if i < 0 {
		return nil, false
	}
	switch v := w.template.Spec.Volumes[i]; {
	case v.ConfigMap != nil:
		config, exists := named[*corev1.ConfigMap](c, v.ConfigMap.Name)
		if !exists {
			return nil, false
		}
		for key := range config.Data {
			files = append(files, key)
		}
		return files, true
	case v.Secret != nil:
		for _, item := range v.Secret.Items {
			if !slices.Contains(c.secrets[v.Secret.SecretName], item.Key) {
				return nil, false
			}
			files = append(files, item.Path)
		}
		return files, true
	}
	return nil, true
}

// mounted reports whether a container has this file.
func (c *cluster) mounted(w workload, container *corev1.Container, file string) bool {
	for _, m := range container.VolumeMounts {
		if files, _ := c.volumeFiles(w, m.Name); m.MountPath == path.Dir(file) && slices.Contains(files, path.Base(file)) {
			return true
		}
	}
	return false
}

// configuration returns the text of a file that a container has from a ConfigMap.
func (c *cluster) configuration(w workload, container *corev1.Container, file string) (text string, ok bool) {
	for _, m := range container.VolumeMounts {
		for _, v := range w.template.Spec.Volumes {
			if v.Name != m.Name || v.ConfigMap == nil {
				continue
			}
			if config, exists := named[*corev1.ConfigMap](c, v.ConfigMap.Name); exists {
				if text, ok = config.Data[file]; ok {
					return text, true
				}
			}
		}
	}
	return "", false
}

// checkVolumes: what is mounted exists, what exists is mounted, secrets are for the
// process alone, and no object holds one.
func checkVolumes(c *cluster) []string {
	var found notes
	if len(of[*corev1.Secret](c)) > 0 {
		found.add("Secret: one is part of the manifests")
	}
	c.containers(func(w workload, container *corev1.Container) {
		used := map[string]bool{}
		for _, m := range container.VolumeMounts {
			used[m.Name] = true
			if _, ok := c.volumeFiles(w, m.Name); !ok {
				found.add("%s: volume %s: there is no such volume, ConfigMap or documented Secret", w, m.Name)
			}
		}
		for _, v := range w.template.Spec.Volumes {
			if !used[v.Name] {
				found.add("%s: volume %s is not mounted", w, v.Name)
			}
			if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode&0o7 != 0) {
				found.add("%s: volume %s: everybody may read the secret", w, v.Name)
			}
			if v.Secret != nil && w.template.Spec.SecurityContext.FSGroup == nil {
				found.add("%s: volume %s: no fsGroup, so the process cannot read the secret", w, v.Name)
			}
		}
		for _, e := range container.Env {
			for _, wrong := range names.IsEnvVarName(e.Name) {
				found.add("%s: env %s: %s", w, e.Name, wrong)
			}
			if e.Value != "" && regexp.MustCompile(`(?i)password|secret|token|auth`).MatchString(e.Name) {
				found.add("%s: env %s holds a secret", w, e.Name)
			}
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && !slices.Contains(c.secrets[e.ValueFrom.SecretKeyRef.Name], e.ValueFrom.SecretKeyRef.Key) {
				found.add("%s: env %s: there is no such documented Secret", w, e.Name)
			}
		}
		for _, from := range container.EnvFrom {
			if from.SecretRef == nil || len(c.secrets[from.SecretRef.Name]) == 0 {
				found.add("%s: envFrom: there is no such documented Secret", w)
			}
		}
	})
	for _, config := range of[*corev1.ConfigMap](c) {
		if !slices.ContainsFunc(c.workloads(), func(w workload) bool {
			return slices.ContainsFunc(w.template.Spec.Volumes, func(v corev1.Volume) bool {
				return v.ConfigMap != nil && v.ConfigMap.Name == config.Name
			})
		}) {
			found.add("ConfigMap %s: nobody mounts it", config.Name)
		}
	}
	return found
}

var (
	absolute = regexp.MustCompile(`(?:^|file:)(/\S+\.\w+|/run/\S+)$`)
	redisURL = regexp.MustCompile(`redis://(\S+)`)
	variable = regexp.MustCompile(`\$\((\w+)\)`)
)

// redisAddresses are those in a text with the URL of a Redis, or of a cluster.
func redisAddresses(text string) []string {
	m := redisURL.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	return strings.Split(strings.ReplaceAll(m[1], "?addr=", "&addr="), "&addr=")
}

// checkArguments: the files, addresses, variables and designs that arguments name exist.
func checkArguments(c *cluster) []string {
	var found notes
	c.containers(func(w workload, container *corev1.Container) {
		for _, arg := range append(slices.Clone(container.Command), container.Args...) {
			_, value, assigned := strings.Cut(arg, "=")
			if !assigned {
				value = arg
			}
			if m := absolute.FindStringSubmatch(value); m != nil && !c.mounted(w, container, m[1]) {
				found.add("%s: %s: no such file is mounted", w, arg)
			}
			for _, address := range redisAddresses(value) {
				if !c.serves(address) {
					found.add("%s: redis://%s: no such service", w, address)
				}
			}
			for _, m := range variable.FindAllStringSubmatch(arg, -1) {
				if !slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == m[1] }) {
					found.add("%s: %s: no such variable", w, arg)
				}
			}
		}
		for flag, port := range map[string]string{"http": "http", "grpc": "grpc"} {
			address, ok := flagValue(container.Args, flag)
			if !ok {
				continue
			}
			if !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool {
				return p.Name == port && address == ":"+strconv.Itoa(int(p.ContainerPort))
			}) {
				found.add("%s: --%s is %s, which is not the port %s", w, flag, address, port)
			}
		}
		design, ok := flagValue(container.Args, "guard")
		if _, err := guard.Lookup(design); ok && err != nil && !strings.HasPrefix(design, "redis-") {
			found.add("%s: --guard: %v", w, err)
		}
	})
	return found
}
