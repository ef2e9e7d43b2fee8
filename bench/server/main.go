// Command server runs a local target for benchmarks until it is told to stop,
// with what loads it beside: the URL, and the credentials of the load user, as
// the files that the generators want.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientcore "k8s.io/client-go/kubernetes/typed/core/v1"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/fill"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/target/local"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	dir := flag.String("dir", "", "`folder` for everything; url is written last, when all is ready")
	namespace := flag.String("namespace", "bench", "`namespace` to make")
	count := flag.Int("count", 0, "ConfigMaps to make in it")
	payload := flag.Int("payload", 10<<10, "bytes of payload in each")
	flag.Parse()

	t, err := local.Start(ctx, local.Options{
		Spec: v1.LocalTarget{Datastore: v1.Datastore{Etcd: &v1.Etcd{Members: 1}}},
		Dir:  filepath.Join(*dir, "work"), LogDir: filepath.Join(*dir, "logs"), Binaries: &assets.Finder{},
	})
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = errors.Join(err, t.Close(closing))
	}()
	if err := prepare(ctx, t, *namespace, *count, *payload); err != nil {
		return err
	}
	if err := publish(t, *dir); err != nil {
		return err
	}
	config, err := t.RESTConfig(target.Admin)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	go release(ctx, client.CoreV1().Namespaces())
	select {
	case <-ctx.Done():
		return nil
	case err := <-t.Failed():
		return err
	}
}

func prepare(ctx context.Context, t *local.Target, namespace string, count, payload int) error {
	if err := fill.Namespaces(ctx, t, []string{namespace}, "bench", false); err != nil {
		return err
	}
	if count == 0 {
		return nil
	}
	return fill.Run(ctx, fill.Options{
		API: t, Datastore: t, RunID: "bench", Seed: 1, Made: new(atomic.Int64),
		Fill: v1.Fill{
			Objects: v1.Objects{Resource: v1.ConfigMaps, Namespace: v1.Name(namespace), Payload: v1.Bytes(payload)},
			Count:   count, Through: v1.ThroughDatastore, Clients: 16,
		},
	})
}

// release lets namespaces go that are deleted, in place of the controller that a
// local target does not have: plimsoll, which takes it for a borrowed cluster,
// waits until the namespaces that it made are gone. What is in them stays.
func release(ctx context.Context, namespaces clientcore.NamespaceInterface) {
	for ctx.Err() == nil {
		time.Sleep(time.Second)
		all, err := namespaces.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			continue
		}
		for _, one := range all.Items {
			if one.DeletionTimestamp != nil {
				one.Spec.Finalizers = nil
				_, _ = namespaces.Finalize(ctx, &one, metav1.UpdateOptions{}) // again in a second
			}
		}
	}
}

// publish writes what a generator needs; admin only reads the server's metrics.
func publish(t *local.Target, dir string) error {
	var url string
	for _, id := range []target.Identity{target.Admin, target.Load} {
		config, err := t.RESTConfig(id)
		if err != nil {
			return err
		}
		url = config.Host
		for name, content := range map[string][]byte{
			"ca.crt": config.CAData, string(id) + ".crt": config.CertData, string(id) + ".key": config.KeyData,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				return err
			}
		}
	}
	kubeconfig, err := t.Kubeconfig(target.Load)
	if err != nil {
		return err
	}
	if err := os.Symlink(kubeconfig, filepath.Join(dir, "kubeconfig")); err != nil {
		return err
	}
	part := filepath.Join(dir, "url.part")
	if err := os.WriteFile(part, []byte(url+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(dir, "url"))
}
