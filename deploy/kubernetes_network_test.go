package deploy_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	names "k8s.io/apimachinery/pkg/util/validation"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
)

const namespace = "contend"

// checkNames: each object is in a namespace that exists, and is the only one of
// its kind and name; names and labels are of the form that Kubernetes wants.
func checkNames(c *cluster) []string {
	var found notes
	seen := map[string]bool{}
	for _, o := range c.objects {
		name := kind(o) + " " + o.GetName()
		if seen[name] {
			found.add("%s: there are two", name)
		}
		seen[name] = true
		for _, wrong := range names.IsDNS1123Label(o.GetName()) {
			found.add("%s: name: %s", name, wrong)
		}
		if _, ok := o.(*corev1.Namespace); !ok && o.GetNamespace() != namespace {
			found.add("%s: namespace is %q, want %s", name, o.GetNamespace(), namespace)
		}
		if o.GetLabels()["app.kubernetes.io/part-of"] != "contend" {
			found.add("%s: has no label app.kubernetes.io/part-of", name)
		}
		for _, err := range validation.ValidateLabels(o.GetLabels(), fieldpath.NewPath("labels")) {
			found.add("%s: %v", name, err)
		}
	}
	if _, ok := named[*corev1.Namespace](c, namespace); !ok {
		found.add("Namespace %s: does not exist", namespace)
	}
	return found
}

// selected are the workloads whose pods a selector matches.
func (c *cluster) selected(s *metav1.LabelSelector) []workload {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(c.workloads(), func(w workload) bool { return !selector.Matches(labels.Set(w.template.Labels)) })
}

func (c *cluster) selectedBy(s *corev1.Service) []workload {
	return c.selected(&metav1.LabelSelector{MatchLabels: s.Spec.Selector})
}

// checkSelectors: each selector matches the pods of exactly one workload.
func checkSelectors(c *cluster) []string {
	var found notes
	one := func(where string, s *metav1.LabelSelector) {
		if matched := c.selected(s); len(matched) != 1 {
			found.add("%s: the selector matches the pods of %d workloads, want 1", where, len(matched))
		}
	}
	for _, w := range c.workloads() {
		if w.selector != nil {
			one(w.String(), w.selector)
			if selector, err := metav1.LabelSelectorAsSelector(w.selector); err != nil || !selector.Matches(labels.Set(w.template.Labels)) {
				found.add("%s: the selector does not match its own pods", w)
			}
		}
		for _, spread := range w.template.Spec.TopologySpreadConstraints {
			one(w.String()+": topologySpreadConstraints", spread.LabelSelector)
		}
		if a := w.template.Spec.Affinity; a != nil {
			for _, term := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
				one(w.String()+": podAntiAffinity", term.PodAffinityTerm.LabelSelector)
			}
		}
	}
	for _, s := range of[*corev1.Service](c) {
		one("Service "+s.Name, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
	}
	for _, p := range of[*policyv1.PodDisruptionBudget](c) {
		one("PodDisruptionBudget "+p.Name, p.Spec.Selector)
	}
	for _, p := range of[*networkingv1.NetworkPolicy](c) {
		where := "NetworkPolicy " + p.Name
		if len(p.Spec.PodSelector.MatchLabels) > 0 {
			one(where, &p.Spec.PodSelector)
		}
		for _, other := range peers(p) {
			if other.NamespaceSelector == nil {
				one(where+": peer", other.PodSelector)
			}
		}
	}
	return found
}

func peers(p *networkingv1.NetworkPolicy) (all []networkingv1.NetworkPolicyPeer) {
	for _, rule := range p.Spec.Ingress {
		all = append(all, rule.From...)
	}
	for _, rule := range p.Spec.Egress {
		all = append(all, rule.To...)
	}
	return all
}

// port resolves a port by name or number to one that a pod lists.
func (w workload) port(p intstr.IntOrString) (number int32, ok bool) {
	for _, container := range w.template.Spec.Containers {
		for _, port := range container.Ports {
			if p.Type == intstr.String && port.Name == p.StrVal || p.Type == intstr.Int && port.ContainerPort == p.IntVal {
				return port.ContainerPort, true
			}
		}
	}
	return 0, false
}

// checkContainerPorts: the ports of a pod have names of their own, and probes and
// scrapes name one of them.
func checkContainerPorts(c *cluster) []string {
	var found notes
	for _, w := range c.workloads() {
		seen := map[string]bool{}
		for _, container := range w.template.Spec.Containers {
			for _, port := range container.Ports {
				for _, wrong := range names.IsValidPortName(port.Name) {
					found.add("%s: port %q: %s", w, port.Name, wrong)
				}
				number := strconv.Itoa(int(port.ContainerPort))
				if seen[port.Name] || seen[number] {
					found.add("%s: port %s (%s): there are two", w, port.Name, number)
				}
				seen[port.Name], seen[number] = true, true
			}
			for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
				if p, ok := probePort(probe); ok {
					if _, ok := w.port(p); !ok {
						found.add("%s: a probe asks port %s, which the pod does not have", w, p.String())
					}
				}
			}
		}
		if scraped, ok := w.template.Annotations["prometheus.io/port"]; ok {
			if _, ok := w.port(intstr.Parse(scraped)); !ok {
				found.add("%s: prometheus.io/port is %s, which the pod does not have", w, scraped)
			}
		}
	}
	return found
}

func probePort(p *corev1.Probe) (port intstr.IntOrString, ok bool) {
	switch {
	case p == nil:
		return port, false
	case p.HTTPGet != nil:
		return p.HTTPGet.Port, true
	case p.TCPSocket != nil:
		return p.TCPSocket.Port, true
	}
	return port, false
}

// checkServicePorts: services lead to ports of their pods, and ingresses to ports
// of services; a workload's own service has no address in front of its pods.
func checkServicePorts(c *cluster) []string {
	var found notes
	for _, s := range of[*corev1.Service](c) {
		for _, port := range s.Spec.Ports {
			for _, w := range c.selectedBy(s) {
				if _, ok := w.port(port.TargetPort); !ok {
					found.add("Service %s: port %s leads to %s, which %s does not have", s.Name, port.Name, port.TargetPort.String(), w)
				}
			}
		}
	}
	for _, i := range of[*networkingv1.Ingress](c) {
		for _, path := range ingressPaths(i) {
			backend := path.Backend.Service
			if !c.hasServicePort(backend.Name, func(p corev1.ServicePort) bool {
				return p.Name == backend.Port.Name || backend.Port.Name == "" && p.Port == backend.Port.Number
			}) {
				found.add("Ingress %s: path %s: no service %s with port %s", i.Name, path.Path, backend.Name, backend.Port.Name)
			}
		}
	}
	for _, w := range c.workloads() {
		set, ok := w.object.(*appsv1.StatefulSet)
		if !ok {
			continue
		}
		name := set.Spec.ServiceName
		s, ok := named[*corev1.Service](c, name)
		if !ok || s.Spec.ClusterIP != corev1.ClusterIPNone {
			found.add("%s: serviceName: no headless service %s", w, name)
		} else if own := c.selectedBy(s); len(own) != 1 || own[0].object != w.object {
			found.add("%s: serviceName: service %s selects other pods", w, name)
		}
	}
	return found
}

func ingressPaths(i *networkingv1.Ingress) (all []networkingv1.HTTPIngressPath) {
	for _, rule := range i.Spec.Rules {
		all = append(all, rule.HTTP.Paths...)
	}
	return all
}

func (c *cluster) hasServicePort(service string, wanted func(corev1.ServicePort) bool) bool {
	s, ok := named[*corev1.Service](c, service)
	return ok && slices.ContainsFunc(s.Spec.Ports, wanted)
}

// serves reports whether host:port is that of a service, or of a pod with a name in one.
func (c *cluster) serves(address string) bool {
	host, port, found := strings.Cut(address, ":")
	pod, service, named := strings.Cut(host, ".")
	if !named {
		service = host
	} else if !slices.Contains(c.pods(service), pod) {
		return false
	}
	return found && c.hasServicePort(service, func(p corev1.ServicePort) bool { return strconv.Itoa(int(p.Port)) == port })
}

// pods are the names that a headless service gives to pods of their own StatefulSet.
func (c *cluster) pods(service string) (names []string) {
	for _, s := range of[*appsv1.StatefulSet](c) {
		for i := range *s.Spec.Replicas {
			if s.Spec.ServiceName == service {
				names = append(names, fmt.Sprintf("%s-%d", s.Name, i))
			}
		}
	}
	return names
}

// A party is one end of a conversation: pods of ours, or others.
type party struct {
	namespace string
	labels    labels.Set
	own       *workload // nil for others
}

func (p party) String() string {
	if p.own != nil {
		return p.own.GetName()
	}
	return fmt.Sprintf("%s (%s)", p.namespace, p.labels)
}

func (p party) matches(peer networkingv1.NetworkPolicyPeer) bool {
	inside := p.namespace == namespace
	if peer.NamespaceSelector != nil {
		s, err := metav1.LabelSelectorAsSelector(peer.NamespaceSelector)
		inside = err == nil && s.Matches(labels.Set{"kubernetes.io/metadata.name": p.namespace})
	}
	if peer.PodSelector == nil {
		return inside && peer.IPBlock == nil
	}
	s, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
	return inside && err == nil && s.Matches(p.labels)
}

// permits reports whether the policies for the pods of own let them talk with other
// in this direction, to a port of to.
func (c *cluster) permits(own workload, direction networkingv1.PolicyType, other, to party, port corev1.ServicePort) bool {
	restricted := false
	for _, p := range of[*networkingv1.NetworkPolicy](c) {
		s, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
		if err != nil || !s.Matches(labels.Set(own.template.Labels)) || !slices.Contains(p.Spec.PolicyTypes, direction) {
			continue
		}
		restricted = true
		for _, rule := range rules(p, direction) {
			if slices.ContainsFunc(rule.From, other.matches) && slices.ContainsFunc(rule.Ports, func(allowed networkingv1.NetworkPolicyPort) bool {
				return *allowed.Protocol == port.Protocol && to.at(*allowed.Port) == port.Port
			}) {
				return true
			}
		}
	}
	return !restricted
}

// rules are those of a direction, all in the form of those for ingress.
func rules(p *networkingv1.NetworkPolicy, direction networkingv1.PolicyType) []networkingv1.NetworkPolicyIngressRule {
	if direction == networkingv1.PolicyTypeIngress {
		return p.Spec.Ingress
	}
	var all []networkingv1.NetworkPolicyIngressRule
	for _, rule := range p.Spec.Egress {
		all = append(all, networkingv1.NetworkPolicyIngressRule{From: rule.To, Ports: rule.Ports})
	}
	return all
}

// at is the number of a port of this party; 0 if it has no port of this name.
func (p party) at(port intstr.IntOrString) int32 {
	if port.Type == intstr.Int {
		return port.IntVal
	}
	if p.own == nil {
		return 0
	}
	number, _ := p.own.port(port)
	return number
}

// checkFlows: exactly those may talk to each other that have to.
func checkFlows(c *cluster) []string {
	ours := func(name string) party {
		for _, w := range c.workloads() {
			if w.GetName() == name {
				return party{namespace, w.template.Labels, &w}
			}
		}
		return party{namespace: "none"}
	}
	counter, redis, experiment := ours("counter"), ours("redis"), ours("experiment")
	router, nodes, keeper := ours("router"), ours("redis-cluster"), ours("redis-cluster-keeper")
	proxy, prometheus := party{namespace: "ingress-nginx"}, party{namespace: "monitoring"}
	postgres, gateways := party{namespace: "postgres"}, party{namespace: "gateways"}
	dns := party{namespace: "kube-system", labels: labels.Set{"k8s-app": "kube-dns"}}
	stranger := party{namespace: "default"}
	shared := redis.own != nil

	var found notes
	for _, flow := range []struct {
		from, to party
		protocol corev1.Protocol
		port     int32
		want     bool
	}{
		{proxy, counter, "TCP", 8080, true},
		{proxy, counter, "TCP", 50055, true},
		{prometheus, counter, "TCP", 8080, true},
		{prometheus, counter, "TCP", 50055, false},
		{stranger, counter, "TCP", 8080, false},
		{experiment, counter, "TCP", 8080, true},
		{experiment, dns, "UDP", 53, true},
		{experiment, dns, "TCP", 53, true},
		{experiment, stranger, "TCP", 443, false},
		{counter, redis, "TCP", 6379, shared},
		{counter, dns, "UDP", 53, shared},
		{counter, dns, "TCP", 53, shared},
		{counter, stranger, "TCP", 443, false},
		{counter, experiment, "TCP", 8080, false},
		{experiment, redis, "TCP", 6379, false},
		{proxy, redis, "TCP", 6379, false},
		{prometheus, redis, "TCP", 6379, false},
		{redis, counter, "TCP", 8080, false},
		{redis, dns, "UDP", 53, false},
		{proxy, router, "TCP", 8080, true},
		{prometheus, router, "TCP", 8080, true},
		{stranger, router, "TCP", 8080, false},
		{gateways, router, "TCP", 8080, false},
		{router, nodes, "TCP", 6379, true},
		{router, nodes, "TCP", 16379, false},
		{router, postgres, "TCP", 5432, true},
		{router, stranger, "TCP", 443, false},
		{router, dns, "UDP", 53, true},
		{router, dns, "TCP", 53, true},
		{nodes, nodes, "TCP", 6379, true},
		{nodes, nodes, "TCP", 16379, true},
		{nodes, dns, "UDP", 53, false},
		{nodes, router, "TCP", 8080, false},
		{keeper, nodes, "TCP", 6379, true},
		{keeper, nodes, "TCP", 16379, false},
		{keeper, dns, "UDP", 53, true},
		{keeper, dns, "TCP", 53, true},
		{keeper, postgres, "TCP", 5432, false},
		{stranger, keeper, "TCP", 6379, false},
		{gateways, nodes, "TCP", 6379, true},
		{gateways, nodes, "TCP", 16379, false},
		{proxy, nodes, "TCP", 6379, false},
		{stranger, nodes, "TCP", 6379, false},
	} {
		if flow.from.namespace == "none" || flow.to.namespace == "none" {
			continue
		}
		port := corev1.ServicePort{Protocol: flow.protocol, Port: flow.port}
		got := (flow.from.own == nil || c.permits(*flow.from.own, networkingv1.PolicyTypeEgress, flow.to, flow.to, port)) &&
			(flow.to.own == nil || c.permits(*flow.to.own, networkingv1.PolicyTypeIngress, flow.from, flow.to, port))
		if got != flow.want {
			found.add("NetworkPolicy: %s to %s, %s port %d: allowed is %v, want %v", flow.from, flow.to, flow.protocol, flow.port, got, flow.want)
		}
	}
	return found
}
