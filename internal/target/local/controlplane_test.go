package local

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/target"
)

// controlPlane is a target with all of it.
func controlPlane(nodes int) v1alpha1.LocalTarget {
	return v1alpha1.LocalTarget{
		KubeControllerManager: &v1alpha1.KubeControllerManager{},
		KubeScheduler:         &v1alpha1.KubeScheduler{},
		Kwok:                  &v1alpha1.Kwok{Nodes: &nodes, PodsPerNode: 110},
	}
}

func TestControlPlane(t *testing.T) {
	o := options(t, controlPlane(10))
	tg := boot(t, o)
	load := configOf(t, tg, target.Load)
	t.Run("nodes", func(t *testing.T) { checkNodes(t, load) })
	t.Run("identities", func(t *testing.T) { checkControlIdentities(t, tg) })
	t.Run("deployment and service", func(t *testing.T) { checkDeployment(t, load) })
	t.Run("job", func(t *testing.T) { checkJob(t, load) })
	t.Run("garbage", func(t *testing.T) { checkGarbage(t, load) })
	t.Run("namespace goes", func(t *testing.T) { checkNamespaceGoes(t, load) })
	t.Run("metrics", func(t *testing.T) { checkControlMetrics(t, tg) })
	t.Run("heartbeats", func(t *testing.T) { checkHeartbeats(t, load) })
	t.Run("bare node", func(t *testing.T) { checkBareNode(t, load) })
	t.Run("quiet logs", func(t *testing.T) { checkControlLogs(t, o) })
	t.Run("close", func(t *testing.T) { checkClose(t, tg, o) })
}

// checkNodes wants all nodes to take pods at once.
func checkNodes(t *testing.T, load *rest.Config) {
	for _, node := range list(t, load, "/api/v1/nodes") {
		if taints := field(node, "spec", "taints"); taints != nil {
			t.Errorf("%v has taints %v", field(node, "metadata", "name"), taints)
		}
	}
	if nodes := list(t, load, "/api/v1/nodes"); len(nodes) != 10 {
		t.Errorf("there are %d nodes", len(nodes))
	}
}

func TestControlPlaneOnKine(t *testing.T) {
	spec := controlPlane(3)
	spec.Datastore.Kine = &v1alpha1.Kine{Backend: v1alpha1.SQLite}
	tg := boot(t, options(t, spec))
	checkDeployment(t, configOf(t, tg, target.Load))
}

func checkControlIdentities(t *testing.T, tg *Target) {
	for part, want := range map[string]string{
		controllerManagerPart: "username:system:kube-controller-manager", schedulerPart: "username:system:kube-scheduler", kwokPart: "username:system:kwok",
	} {
		who := groupsOf(t, configOf(t, tg, target.Identity(part)))
		if !strings.Contains(who, want) || strings.Contains(who, "system:masters") {
			t.Errorf("%s is %s", part, who)
		}
	}
	anyone := rest.AnonymousClientConfig(configOf(t, tg, target.Load))
	if code, _ := call(t, anyone, "GET", "/api/v1/nodes", nil); code != http.StatusForbidden {
		t.Errorf("a list without a certificate gives %d", code)
	}
}

// makeDeployment makes one whose pods have a label app with its name.
func makeDeployment(t testing.TB, load *rest.Config, namespace, name string, replicas int) {
	t.Helper()
	labels := map[string]any{"app": name}
	code, answer := call(t, load, "POST", "/apis/apps/v1/namespaces/"+namespace+"/deployments", map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"replicas": replicas, "selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "pause", "image": "pause", "resources": map[string]any{"requests": map[string]any{"cpu": "1m"}}}}},
		}},
	})
	if code != http.StatusCreated {
		t.Fatalf("create gives %d: %v", code, answer)
	}
}

// awaitAvailable waits until that many pods of a deployment are available.
func awaitAvailable(t testing.TB, load *rest.Config, namespace, name string, replicas int, timeout time.Duration) {
	t.Helper()
	eventually(t, timeout, func() string {
		_, d := call(t, load, "GET", "/apis/apps/v1/namespaces/"+namespace+"/deployments/"+name, nil)
		if got := field(d, "status", "availableReplicas"); got != float64(replicas) {
			return fmt.Sprintf("%v replicas are available", got)
		}
		return ""
	})
}

func checkDeployment(t *testing.T, load *rest.Config) {
	makeDeployment(t, load, "default", "web", 10)
	if code, answer := call(t, load, "POST", "/api/v1/namespaces/default/services", map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"selector": map[string]any{"app": "web"}, "ports": []any{map[string]any{"port": 80}}},
	}); code != http.StatusCreated {
		t.Fatalf("create gives %d: %v", code, answer)
	}
	awaitAvailable(t, load, "default", "web", 10, 30*time.Second)
	eventually(t, 30*time.Second, func() string {
		addresses := map[any]bool{}
		for _, slice := range list(t, load, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name=web") {
			endpoints, _ := slice["endpoints"].([]any)
			for _, e := range endpoints {
				if ready := field(e.(map[string]any), "conditions", "ready"); ready == true {
					addresses[e.(map[string]any)["addresses"].([]any)[0]] = true
				}
			}
		}
		if len(addresses) != 10 {
			return fmt.Sprintf("%d ready addresses are in the slices of the service", len(addresses))
		}
		return ""
	})
	for _, pod := range list(t, load, "/api/v1/namespaces/default/pods?labelSelector=app=web") {
		scheduled := strings.Contains(fmt.Sprint(field(pod, "status", "conditions")), "PodScheduled")
		if field(pod, "spec", "nodeName") == nil || field(pod, "status", "hostIP") == nil || field(pod, "spec", "serviceAccountName") != "default" || !scheduled {
			t.Errorf("pod is %v", pod)
		}
	}
}

func checkJob(t *testing.T, load *rest.Config) {
	code, answer := call(t, load, "POST", "/apis/batch/v1/namespaces/default/jobs", map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "once"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "initContainers": []any{map[string]any{"name": "first", "image": "i"}}, "containers": []any{map[string]any{"name": "c", "image": "i"}},
		}}},
	})
	if code != http.StatusCreated {
		t.Fatalf("create gives %d: %v", code, answer)
	}
	eventually(t, 30*time.Second, func() string {
		_, job := call(t, load, "GET", "/apis/batch/v1/namespaces/default/jobs/once", nil)
		if got := field(job, "status", "succeeded"); got != float64(1) {
			return fmt.Sprintf("status is %v", field(job, "status"))
		}
		return ""
	})
}

// checkGarbage deletes a deployment, whose pods must follow.
func checkGarbage(t *testing.T, load *rest.Config) {
	if code, answer := call(t, load, "DELETE", "/apis/apps/v1/namespaces/default/deployments/web", nil); code != http.StatusOK {
		t.Fatalf("delete gives %d: %v", code, answer)
	}
	eventually(t, 30*time.Second, func() string {
		if left := list(t, load, "/api/v1/namespaces/default/pods?labelSelector=app=web"); len(left) > 0 {
			return fmt.Sprintf("%d pods are left", len(left))
		}
		return ""
	})
}

func checkNamespaceGoes(t *testing.T, load *rest.Config) {
	if code, answer := call(t, load, "POST", "/api/v1/namespaces", map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "short"},
	}); code != http.StatusCreated {
		t.Fatalf("create gives %d: %v", code, answer)
	}
	eventually(t, 30*time.Second, func() string {
		if code, _ := call(t, load, "GET", "/api/v1/namespaces/short/serviceaccounts/default", nil); code != http.StatusOK {
			return fmt.Sprintf("its service account gives %d", code)
		}
		return ""
	})
	makeDeployment(t, load, "short", "web", 3)
	awaitAvailable(t, load, "short", "web", 3, 30*time.Second)
	if code, answer := call(t, load, "DELETE", "/api/v1/namespaces/short", nil); code != http.StatusOK {
		t.Fatalf("delete gives %d: %v", code, answer)
	}
	eventually(t, 60*time.Second, func() string {
		if code, ns := call(t, load, "GET", "/api/v1/namespaces/short", nil); code != http.StatusNotFound {
			return fmt.Sprintf("it is there: %v", field(ns, "status"))
		}
		return ""
	})
}

// checkControlMetrics reads all metrics, as a sampler does.
func checkControlMetrics(t *testing.T, tg *Target) {
	want := map[string]string{
		controllerManagerPart: "rest_client_requests_total", schedulerPart: "rest_client_requests_total", kwokPart: "process_cpu_seconds_total",
		etcdPart: "", apiserverPart: "",
	}
	for _, e := range tg.Endpoints() {
		start := time.Now()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "text/plain;version=0.0.4,*/*;q=0.1")
		response, err := e.Client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		t.Logf("%s: %d bytes in %s", e.Component, len(text), time.Since(start))
		if response.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(want[e.Component])) {
			t.Errorf("%s at %s: %s, %d bytes", e.Component, e.URL, response.Status, len(text))
		}
		delete(want, e.Component)
	}
	if len(want) != 0 {
		t.Errorf("no endpoint for %v", want)
	}
}

// checkHeartbeats wants each node's lease to be renewed.
func checkHeartbeats(t *testing.T, load *rest.Config) {
	renewals := func() map[any]any {
		all := map[any]any{}
		for _, lease := range list(t, load, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases") {
			all[field(lease, "metadata", "name")] = field(lease, "spec", "renewTime")
		}
		return all
	}
	before := renewals()
	if len(before) != 10 {
		t.Errorf("there are %d leases", len(before))
	}
	eventually(t, 25*time.Second, func() string {
		for name, renewed := range renewals() {
			if before[name] == renewed {
				return fmt.Sprintf("the lease of %v was not renewed", name)
			}
		}
		return ""
	})
}

// checkBareNode makes a node that nobody has declared ready.
func checkBareNode(t *testing.T, load *rest.Config) {
	if code, answer := call(t, load, "POST", "/api/v1/nodes", map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "bare"},
	}); code != http.StatusCreated {
		t.Fatalf("create gives %d: %v", code, answer)
	}
	eventually(t, 20*time.Second, func() string {
		_, node := call(t, load, "GET", "/api/v1/nodes/bare", nil)
		if field(node, "status", "allocatable", "pods") != "110" || field(node, "spec", "taints") != nil {
			return fmt.Sprintf("it is %v with taints %v", field(node, "status"), field(node, "spec", "taints"))
		}
		return ""
	})
}

// checkControlLogs looks for errors that repeat for as long as a run lasts. That
// a controller waits for what it has written itself is none.
func checkControlLogs(t *testing.T, o Options) {
	for _, part := range []string{controllerManagerPart, schedulerPart, kwokPart} {
		text, err := os.ReadFile(filepath.Join(o.LogDir, part+".log"))
		if err != nil {
			t.Fatal(err)
		}
		errors := 0
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "is not as new as written version") {
				continue
			}
			if strings.HasPrefix(line, "E") || strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, "level=ERROR") {
				t.Logf("%s: %s", part, strings.TrimSpace(line))
				errors++
			}
		}
		if errors > 5 {
			t.Errorf("%s has logged %d errors", part, errors)
		}
	}
}

// BenchmarkPods is the time until a deployment's pods are all available.
func BenchmarkPods(b *testing.B) {
	scheduler := v1alpha1.Flags{"kube-api-qps": 1000, "kube-api-burst": 2000}
	controllers := v1alpha1.Flags{"kube-api-qps": 1000, "kube-api-burst": 2000, "concurrent-replicaset-syncs": 20}
	for _, row := range []struct {
		name                         string
		pods, deployments            int
		controllerManager, scheduler v1alpha1.Flags
	}{
		{"100 by defaults", 100, 1, nil, nil},
		{"1000 in one deployment", 1000, 1, controllers, scheduler},
		{"1000 in 20 deployments", 1000, 20, controllers, scheduler},
	} {
		b.Run(row.name, func(b *testing.B) {
			spec := controlPlane(20)
			spec.KubeControllerManager.Flags, spec.KubeScheduler.Flags = row.controllerManager, row.scheduler
			tg := boot(b, options(b, spec))
			load := configOf(b, tg, target.Load)
			b.ResetTimer() // the boot does not count
			for round := range b.N {
				name := func(i int) string { return fmt.Sprintf("web-%d-%d", round, i) }
				for i := range row.deployments {
					makeDeployment(b, load, "default", name(i), row.pods/row.deployments)
				}
				for i := range row.deployments {
					awaitAvailable(b, load, "default", name(i), row.pods/row.deployments, 5*time.Minute)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(row.pods*b.N)/b.Elapsed().Seconds(), "pods/s")
		})
	}
}

// list gives the items of a collection.
func list(t testing.TB, config *rest.Config, path string) (items []map[string]any) {
	t.Helper()
	_, answer := call(t, config, "GET", path, nil)
	all, _ := answer["items"].([]any)
	for _, item := range all {
		items = append(items, item.(map[string]any))
	}
	return items
}

// field gives what is at a path of keys; nil if nothing is.
func field(object map[string]any, path ...string) any {
	var value any = object
	for _, key := range path {
		m, _ := value.(map[string]any)
		value = m[key]
	}
	return value
}

// eventually waits until a check has no complaint.
func eventually(t testing.TB, timeout time.Duration, check func() string) {
	t.Helper()
	start := time.Now()
	for {
		complaint := check()
		if complaint == "" {
			t.Logf("after %s", time.Since(start).Round(time.Millisecond))
			return
		}
		if time.Since(start) > timeout {
			t.Fatalf("not within %s: %s", timeout, complaint)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestKwokConfiguration(t *testing.T) {
	text, err := kwokConfiguration(v1alpha1.Flags{"podPlayStageParallelism": 16, "nodeLeaseParallelism": nil})
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(text, "\n---\n")
	if !strings.Contains(first, `"podPlayStageParallelism":16`) || !strings.Contains(first, `"nodePlayStageParallelism":4`) || strings.Contains(first, "nodeLeaseParallelism") {
		t.Errorf("configuration is %s", first)
	}
	if n := strings.Count(rest, "kind: Stage"); n != 5 {
		t.Errorf("there are %d stages", n)
	}
}

func TestNodeAddresses(t *testing.T) {
	for i, want := range map[int]string{0: "10.64.0.0", 255: "10.64.0.255", 256: "10.64.1.0", 70000: "10.65.17.112"} {
		if got := nodeIP(i); got != want {
			t.Errorf("node %d has %s", i, got)
		}
	}
}
