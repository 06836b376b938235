package check

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// namespaceLabel is what Kubernetes gives every namespace.
const namespaceLabel = "kubernetes.io/metadata.name"

// peer is a pod as a network policy sees it.
type peer struct {
	namespace string
	labels    map[string]string
}

// allowed evaluates the policies as a cluster does: what a policy selects may only what
// some policy allows, in both directions.
func (c *cluster) allowed(t *testing.T, from, to peer, port int32) bool {
	t.Helper()
	return c.permits(t, networkingv1.PolicyTypeEgress, from, to, port) && c.permits(t, networkingv1.PolicyTypeIngress, to, from, port)
}

func (c *cluster) permits(t *testing.T, direction networkingv1.PolicyType, self, other peer, port int32) bool {
	t.Helper()
	concerned := false
	for _, p := range c.policies {
		if self.namespace != p.Namespace || !slices.Contains(p.Spec.PolicyTypes, direction) || !selects(t, &p.Spec.PodSelector, self.labels) {
			continue
		}
		concerned = true
		if direction == networkingv1.PolicyTypeEgress {
			for _, rule := range p.Spec.Egress {
				if anyPeer(t, p.Namespace, rule.To, other) && anyPort(rule.Ports, port) {
					return true
				}
			}
			continue
		}
		for _, rule := range p.Spec.Ingress {
			if anyPeer(t, p.Namespace, rule.From, other) && anyPort(rule.Ports, port) {
				return true
			}
		}
	}
	return !concerned
}

func anyPeer(t *testing.T, namespace string, rules []networkingv1.NetworkPolicyPeer, other peer) bool {
	t.Helper()
	return len(rules) == 0 || slices.ContainsFunc(rules, func(r networkingv1.NetworkPolicyPeer) bool {
		there := other.namespace == namespace
		if r.NamespaceSelector != nil {
			there = selects(t, r.NamespaceSelector, map[string]string{namespaceLabel: other.namespace})
		}
		return r.IPBlock == nil && there && (r.PodSelector == nil || selects(t, r.PodSelector, other.labels))
	})
}

func anyPort(rules []networkingv1.NetworkPolicyPort, port int32) bool {
	return len(rules) == 0 || slices.ContainsFunc(rules, func(r networkingv1.NetworkPolicyPort) bool {
		return r.Port == nil || r.Port.IntVal == port
	})
}

func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(labels.Set(of))
}

func TestKubernetes_WhoTalksToWhom(t *testing.T) {
	c := render(t)
	pods := map[string]peer{
		"stranger": {"switchyard", map[string]string{"app": "stranger"}},
		"dns":      {"kube-system", map[string]string{"k8s-app": "kube-dns"}},
		"metrics":  {"monitoring", map[string]string{"app": "prometheus"}},
		"outside":  {"default", map[string]string{"app": "nats", "broker": "client"}},
	}
	for _, w := range c.workloads() {
		pods[w.name] = peer{"switchyard", w.pod.Labels}
	}
	const broker, page, dns = 4222, 8080, 53
	permitted := map[string][]int32{
		"coordinator > nats": {broker}, "worker > nats": {broker},
		"coordinator > dns": {dns}, "worker > dns": {dns},
		"metrics > coordinator": {page},
	}
	for from := range pods {
		for to := range pods {
			if from == to {
				continue
			}
			for _, port := range []int32{broker, page, dns, 22} {
				// Policies of other namespaces are not ours.
				foreign := pods[from].namespace != "switchyard" && pods[to].namespace != "switchyard"
				want := foreign || slices.Contains(permitted[from+" > "+to], port)
				if got := c.allowed(t, pods[from], pods[to], port); got != want {
					t.Errorf("%s > %s on port %d: allowed is %v", from, to, port, got)
				}
			}
		}
	}
}
