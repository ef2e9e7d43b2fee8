package borrowed

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/process"
	"plimsoll.dev/plimsoll/internal/target"
)

func freeURL(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

// startEtcd boots a real etcd without TLS; the first run builds it.
func startEtcd(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("boots real parts")
	}
	binary, err := (&assets.Finder{}).Find(t.Context(), "etcd")
	if err != nil {
		t.Fatal(err)
	}
	dir, client, peer := t.TempDir(), freeURL(t), freeURL(t)
	p, err := process.Start(t.Context(), process.Spec{
		Name: "etcd", Path: binary.Path, LogPath: filepath.Join(dir, "log"),
		Args: []string{
			"--data-dir=" + filepath.Join(dir, "data"), "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		},
		Ready: func(context.Context) error {
			response, err := http.Get(client + "/health")
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
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
	return client
}

func TestABorrowedEtcdIsCleanedOfTheRunsKeysOnly(t *testing.T) {
	endpoint := startEtcd(t)
	tg, err := OpenEtcd(t.Context(), v1alpha1.BorrowedEtcd{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{target.KeyPrefix("one") + "a", target.KeyPrefix("one") + "b/c", target.KeyPrefix("one-2") + "a", "theirs"} {
		if _, err := tg.client.Put(t.Context(), key, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := tg.Clean(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	left, err := tg.client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || left.Count != 2 {
		t.Errorf("%d keys are left: %v", left.Count, err)
	}
	d, err := tg.Describe(t.Context())
	if err != nil || !strings.HasPrefix(d.Components[0].Version, "3.") {
		t.Errorf("described as %+v: %v", d, err)
	}
	if endpoints, config := tg.Etcd(); len(endpoints) != 1 || endpoints[0] != endpoint || config != nil {
		t.Errorf("endpoints are %v, TLS %v", endpoints, config != nil)
	}
	if err := tg.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnEtcdThatIsNotThereIsNamedInTime(t *testing.T) {
	for _, endpoint := range []string{freeURL(t), "http://192.0.2.1:2379"} {
		started := time.Now()
		_, err := OpenEtcd(t.Context(), v1alpha1.BorrowedEtcd{Endpoints: []string{endpoint}})
		if err == nil || !strings.Contains(err.Error(), "reach etcd at "+endpoint) {
			t.Errorf("%s: error is %v", endpoint, err)
		}
		if took := time.Since(started); took > etcdTimeout+2*time.Second {
			t.Errorf("%s: it took %s", endpoint, took)
		}
	}
}

func TestCertificatesThatCannotBeRead(t *testing.T) {
	for _, row := range []struct {
		spec v1alpha1.BorrowedEtcd
		want string
	}{
		{v1alpha1.BorrowedEtcd{Endpoints: []string{"https://127.0.0.1:1"}, CA: "missing.pem"}, "certificate authority of etcd"},
		{v1alpha1.BorrowedEtcd{Endpoints: []string{"https://127.0.0.1:1"}, Cert: "missing.pem"}, "it takes both cert and key"},
	} {
		if _, err := OpenEtcd(t.Context(), row.spec); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("error is %v", err)
		}
	}
}
