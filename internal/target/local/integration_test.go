package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/process"
	"plimsoll.dev/plimsoll/internal/target"
)

// These tests boot the real parts; the first run builds them.

func options(t testing.TB, spec v1alpha1.LocalTarget) Options {
	t.Helper()
	if testing.Short() {
		t.Skip("boots real parts")
	}
	finder := &assets.Finder{Progress: func(e assets.Event) {
		if e.Phase == assets.Linking {
			t.Logf("built %s %s in %s", e.Part, e.Version, e.Elapsed)
		}
	}}
	dir := t.TempDir()
	return Options{Spec: spec, Dir: filepath.Join(dir, "work"), LogDir: filepath.Join(dir, "logs"), Binaries: finder}
}

func boot(t testing.TB, o Options) *Target {
	t.Helper()
	for _, part := range Parts(o.Spec) { // outside of the time
		if _, err := o.Binaries.Find(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	tg, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %s", time.Since(start).Round(time.Millisecond))
	t.Cleanup(func() { _ = tg.Close(context.Background()) })
	return tg
}

// call makes a request as the identity and decodes its answer.
func call(t testing.TB, config *rest.Config, method, path string, body any) (int, map[string]any) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer
}

func configOf(t testing.TB, tg *Target, id target.Identity) *rest.Config {
	t.Helper()
	config, err := tg.RESTConfig(id)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func groupsOf(t *testing.T, config *rest.Config) string {
	t.Helper()
	_, review := call(t, config, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
		map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
	status, _ := review["status"].(map[string]any)
	return fmt.Sprint(status["userInfo"])
}

func TestOneMember(t *testing.T) {
	data := t.TempDir()
	o := options(t, v1alpha1.LocalTarget{
		Datastore: v1alpha1.Datastore{Etcd: &v1alpha1.Etcd{DataDir: data, Flags: v1alpha1.Flags{"snapshot-count": float64(20000)}}},
		KubeAPIServer: v1alpha1.KubeAPIServer{Flags: v1alpha1.Flags{
			"max-requests-inflight": "123", "allow-privileged": nil, "service-cluster-ip-range": "10.97.0.0/16",
		}},
	})
	tg := boot(t, o)
	t.Run("identities", func(t *testing.T) { checkIdentities(t, tg) })
	t.Run("objects", func(t *testing.T) { checkObjects(t, tg) })
	t.Run("kubeconfig", func(t *testing.T) { checkKubeconfig(t, tg) })
	t.Run("endpoints", func(t *testing.T) { checkEndpoints(t, tg) })
	t.Run("description", func(t *testing.T) { checkDescription(t, tg, data) })
	t.Run("quiet logs", func(t *testing.T) { checkLogs(t, o) })
	t.Run("close", func(t *testing.T) {
		checkClose(t, tg, o)
		if left, _ := os.ReadDir(data); len(left) != 0 {
			t.Errorf("left in the data folder: %v", left)
		}
	})
}

func checkIdentities(t *testing.T, tg *Target) {
	if who := groupsOf(t, configOf(t, tg, target.Admin)); !strings.Contains(who, "system:masters") {
		t.Errorf("admin is %s", who)
	}
	who := groupsOf(t, configOf(t, tg, target.Load))
	if strings.Contains(who, "system:masters") || !strings.Contains(who, "plimsoll:load") || !strings.Contains(who, "username:plimsoll-load") {
		t.Errorf("load is %s", who)
	}
	if _, err := tg.RESTConfig("nobody"); err == nil {
		t.Error("there is an identity nobody")
	}
	anyone := rest.AnonymousClientConfig(configOf(t, tg, target.Load))
	if code, _ := call(t, anyone, "GET", "/api/v1/configmaps", nil); code != http.StatusForbidden {
		t.Errorf("a list without a certificate gives %d", code)
	}
}

func checkObjects(t *testing.T, tg *Target) {
	load := configOf(t, tg, target.Load)
	for i := range 3 {
		code, answer := call(t, load, "POST", "/api/v1/namespaces/default/configmaps", map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprint("thing-", i)}, "data": map[string]any{"k": "v"},
		})
		if code != http.StatusCreated {
			t.Fatalf("create gives %d: %v", code, answer)
		}
	}
	_, list := call(t, load, "GET", "/api/v1/namespaces/default/configmaps?limit=2", nil)
	if items, _ := list["items"].([]any); len(items) != 2 {
		t.Errorf("a page of 2 has %d", len(items))
	}
}

func checkKubeconfig(t *testing.T, tg *Target) {
	path, err := tg.Kubeconfig(target.Admin)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v", info.Mode(), err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if who := groupsOf(t, config); !strings.Contains(who, "system:masters") {
		t.Errorf("the kubeconfig is for %s", who)
	}
}

func checkEndpoints(t *testing.T, tg *Target) {
	want := map[string]string{"etcd": "etcd_disk_wal_fsync_duration_seconds_count", apiserverPart: "apiserver_request_total"}
	for _, e := range tg.Endpoints() {
		response, err := e.Client.Get(e.URL)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(want[e.Component])) {
			t.Errorf("%s at %s: %s, %d bytes", e.Component, e.URL, response.Status, len(text))
		}
		delete(want, e.Component)
	}
	if len(want) != 0 {
		t.Errorf("no endpoint for %v", want)
	}
}

func checkDescription(t *testing.T, tg *Target, data string) {
	d, err := tg.Describe(t.Context())
	if err != nil || len(d.Components) != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, c := range d.Components {
		if !strings.HasPrefix(c.Version, "v") || len(c.SHA256) != 64 || c.Source == "" || c.PID == 0 || c.Log == "" {
			t.Errorf("%+v", c)
		}
	}
	etcd, api := strings.Join(d.Components[0].Args, " "), strings.Join(d.Components[1].Args, " ")
	for _, want := range []string{"--snapshot-count=20000", "--data-dir=" + data, "--client-cert-auth=true", "--peer-client-cert-auth=true"} {
		if !strings.Contains(etcd, want) {
			t.Errorf("no %s in %s", want, etcd)
		}
	}
	if strings.Contains(etcd, "fsync") {
		t.Errorf("fsync is touched: %s", etcd)
	}
	for _, want := range []string{"--max-requests-inflight=123", "--service-cluster-ip-range=10.97.0.0/16", "--authorization-mode=Node,RBAC"} {
		if !strings.Contains(api, want) {
			t.Errorf("no %s in %s", want, api)
		}
	}
	for _, not := range []string{"allow-privileged", "10.96", "audit", "priority-and-fairness"} {
		if strings.Contains(api, not) {
			t.Errorf("%s in %s", not, api)
		}
	}
}

// checkLogs looks for errors that would repeat for as long as a run lasts.
func checkLogs(t *testing.T, o Options) {
	text, err := os.ReadFile(filepath.Join(o.LogDir, apiserverPart+".log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "E") {
			t.Logf("error in the log: %s", strings.TrimSpace(line))
		}
	}
}

func checkClose(t *testing.T, tg *Target, o Options) {
	processes := tg.Processes()
	start := time.Now()
	if err := tg.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("closed after %s", time.Since(start).Round(time.Millisecond))
	for _, p := range processes {
		if err := syscall.Kill(p.PID, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s is still there: %v", p.Component, err)
		}
	}
	if left, _ := os.ReadDir(o.Dir); len(left) != 0 {
		t.Errorf("left in the working folder: %v", left)
	}
	if logs, _ := os.ReadDir(o.LogDir); len(logs) != len(processes) {
		t.Errorf("logs: %v", logs)
	}
	select {
	case err := <-tg.Failed():
		t.Errorf("an asked-for exit was reported as a failure: %v", err)
	default:
	}
	if err := tg.Close(t.Context()); err != nil || len(tg.Processes()) != 0 {
		t.Errorf("second close: %v, processes %v", err, tg.Processes())
	}
}

func TestThreeMembers(t *testing.T) {
	o := options(t, v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Etcd: &v1alpha1.Etcd{Members: 3}}})
	tg := boot(t, o)
	checkObjects(t, tg)
	var names []string
	for _, p := range tg.Processes() {
		names = append(names, p.Component)
	}
	if want := []string{"etcd-1", "etcd-2", "etcd-3", apiserverPart}; !slices.Equal(names, want) {
		t.Errorf("processes are %v", names)
	}
	for _, e := range tg.Endpoints() {
		if err := probe(t.Context(), e.Client, e.URL); err != nil {
			t.Error(err)
		}
	}
	checkClose(t, tg, o)
}

// A leader that loses its power costs three members nothing that was written, and it comes back.
func TestTheLeaderIsKilledAndStartedAgain(t *testing.T) {
	tg := boot(t, options(t, v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Etcd: &v1alpha1.Etcd{Members: 3}}}))
	checkObjects(t, tg)
	before, err := tg.leader()
	if err != nil {
		t.Fatal(err)
	}
	kill, err := tg.Kill(v1alpha1.EtcdLeader)
	if err != nil {
		t.Fatal(err)
	}
	if err := kill.Begin(); err != nil {
		t.Fatal(err)
	}
	if kill.Component() != before {
		t.Errorf("%s was killed, but %s led", kill.Component(), before)
	}
	after, err := tg.leader()
	if err != nil || after == before {
		t.Errorf("%s leads now, %v", after, err)
	}
	if processes := tg.Processes(); len(processes) != 3 || slices.ContainsFunc(processes, func(p target.Process) bool { return p.Component == before }) {
		t.Errorf("processes are %v", processes)
	}
	load := configOf(t, tg, target.Load)
	eventually(t, 30*time.Second, func() string { // an API server may have watched at the one that is gone
		code, _ := call(t, load, "POST", "/api/v1/namespaces/default/configmaps", map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "without-" + before},
		})
		if code != http.StatusCreated && code != http.StatusConflict {
			return fmt.Sprintf("a write gives %d", code)
		}
		return ""
	})
	for range 2 {
		if err := kill.End(); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range tg.Endpoints() {
		if err := probe(t.Context(), e.Client, e.URL); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-tg.Failed():
		t.Errorf("a declared fault counts as a failure: %v", err)
	default:
	}
	_ = syscall.Kill(pidOf(tg, before), syscall.SIGKILL)
	select {
	case <-tg.Failed():
	case <-time.After(noticed):
		t.Error("nobody looks after the one that was started again")
	}
}

// noticed is how long it may take, on a busy machine, until an exit is noticed that is told of at once.
const noticed = 10 * time.Second

func pidOf(tg *Target, component string) int {
	for _, p := range tg.Processes() {
		if p.Component == component {
			return p.PID
		}
	}
	return 0
}

func TestKilledComponentIsNoticed(t *testing.T) {
	for _, victim := range []string{etcdPart, apiserverPart} {
		t.Run(victim, func(t *testing.T) {
			o := options(t, v1alpha1.LocalTarget{})
			tg := boot(t, o)
			for _, p := range tg.Processes() {
				if p.Component == victim {
					_ = syscall.Kill(p.PID, syscall.SIGKILL)
				}
			}
			select {
			case err := <-tg.Failed():
				if exit := (&process.ExitError{}); !errors.As(err, &exit) || exit.Name != victim {
					t.Errorf("failure is %v", err)
				}
			case <-time.After(noticed):
				t.Error("not noticed")
			}
			start := time.Now()
			if err := tg.Close(t.Context()); err != nil {
				t.Error(err)
			}
			t.Logf("closed after %s", time.Since(start).Round(time.Millisecond))
		})
	}
}

func TestWrongFlag(t *testing.T) {
	for _, row := range []struct {
		name string
		spec v1alpha1.LocalTarget
		want []string
	}{
		{"of etcd", v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Etcd: &v1alpha1.Etcd{Flags: v1alpha1.Flags{"nonsense": "1"}}}},
			[]string{"etcd (process", "it does not know a flag", "-nonsense", "etcd.log"}},
		{"of the API server", v1alpha1.LocalTarget{KubeAPIServer: v1alpha1.KubeAPIServer{Flags: v1alpha1.Flags{"nonsense": "1"}}},
			[]string{"kube-apiserver (process", "unknown flag: --nonsense", "kube-apiserver.log"}},
		{"value of the API server", v1alpha1.LocalTarget{KubeAPIServer: v1alpha1.KubeAPIServer{Flags: v1alpha1.Flags{"max-requests-inflight": "many"}}},
			[]string{"max-requests-inflight", "many"}},
		{"of the controller manager", v1alpha1.LocalTarget{KubeControllerManager: &v1alpha1.KubeControllerManager{Flags: v1alpha1.Flags{"nonsense": "1"}}},
			[]string{"kube-controller-manager (process", "unknown flag: --nonsense", "kube-controller-manager.log"}},
		{"of kwok", v1alpha1.LocalTarget{Kwok: &v1alpha1.Kwok{Flags: v1alpha1.Flags{"nonsense": "1"}}},
			[]string{"kwok (process", "unknown flag: --nonsense", "kwok.log"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := options(t, row.spec)
			start := time.Now()
			_, err := Start(t.Context(), o)
			if err == nil {
				t.Fatal("started")
			}
			t.Logf("after %s: %v", time.Since(start), err)
			for _, want := range append(row.want, "\n  | ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
			if left, _ := os.ReadDir(o.Dir); len(left) != 0 {
				t.Errorf("left in the working folder: %v", left)
			}
		})
	}
}

func TestTakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for name, spec := range map[string]v1alpha1.LocalTarget{
		"etcd":           {Datastore: v1alpha1.Datastore{Etcd: &v1alpha1.Etcd{Port: port}}},
		"kube-apiserver": {KubeAPIServer: v1alpha1.KubeAPIServer{Port: port}},
	} {
		_, err := Start(t.Context(), options(t, spec))
		for _, want := range []string{fmt.Sprintf("port %d", port), name, fmt.Sprintf("process %d (", os.Getpid())} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in: %v", want, err)
			}
		}
	}
}

func TestChosenPorts(t *testing.T) {
	chosen, err := choosePorts(v1alpha1.LocalTarget{})
	if err != nil {
		t.Fatal(err)
	}
	free := chosen[0]
	spec := v1alpha1.LocalTarget{
		Datastore:     v1alpha1.Datastore{Etcd: &v1alpha1.Etcd{Port: free.etcdClients[0]}},
		KubeAPIServer: v1alpha1.KubeAPIServer{Port: free.apiserver},
	}
	tg := boot(t, options(t, spec))
	if host := configOf(t, tg, target.Admin).Host; host != loopback(free.apiserver) {
		t.Errorf("serves on %s", host)
	}
}

func TestCancelledStartIsUndone(t *testing.T) {
	o := options(t, v1alpha1.LocalTarget{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel)
	start := time.Now()
	if _, err := Start(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
	if left, _ := os.ReadDir(o.Dir); len(left) != 0 {
		t.Errorf("left in the working folder: %v", left)
	}
}

func TestMissingDataFolderIsNotMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "no", "such")
	_, err := Start(t.Context(), options(t, v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Etcd: &v1alpha1.Etcd{DataDir: dir}}}))
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error is %v", err)
	}
}
