package local

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/client-go/rest"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/fill"
	"plimsoll.dev/plimsoll/internal/target"
)

// program builds plimsoll, which is both ends of the tunnel.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plimsoll")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "plimsoll.dev/plimsoll/cmd/plimsoll").CombinedOutput(); err != nil {
		t.Fatalf("build plimsoll: %v\n%s", err, out)
	}
	return path
}

// TestDownstream fills two control planes differently, and reads through both Steves what is in each.
func TestDownstream(t *testing.T) {
	steve := &v1alpha1.Steve{SQLCache: true}
	o := options(t, v1alpha1.LocalTarget{Steve: steve, Downstream: &v1alpha1.Downstream{Steve: steve}})
	o.Program = program(t)
	var notes []string
	o.Note = func(note string) { notes = append(notes, note) }
	tg := boot(t, o)
	t.Run("the user hears who reaches Steve", func(t *testing.T) {
		ports := fmt.Sprintf("port %d and %d and %d of", tg.ports.steve, tg.downstream.ports.steve, tg.downstream.ports.steveHTTP)
		fate := "who reaches it is an admin"
		if tg.wall != nil {
			fate = "shut it off from other machines, for as long"
		}
		if len(notes) != 1 || !strings.Contains(notes[0], ports) || !strings.Contains(notes[0], fate) {
			t.Errorf("the notes are %q", notes)
		}
	})
	planes := []target.Cluster{tg, tg.Downstream()}
	for i, plane := range planes {
		many := v1alpha1.Fill{
			Objects: v1alpha1.Objects{Resource: v1alpha1.ConfigMaps, Namespace: "filled", Payload: 1 << 10},
			Count:   10 + 10*i, Clients: 2, Through: v1alpha1.ThroughDatastore,
		}
		if err := fill.Run(t.Context(), fill.Options{API: plane, Datastore: plane, Fill: many, RunID: "run", Made: new(atomic.Int64)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, plane := range planes {
		url, client := steveOf(t, plane.(target.Steve))
		if items := steveCount(t, client, url+"/v1/configmaps/filled?pagesize=100&page=1"); items != 10+10*i {
			t.Errorf("Steve of plane %d lists %d", i, items)
		}
	}
	t.Run("links lead through the tunnel", func(t *testing.T) {
		url, client := steveOf(t, tg.downstream)
		if body := read(t, client, url+"/v1/configmaps/filled/plimsoll-000000"); !strings.Contains(body, `"self":"`+url+"/v1/configmaps/filled/plimsoll-000000") {
			t.Errorf("the object is %s", body)
		}
	})
	t.Run("nobody else may pass", func(t *testing.T) {
		url, _ := steveOf(t, tg.downstream)
		stranger := tg.client("", "")
		if response, err := stranger.Get(url + "/v1/schemas"); err == nil {
			response.Body.Close()
			t.Errorf("who shows no certificate gets %s", response.Status)
		}
		server := loopback(tg.ports.tunnel)
		user := tg.client(kubernetesCA, loadClient)
		if response, err := user.Get(server + "/connect"); err != nil || response.StatusCode != http.StatusUnauthorized {
			t.Errorf("who is not the agent gets %v, %v", response, err)
		}
	})
	t.Run("the planes trust each other in nothing", func(t *testing.T) {
		if err := probe(t.Context(), tg.admin(), tg.downstream.ports.apiserverURL()+"/version"); err == nil {
			t.Error("the authority of one is that of the other")
		}
	})
	t.Run("all are seen apart", func(t *testing.T) {
		var names, scraped []string
		for _, p := range tg.Processes() {
			names = append(names, p.Component)
		}
		for _, e := range tg.Endpoints() {
			scraped = append(scraped, e.Component)
			if err := probe(t.Context(), e.Client, e.URL); err != nil {
				t.Errorf("metrics of %s: %v", e.Component, err)
			}
		}
		all := []string{"etcd", "kube-apiserver", "steve", "downstream-etcd", "downstream-kube-apiserver", "downstream-steve", "tunnel-server", "tunnel-agent"}
		if diff := cmp.Diff(all, names); diff != "" {
			t.Errorf("processes: %s", diff)
		}
		if diff := cmp.Diff(all[:7], scraped); diff != "" {
			t.Errorf("endpoints: %s", diff)
		}
	})
	t.Run("each can be disturbed", func(t *testing.T) {
		for _, component := range []string{"downstream-etcd", "tunnel-agent"} {
			if _, err := tg.Pause(component); err != nil {
				t.Error(err)
			}
		}
	})
	checkClose(t, tg, o)
}

// TestStevesOfOtherVersions starts each that the document offers.
func TestStevesOfOtherVersions(t *testing.T) {
	for _, version := range v1alpha1.SteveVersions() {
		t.Run(version, func(t *testing.T) {
			o := options(t, v1alpha1.LocalTarget{Steve: &v1alpha1.Steve{Version: version, SQLCache: true}})
			tg := boot(t, o)
			url, client := steveOf(t, tg)
			if items := steveCount(t, client, url+"/v1/configmaps/kube-system?pagesize=100&page=1"); items == 0 {
				t.Error("it lists nothing")
			}
			d, err := tg.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if i := slices.IndexFunc(d.Components, func(c target.ComponentDescription) bool { return c.Name == "steve" }); d.Components[i].Version != version {
				t.Errorf("it is %s", d.Components[i].Version)
			}
			checkClose(t, tg, o)
		})
	}
}

func steveOf(t *testing.T, steve target.Steve) (url string, client *http.Client) {
	t.Helper()
	config, err := steve.Steve()
	if err != nil {
		t.Fatal(err)
	}
	if client, err = rest.HTTPClientFor(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return config.Host, client
}

func steveCount(t *testing.T, client *http.Client, url string) int {
	t.Helper()
	var list struct{ Data []json.RawMessage }
	if body := read(t, client, url); json.Unmarshal([]byte(body), &list) != nil {
		t.Errorf("%s answers %s", url, body)
	}
	return len(list.Data)
}

func read(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s answers %s, %v: %s", url, response.Status, err, body)
	}
	return string(body)
}
