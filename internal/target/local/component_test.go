package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/process"
)

func TestFlagsOfTheDocument(t *testing.T) {
	defaults := flags{{"a", "1"}, {"b", "2"}, {"c", "3"}}
	for _, row := range []struct {
		name     string
		document v1alpha1.Flags
		want     string
	}{
		{"none leave plimsoll's own", nil, "--a=1 --b=2 --c=3"},
		{"a value replaces in place", v1alpha1.Flags{"b": "x"}, "--a=1 --b=x --c=3"},
		{"null removes", v1alpha1.Flags{"b": nil}, "--a=1 --c=3"},
		{"null for an unset one is fine", v1alpha1.Flags{"z": nil}, "--a=1 --b=2 --c=3"},
		{"new ones follow by name", v1alpha1.Flags{"z": true, "y": uint64(7)}, "--a=1 --b=2 --c=3 --y=7 --z=true"},
		{"large numbers are written out", v1alpha1.Flags{"a": float64(8589934592), "b": 0.5}, "--a=8589934592 --b=0.5 --c=3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := defaults.with(row.document)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, strings.Join(got.args(), " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := defaults.with(v1alpha1.Flags{"b": []any{1}}); err == nil || !strings.Contains(err.Error(), "flag b") {
		t.Errorf("error for a list is %v", err)
	}
	if len(defaults) != 3 || defaults[1].value != "2" {
		t.Errorf("the defaults were changed: %v", defaults)
	}
}

func TestPortsDiffer(t *testing.T) {
	for _, row := range []struct {
		spec v1alpha1.LocalTarget
		want int
	}{
		{v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Etcd: &v1alpha1.Etcd{Members: 3}}}, 10},
		{v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Kine: &v1alpha1.Kine{Backend: v1alpha1.Postgres}}, Steve: &v1alpha1.Steve{}}, 8},
		{controlPlane(1), 7},
		{v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Kine: &v1alpha1.Kine{Backend: v1alpha1.SQLite}}, KubeAPIServer: disabled()}, 2},
	} {
		chosen, err := choosePorts(row.spec)
		if err != nil {
			t.Fatal(err)
		}
		p := chosen[0]
		all := slices.Concat(p.etcdClients, p.etcdPeers, p.etcdMetrics, []int{p.apiserver, p.kine, p.kineMetrics, p.database, p.steve, p.steveHTTP, p.steveMetrics, p.steveProfiles, p.tunnel, p.controllerManager, p.scheduler, p.kwok})
		seen := map[int]bool{}
		for _, port := range all {
			if port != 0 {
				seen[port] = true
			}
		}
		if len(seen) != row.want {
			t.Errorf("ports are %+v", p)
		}
	}
}

// scripts are shell scripts in the place of binaries.
type scripts map[string]string

func (s scripts) Find(_ context.Context, name string) (assets.Binary, error) {
	return assets.Binary{Path: s[name], Version: "v0.0.0", Source: assets.Path}, nil
}

func TestPortsThatSomeoneTakesMeanwhile(t *testing.T) {
	dir := t.TempDir()
	attempts := filepath.Join(dir, "attempts")
	binaries := scripts{etcdPart: filepath.Join(dir, "etcd"), apiserverPart: filepath.Join(dir, "apiserver")}
	for path, script := range map[string]string{
		binaries[etcdPart]:      "echo $* >>" + attempts + "\necho listen tcp: bind: address already in use\nexit 1\n",
		binaries[apiserverPart]: "exec sleep 60\n",
	} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	work := filepath.Join(dir, "work")
	_, err := Start(t.Context(), Options{Dir: work, LogDir: filepath.Join(dir, "logs"), Binaries: binaries})
	if !errors.Is(err, process.ErrAddressInUse) {
		t.Errorf("error is %v", err)
	}
	tried := map[string]bool{}
	text, _ := os.ReadFile(attempts)
	for line := range strings.Lines(string(text)) {
		tried[line] = true
	}
	if len(tried) != bootAttempts {
		t.Errorf("tried %d sets of ports: %s", len(tried), text)
	}
	if left, _ := os.ReadDir(work); len(left) != 0 {
		t.Errorf("left in the working folder: %v", left)
	}
}

func TestWhatWasThereBeforeStays(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "work", "secrets", "precious")
	if err := errors.Join(os.MkdirAll(filepath.Dir(precious), 0o755), os.WriteFile(precious, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: filepath.Join(dir, "work"), LogDir: filepath.Join(dir, "logs"), Binaries: scripts{}})
	if !errors.Is(err, os.ErrExist) {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestUsersOfTheAPIServerAreNoUsersOfEtcd(t *testing.T) {
	k, err := newKeyring(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range certificates() {
		cert := k.pairs[c.name].cert
		for _, ca := range []string{kubernetesCA, etcdCA, frontProxyCA} {
			if trusted := cert.CheckSignatureFrom(k.pairs[ca].cert) == nil; trusted != (ca == c.authority) {
				t.Errorf("%s is trusted by %s: %v", c.name, ca, trusted)
			}
		}
	}
	for name, mode := range map[string]os.FileMode{"admin.key": 0o600, "kubernetes-ca.key": 0o600, "admin.crt": 0o644} {
		if info, err := os.Stat(filepath.Join(k.dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Error(fmt.Errorf("%s: %v, %w", name, info, err))
		}
	}
}
