package fill

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/object"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/target/local"
)

// These tests boot the real parts; the first run builds them.

const runID = "20260101-000000-1"

func boot(t testing.TB, etcd v1.Flags) *local.Target {
	t.Helper()
	if testing.Short() {
		t.Skip("boots real parts")
	}
	dir := t.TempDir()
	tg, err := local.Start(t.Context(), local.Options{
		Spec: v1.LocalTarget{Datastore: v1.Datastore{Etcd: &v1.Etcd{Members: 1, Flags: etcd}}},
		Dir:  filepath.Join(dir, "work"), LogDir: filepath.Join(dir, "logs"), Binaries: &assets.Finder{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tg.Close(context.Background()) })
	return tg
}

// fillUp runs a fill and gives how many objects it counted.
func fillUp(t testing.TB, tg *local.Target, fill v1.Fill, from int) (int64, error) {
	t.Helper()
	if fill.Clients == 0 {
		fill.Clients = 16
	}
	var made atomic.Int64
	err := Run(t.Context(), Options{API: tg, Datastore: tg, Fill: fill, RunID: runID, Seed: 7, From: from, Made: &made})
	return made.Load(), err
}

func mustFill(t testing.TB, tg *local.Target, fill v1.Fill) {
	t.Helper()
	started := time.Now()
	made, err := fillUp(t, tg, fill, 0)
	if err != nil {
		t.Fatal(err)
	}
	if made != int64(fill.Count) {
		t.Errorf("counted %d of %d", made, fill.Count)
	}
	t.Logf("filled %d in %s", fill.Count, time.Since(started).Round(time.Millisecond))
}

func clientset(t *testing.T, tg *local.Target) *kubernetes.Clientset {
	t.Helper()
	config, err := tg.RESTConfig(target.Admin)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

const podTemplate = `
apiVersion: v1
kind: Pod
metadata:
  labels: {app: "app-{{mod .Index 10}}"}
  annotations: {plain: "{{.Name}} in {{.Namespace}}"}
spec:
  nodeName: node-{{mod .Index 3}}
  containers:
  - name: main
    image: registry.k8s.io/pause:3.10
    env: [{name: INDEX, value: "{{.Index}}"}]
    resources: {requests: {cpu: 10m, memory: 16Mi}}
`

func TestThroughDatastoreOfARealControlPlane(t *testing.T) {
	tg := boot(t, nil)
	t.Run("configmaps", func(t *testing.T) { checkConfigMaps(t, tg) })
	t.Run("secrets", func(t *testing.T) { checkSecrets(t, tg) })
	t.Run("pods", func(t *testing.T) { checkPods(t, tg) })
	t.Run("resume", func(t *testing.T) { checkResume(t, tg) })
	t.Run("kinds", func(t *testing.T) { checkKinds(t, tg) })
	t.Run("refusals", func(t *testing.T) { checkRefusals(t, tg) })
}

func checkConfigMaps(t *testing.T, tg *local.Target) {
	const count = 2000
	objects := v1.Objects{Resource: v1.ConfigMaps, Namespace: "maps", Payload: 10 << 10}
	mustFill(t, tg, v1.Fill{Objects: objects, Count: count, Through: v1.ThroughDatastore})
	maps := clientset(t, tg).CoreV1().ConfigMaps("maps")
	list, err := maps.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}) // from the cache
	if err != nil || len(list.Items) != count {
		t.Fatalf("the cache shows %d of %d: %v", len(list.Items), count, err)
	}
	uids := map[string]bool{}
	for _, item := range list.Items {
		uids[string(item.UID)] = true
		if len(item.Data["data"]) != 13656 || item.Labels[object.RunLabel] != runID || item.CreationTimestamp.IsZero() {
			t.Fatalf("%s has %d characters, labels %v, created %s", item.Name, len(item.Data["data"]), item.Labels, item.CreationTimestamp)
		}
	}
	if len(uids) != count {
		t.Errorf("%d uids of %d objects", len(uids), count)
	}
	one := list.Items[17]
	one.Data["data"] = "other"
	updated, err := maps.Update(t.Context(), &one, metav1.UpdateOptions{})
	if err != nil || updated.Data["data"] != "other" || updated.UID != one.UID {
		t.Errorf("an update gives %v, %v", updated, err)
	}
	if err := maps.Delete(t.Context(), "plimsoll-000018", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if left, err := maps.List(t.Context(), metav1.ListOptions{}); err != nil || len(left.Items) != count-1 {
		t.Errorf("%d are left after a deletion: %v", len(left.Items), err)
	}
}

func checkSecrets(t *testing.T, tg *local.Target) {
	objects := v1.Objects{Resource: v1.Secrets, Namespace: "secret", Namespaces: 12, Payload: 4}
	mustFill(t, tg, v1.Fill{Objects: objects, Count: 1000, Through: v1.ThroughDatastore})
	all, err := clientset(t, tg).CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]int{}
	for _, secret := range all.Items {
		in[secret.Namespace]++
		if string(secret.Data["data"]) != "aaaa" || secret.Type != corev1.SecretTypeOpaque {
			t.Fatalf("secret %s is of type %s, with %q", secret.Name, secret.Type, secret.Data["data"])
		}
	}
	if len(in) != 12 || in["secret-0"] != 84 || in["secret-11"] != 83 {
		t.Errorf("secrets are in namespaces %v", in)
	}
}

func checkPods(t *testing.T, tg *local.Target) {
	mustFill(t, tg, v1.Fill{Objects: v1.Objects{Template: podTemplate, Namespace: "pods"}, Count: 200, Through: v1.ThroughDatastore})
	client := clientset(t, tg).CoreV1().Pods("pods")
	list, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: "app=app-4"})
	if err != nil || len(list.Items) != 20 {
		t.Fatalf("%d pods have the label: %v", len(list.Items), err)
	}
	for _, row := range []struct{ name, node, index string }{{"plimsoll-000000", "node-0", "0"}, {"plimsoll-000104", "node-2", "104"}} {
		pod, err := client.Get(t.Context(), row.name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c := pod.Spec.Containers[0]
		if pod.Spec.NodeName != row.node || c.Env[0].Value != row.index || pod.Annotations["plain"] != row.name+" in pods" {
			t.Errorf("pod %s is on %s, with %v and %v", row.name, pod.Spec.NodeName, c.Env, pod.Annotations)
		}
		if c.TerminationMessagePath == "" || pod.Spec.RestartPolicy == "" || pod.Spec.ServiceAccountName != "default" || pod.Status.Phase != corev1.PodPending {
			t.Errorf("pod %s lacks defaults: %+v", row.name, pod)
		}
		if len(c.VolumeMounts) != 1 {
			t.Errorf("pod %s lacks what admission adds: %v", row.name, c.VolumeMounts)
		}
	}
}

// checkResume has three fills in one namespace, each with gaps to close.
func checkResume(t *testing.T, tg *local.Target) {
	objects := v1.Objects{Resource: v1.ConfigMaps, Namespace: "resumed", Payload: 4}
	maps := clientset(t, tg).CoreV1().ConfigMaps("resumed")
	mustFill(t, tg, v1.Fill{Objects: objects, Count: 250, Through: v1.ThroughAPI})
	before, err := maps.Get(t.Context(), "plimsoll-000249", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, gap := range []string{"plimsoll-000000", "plimsoll-000123"} {
		if err := maps.Delete(t.Context(), gap, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	mustFill(t, tg, v1.Fill{Objects: objects, Count: 600, Through: v1.ThroughDatastore})
	mustFill(t, tg, v1.Fill{Objects: objects, Count: 600, Through: v1.ThroughDatastore})
	mustFill(t, tg, v1.Fill{Objects: objects, Count: 620, Through: v1.ThroughAPI})
	if made, err := fillUp(t, tg, v1.Fill{Objects: objects, Count: 700, Through: v1.ThroughDatastore}, 620); err != nil || made != 700 {
		t.Errorf("a fill from 620 counted %d: %v", made, err)
	}
	after, err := maps.Get(t.Context(), "plimsoll-000249", metav1.GetOptions{})
	if err != nil || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("an object that was there was touched: %v", err)
	}
	list, err := maps.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 700 {
		t.Errorf("%d objects: %v", len(list.Items), err)
	}
}

// checkKinds fills with kinds whose storage has a way of its own.
func checkKinds(t *testing.T, tg *local.Target) {
	client := clientset(t, tg)
	for _, text := range []string{
		"apiVersion: v1\nkind: Node\nmetadata: {labels: {zone: z}}\n",
		"apiVersion: v1\nkind: Service\nspec: {clusterIP: None, selector: {app: x}, ports: [{port: 80}]}\n",
		"apiVersion: apps/v1\nkind: Deployment\nspec:\n  selector: {matchLabels: {app: x}}\n  template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: i}]}}\n",
		"apiVersion: batch/v1\nkind: Job\nspec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n",
		"apiVersion: coordination.k8s.io/v1\nkind: Lease\nspec: {holderIdentity: \"h-{{.Index}}\"}\n",
		"apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\nendpoints: [{addresses: [10.0.0.{{mod .Index 250}}]}]\n",
		"apiVersion: v1\nkind: Event\ninvolvedObject: {kind: Pod, namespace: \"{{.Namespace}}\", name: x}\n",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nrules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]\n",
	} {
		mustFill(t, tg, v1.Fill{Objects: v1.Objects{Template: text, Namespace: "kinds"}, Count: 110, Through: v1.ThroughDatastore})
	}
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil || len(nodes.Items) != 110 || nodes.Items[7].Labels["zone"] != "z" {
		t.Errorf("%d nodes: %v", len(nodes.Items), err)
	}
	jobs, err := client.BatchV1().Jobs("kinds").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(jobs.Items) != 110 {
		t.Fatalf("%d jobs: %v", len(jobs.Items), err)
	}
	for _, job := range jobs.Items {
		labels := job.Spec.Selector.MatchLabels
		if labels["batch.kubernetes.io/controller-uid"] != string(job.UID) || job.Spec.Template.Labels["batch.kubernetes.io/job-name"] != job.Name {
			t.Fatalf("job %s %s would find its pods by %v", job.Name, job.UID, labels)
		}
	}
	deployments, err := client.AppsV1().Deployments("kinds").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(deployments.Items) != 110 || *deployments.Items[3].Spec.RevisionHistoryLimit != 10 {
		t.Errorf("%d deployments: %v", len(deployments.Items), err)
	}
}

func checkRefusals(t *testing.T, tg *local.Target) {
	for _, row := range []struct{ name, template, want string }{
		{"a field that is not valid", "apiVersion: v1\nkind: Pod\nspec: {containers: []}\n", "spec.containers: Required value"},
		{"services with addresses", "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80}]}\n", "use through: api, or clusterIP: None"},
	} {
		fill := v1.Fill{Objects: v1.Objects{Template: row.template, Namespace: "refused"}, Count: 5, Through: v1.ThroughDatastore}
		if made, err := fillUp(t, tg, fill, 0); err == nil || !strings.Contains(err.Error(), row.want) || made != 0 {
			t.Errorf("%s: made %d, error is %v", row.name, made, err)
		}
	}
}

func TestEtcdThatIsFull(t *testing.T) {
	tg := boot(t, v1.Flags{"quota-backend-bytes": "16777216"})
	for _, through := range []v1.Way{v1.ThroughDatastore, v1.ThroughAPI} {
		objects := v1.Objects{Resource: v1.ConfigMaps, Namespace: "full", Payload: 10 << 10}
		made, err := fillUp(t, tg, v1.Fill{Objects: objects, Count: 5000, Through: through}, 0)
		if err == nil || !strings.Contains(err.Error(), "database space exceeded") || !strings.Contains(err.Error(), "raise quota-backend-bytes") {
			t.Errorf("through %s: made %d, error is %v", through, made, err)
		}
		t.Log(err)
	}
}
