package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

const (
	nodesTimeout = 2 * time.Minute // for ten thousand of them
	nodeMakers   = 8
	nodesPath    = "/api/v1/nodes"
	leasesPath   = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
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
	admin, url := p.admin(), p.ports.apiserverURL()+nodesPath
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(nodeMakers)
	for i := range nodeCount(p.spec.Kwok) {
		group.Go(func() error {
			name := fmt.Sprintf("node-%d", i)
			if _, err := post(ctx, admin, url, nodeObject(name, i, p.spec.Kwok)); err != nil {
				return err
			}
			return patch(ctx, admin, url+"/"+name, `{"spec":{"taints":null}}`)
		})
	}
	if err := group.Wait(); err != nil {
		return p.target.because(fmt.Errorf("make the nodes: %w", err))
	}
	return nil
}

// nodeObject is a node as its kubelet would register it.
//
// It has the labels and the annotation that controllers would else give it, with
// their 20 requests per second: that would disturb the first minute of a run.
func nodeObject(name string, i int, spec *v1alpha1.Kwok) string {
	now := time.Now().UTC().Format(time.RFC3339)
	condition := func(kind, status, reason string) map[string]string {
		return map[string]string{"type": kind, "status": status, "reason": reason, "lastHeartbeatTime": now, "lastTransitionTime": now}
	}
	resources := map[string]string{"cpu": "32", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": fmt.Sprint(max(spec.PodsPerNode, 1))}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{
			"name": name,
			"labels": map[string]string{
				"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
				"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64", "type": "kwok",
			},
			"annotations": map[string]string{"node.alpha.kubernetes.io/ttl": nodeTTL(nodeCount(spec))},
		},
		"status": map[string]any{
			"capacity": resources, "allocatable": resources,
			"addresses": []map[string]string{{"type": "InternalIP", "address": nodeIP(i)}, {"type": "Hostname", "address": name}},
			"conditions": []map[string]string{
				condition("Ready", "True", "KubeletReady"),
				condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
				condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
				condition("PIDPressure", "False", "KubeletHasSufficientPID"),
			},
			"nodeInfo": map[string]string{
				"operatingSystem": "linux", "architecture": "amd64", "kubeletVersion": "kwok", "containerRuntimeVersion": "kwok",
				"kernelVersion": "", "osImage": "", "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "",
			},
		},
	})
	if err != nil {
		panic(err) // texts only
	}
	return string(text)
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
	for want := nodeCount(p.spec.Kwok); ; {
		got, err := count(ctx, p.admin(), p.ports.apiserverURL()+leasesPath)
		if err == nil && got >= want {
			return nil
		}
		select {
		case <-time.After(awaitInterval):
		case <-ctx.Done():
			return p.target.because(fmt.Errorf("wait until kwok has taken over the nodes: %d of %d have a lease: %w", got, want, context.Cause(ctx)))
		}
	}
}

// count asks how many objects a collection has, and for one of them.
func count(ctx context.Context, client *http.Client, url string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"?limit=1", nil)
	if err != nil {
		return 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var list struct {
		Metadata struct{ RemainingItemCount int }
		Items    []json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return 0, fmt.Errorf("read the list %s: %w", url, err)
	}
	return list.Metadata.RemainingItemCount + len(list.Items), nil
}

// patch makes a merge patch.
func patch(ctx context.Context, client *http.Client, url, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	_, err = expect(client, request, http.StatusOK)
	return err
}
