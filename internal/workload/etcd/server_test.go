package etcd

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/process"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
)

// server is a real etcd, without TLS.
type server struct {
	endpoint string
	process  *process.Process
}

func (s server) Etcd() ([]string, *tls.Config) { return []string{s.endpoint}, nil }

// cluster is a real etcd of several members.
type cluster []server

func (c cluster) Etcd() (endpoints []string, config *tls.Config) {
	for _, member := range c {
		endpoints = append(endpoints, member.endpoint)
	}
	return endpoints, nil
}

// startEtcd boots a real etcd; the first run builds it.
func startEtcd(t testing.TB, flags ...string) server {
	t.Helper()
	return startCluster(t, 1, flags...)[0]
}

// startCluster boots members that find each other.
func startCluster(t testing.TB, members int, flags ...string) cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("boots real parts")
	}
	binary, err := (&assets.Finder{}).Find(t.Context(), "etcd")
	if err != nil {
		t.Fatal(err)
	}
	var peers, initial []string
	for i := range members {
		peers = append(peers, freeURL(t))
		initial = append(initial, fmt.Sprintf("m%d=%s", i, peers[i]))
	}
	c := make(cluster, members)
	var starts errgroup.Group
	for i := range c {
		client := freeURL(t)
		args := append([]string{
			fmt.Sprintf("--name=m%d", i), "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peers[i], "--initial-advertise-peer-urls=" + peers[i], "--initial-cluster=" + strings.Join(initial, ","),
		}, flags...)
		starts.Go(func() (err error) { // none is ready before most of them are there
			c[i], err = startMember(t, binary.Path, client, args)
			return err
		})
	}
	if err := starts.Wait(); err != nil {
		t.Fatal(err)
	}
	return c
}

// startMember starts a process with data of its own, and waits until it is ready.
func startMember(t testing.TB, path, client string, args []string) (server, error) {
	dir := t.TempDir()
	p, err := process.Start(t.Context(), process.Spec{
		Name: "etcd", Path: path, Args: append(args, "--data-dir="+filepath.Join(dir, "data")), LogPath: filepath.Join(dir, "log"),
		Ready: func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, client+"/health", nil)
			if err != nil {
				return err
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("health is %s", response.Status)
			}
			return nil
		},
	})
	if err != nil {
		return server{}, err
	}
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
	return server{client, p}, nil
}

func freeURL(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

// signal sends a signal to the server.
func (s server) signal(t testing.TB, name string) {
	t.Helper()
	if output, err := exec.Command("kill", "-"+name, fmt.Sprint(s.process.PID())).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
}

// freeze stops the server, and returns when the last of its threads stands still: one that runs on another CPU
// could still answer a request.
func (s server) freeze(t testing.TB) {
	t.Helper()
	s.signal(t, "STOP")
	eventually(t, "the server stands still", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.process.PID()))
		if err != nil || len(threads) == 0 {
			t.Fatalf("no threads of the server: %v", err)
		}
		return !slices.ContainsFunc(threads, func(thread string) bool {
			stat, err := os.ReadFile(thread)
			return err == nil && !strings.Contains(string(stat), ") T ")
		})
	})
}

// eventually waits for what the server does in its own time.
func eventually(t testing.TB, what string, isSo func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !isSo(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}

// scenario gives a phase's workload with the defaults of a document.
func scenario(o v1.EtcdWorkload, iterations int) v1.EtcdWorkload {
	s := v1.Scenario{Spec: v1.Spec{Steps: []v1.Step{{Phases: []v1.Phase{{
		Load: v1.Load{Closed: &v1.ClosedLoad{Clients: 1, Iterations: iterations}}, Etcd: &o,
	}}}}}}
	s.Default()
	return o
}

func options(s target.Datastore, o v1.EtcdWorkload) Options {
	return Options{Datastore: s, Phase: "phase", RunID: "run", Connections: 1, Timeout: 10 * time.Second, Operation: o, Seed: 1}
}

// prepared gives a prepared workload, which ends with the test.
func prepared(t testing.TB, o Options) workload.Workload {
	t.Helper()
	w := New(o)
	if err := w.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func dialled(t testing.TB, w workload.Workload, index int) workload.Client {
	t.Helper()
	c, err := w.Dial(t.Context(), index, rand.New(rand.NewPCG(1, uint64(index))))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parts keeps what an operation's parts came to.
type parts struct {
	mu    sync.Mutex
	kinds map[string][]workload.Result
	took  []time.Duration
	after func() // is called after each part, if there is one
}

func newParts() *parts { return &parts{kinds: map[string][]workload.Result{}} }

func (p *parts) Part(ctx context.Context, kind string, do func(context.Context) workload.Result) workload.Result {
	r := do(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kinds[kind] = append(p.kinds[kind], r)
	if p.after != nil {
		p.after()
	}
	return r
}

func (p *parts) Took(kind string, took time.Duration, r workload.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kinds[kind] = append(p.kinds[kind], r)
	p.took = append(p.took, took)
}

// events is how many events have been timed.
func (p *parts) events() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.took)
}

// perform does n operations and gives how they ended; fewer, if the client has no more.
func perform(t testing.TB, c workload.Client, n int, timer workload.Timer) []workload.Result {
	t.Helper()
	var all []workload.Result
	for range n {
		op, ok := c.Next()
		if !ok {
			break
		}
		all = append(all, op.Do(t.Context(), timer))
	}
	return all
}

func allFine(t testing.TB, results []workload.Result, want int) {
	t.Helper()
	if len(results) != want {
		t.Errorf("%d operations instead of %d", len(results), want)
	}
	for _, r := range results {
		if r.Outcome != record.OK || r.Reason != "" {
			t.Fatalf("an operation came to %+v", r)
		}
	}
}
