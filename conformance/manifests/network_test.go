package manifests_test

import (
	"cmp"
	"net/netip"
	"slices"
	"testing"

	network "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// end is where a connection begins or ends.
type end struct {
	name, namespace string
	labels          map[string]string
	address         string // empty: one of a pod
}

// The policies let through what the service needs, and nothing of what it must not
// have: they are carried out here as Kubernetes says, since many networks ignore
// them and would show no mistake.
func TestPoliciesLetThroughWhatIsNeeded(t *testing.T) {
	t.Parallel()
	b := build(t, "overlays/ha", overlay(t, "overlays/ha", nil))
	pod := func(name string) end {
		for _, w := range b.workloads(t) {
			if w.Metadata.Name == name {
				return end{name: name, namespace: w.Metadata.Namespace, labels: w.pod.Labels}
			}
		}
		t.Fatalf("nothing is called %s", name)
		return end{}
	}
	at := func(address string) end { return end{name: address, address: address} }
	other := func(namespace string) end { return end{name: "a pod of " + namespace, namespace: namespace} }
	api, worker, setup, nats := pod("api"), pod("worker"), pod("bus-setup"), pod("nats")
	for _, flow := range []struct {
		from, to end
		name     string
		port     int32
		through  bool
	}{
		{api, nats, "nats", 4222, true},
		{worker, nats, "nats", 4222, true},
		{setup, nats, "nats", 4222, true},
		{nats, nats, "cluster", 6222, true},
		{other("envoy-gateway-system"), api, "http", 8080, true},
		{other("monitoring"), api, "admin", 9090, true},
		{other("monitoring"), worker, "admin", 9090, true},
		{other("monitoring"), nats, "monitor", 8222, true},
		{api, other("kube-system"), "", 53, true},
		{worker, other("kube-system"), "", 53, true},
		{nats, other("kube-system"), "", 53, true},
		{api, at("169.254.20.10"), "", 53, true}, // NodeLocal DNSCache
		{setup, at("169.254.20.10"), "", 53, true},
		{worker, other("openshift-dns"), "", 5353, true},
		{api, at("192.0.2.7"), "", 443, true}, // key sets

		{api, at("169.254.169.254"), "", 53, false},
		{api, at("169.254.169.254"), "", 443, false},
		{api, at("192.0.2.7"), "", 53, false},
		{api, other("default"), "", 53, false},
		{api, nats, "cluster", 6222, false},
		{api, nats, "monitor", 8222, false},
		{nats, api, "http", 8080, false},
		{worker, api, "http", 8080, false},
		{other("envoy-gateway-system"), api, "admin", 9090, false},
		{other("envoy-gateway-system"), nats, "nats", 4222, false},
		{other("default"), api, "http", 8080, false},
		{other("default"), api, "admin", 9090, false},
		{other("default"), nats, "nats", 4222, false},
		{other("default"), nats, "cluster", 6222, false},
		{setup, other("default"), "", 443, false},
		{api, other("default"), "", 5432, false},
		{nats, other("default"), "", 4222, false},
	} {
		if got := leaves(t, b, flow.from, flow.to, flow.port) && enters(t, b, flow.from, flow.to, flow.name, flow.port); got != flow.through {
			t.Errorf("from %s to port %d of %s: %t", flow.from.name, flow.port, flow.to.name, got)
		}
	}
}

// leaves says whether the policies for outgoing connections of a pod allow one.
func leaves(t *testing.T, b built, from, to end, port int32) bool {
	t.Helper()
	bound, allowed := false, false
	for _, p := range policies(t, b, from, network.PolicyTypeEgress) {
		bound = true
		for _, rule := range p.Spec.Egress {
			allowed = allowed || isPeer(t, p.Namespace, to, rule.To) && isPort(rule.Ports, "", port)
		}
	}
	return allowed || !bound
}

// enters says the same of incoming ones.
func enters(t *testing.T, b built, from, to end, name string, port int32) bool {
	t.Helper()
	bound, allowed := false, false
	for _, p := range policies(t, b, to, network.PolicyTypeIngress) {
		bound = true
		for _, rule := range p.Spec.Ingress {
			allowed = allowed || isPeer(t, p.Namespace, from, rule.From) && isPort(rule.Ports, name, port)
		}
	}
	return allowed || !bound
}

// policies are those of one direction that are about a pod.
func policies(t *testing.T, b built, pod end, direction network.PolicyType) []network.NetworkPolicy {
	t.Helper()
	var list []network.NetworkPolicy
	for _, o := range b.pick("NetworkPolicy") {
		var p network.NetworkPolicy
		o.into(t, &p)
		if p.Namespace == pod.namespace && slices.Contains(p.Spec.PolicyTypes, direction) && selects(t, &p.Spec.PodSelector, pod.labels) {
			list = append(list, p)
		}
	}
	return list
}

func isPeer(t *testing.T, here string, other end, peers []network.NetworkPolicyPeer) bool {
	t.Helper()
	if len(peers) == 0 {
		return true
	}
	return slices.ContainsFunc(peers, func(p network.NetworkPolicyPeer) bool {
		switch {
		case p.IPBlock != nil:
			return isWithin(t, p.IPBlock, other)
		case other.address != "":
			return false // no selector chooses what is no pod
		case p.NamespaceSelector == nil && other.namespace != here:
			return false
		case p.NamespaceSelector != nil && !selects(t, p.NamespaceSelector, map[string]string{"kubernetes.io/metadata.name": other.namespace}):
			return false
		}
		return p.PodSelector == nil || selects(t, p.PodSelector, other.labels)
	})
}

// isWithin says whether a block has the address of the other end; all pods have ones
// of the same network.
func isWithin(t *testing.T, block *network.IPBlock, other end) bool {
	t.Helper()
	address := netip.MustParseAddr(cmp.Or(other.address, "10.1.2.3"))
	has := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(address) }
	return has(block.CIDR) && !slices.ContainsFunc(block.Except, has)
}

func isPort(ports []network.NetworkPolicyPort, name string, number int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p network.NetworkPolicyPort) bool {
		return p.Port == nil || p.Port.StrVal != "" && p.Port.StrVal == name || p.Port.IntVal == number
	})
}

func selects(t *testing.T, s *meta.LabelSelector, of map[string]string) bool {
	t.Helper()
	selector, err := meta.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(labels.Set(of))
}
