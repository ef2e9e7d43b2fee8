package local

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

const (
	nodesTimeout = 2 * time.Minute // for ten thousand of them
	nodeMakers   = 8
)

// nodeCount is how many nodes plimsoll makes.
func nodeCount(spec *v1alpha1.Kwok) int {
	if spec == nil || spec.Nodes == nil {
		return 0
	}
	return *spec.Nodes
}

// makeNodes registers the nodes, several at once, ready as they are.
//
// Admission gives a new node the taint not-ready, and a controller takes it
// off, with 20 requests per second by its defaults: minutes for thousands of
// nodes, and never without that controller. So it is taken off here.
func (p *plane) makeNodes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	api, err := p.api()
	if err != nil {
		return err
	}
	nodes := api.CoreV1().Nodes()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(nodeMakers)
	for i := range nodeCount(p.spec.Kwok) {
		group.Go(func() error {
			node := newNode(i, p.spec.Kwok)
			if _, err := nodes.Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
			_, err := nodes.Patch(ctx, node.Name, types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return p.target.because(fmt.Errorf("make the nodes: %w", err))
	}
	return nil
}

// newNode is a node as its kubelet would register it.
//
// It has the labels and the annotation that controllers would else give it, with
// their 20 requests per second: that would disturb the first minute of a run.
func newNode(i int, spec *v1alpha1.Kwok) *core.Node {
	name, now := fmt.Sprintf("node-%d", i), metav1.Now()
	condition := func(kind core.NodeConditionType, status core.ConditionStatus, reason string) core.NodeCondition {
		return core.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	resources := core.ResourceList{
		core.ResourceCPU: resource.MustParse("32"), core.ResourceMemory: resource.MustParse("256Gi"),
		core.ResourceEphemeralStorage: resource.MustParse("1Ti"), core.ResourcePods: *resource.NewQuantity(int64(max(spec.PodsPerNode, 1)), resource.DecimalSI),
	}
	return &core.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				core.LabelHostname: name, core.LabelOSStable: "linux", core.LabelArchStable: "amd64",
				"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64", "type": "kwok",
			},
			Annotations: map[string]string{"node.alpha.kubernetes.io/ttl": nodeTTL(nodeCount(spec))},
		},
		Status: core.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Addresses: []core.NodeAddress{{Type: core.NodeInternalIP, Address: nodeIP(i)}, {Type: core.NodeHostName, Address: name}},
			Conditions: []core.NodeCondition{
				condition(core.NodeReady, core.ConditionTrue, "KubeletReady"),
				condition(core.NodeMemoryPressure, core.ConditionFalse, "KubeletHasSufficientMemory"),
				condition(core.NodeDiskPressure, core.ConditionFalse, "KubeletHasNoDiskPressure"),
				condition(core.NodePIDPressure, core.ConditionFalse, "KubeletHasSufficientPID"),
			},
			NodeInfo: core.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "kwok", ContainerRuntimeVersion: "kwok"},
		},
	}
}

// nodeTTL is how many seconds kubelets may keep what they have read, by the
// number of nodes, as the controller for that has it.
func nodeTTL(nodes int) string {
	for _, step := range []struct{ nodes, seconds int }{{100, 0}, {500, 15}, {1000, 30}, {2000, 60}} {
		if nodes <= step.nodes {
			return fmt.Sprint(step.seconds)
		}
	}
	return "300"
}

// nodeIP is an address in 10.64.0.0/11, beside those of services and pods.
func nodeIP(i int) string { return fmt.Sprintf("10.%d.%d.%d", 64+i>>16, i>>8&0xff, i&0xff) }

// awaitNodes waits until kwok has taken over all nodes, which their leases show.
func (p *plane) awaitNodes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	api, err := p.api()
	if err != nil {
		return err
	}
	want := int64(nodeCount(p.spec.Kwok))
	err = retry(ctx, func(ctx context.Context) error {
		leases, err := api.CoordinationV1().Leases(core.NamespaceNodeLease).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		got := int64(len(leases.Items))
		if leases.RemainingItemCount != nil {
			got += *leases.RemainingItemCount
		}
		if got < want {
			return fmt.Errorf("%d of %d have a lease", got, want)
		}
		return nil
	})
	if err != nil {
		return p.target.because(fmt.Errorf("wait until kwok has taken over the nodes: %w", err))
	}
	return nil
}
