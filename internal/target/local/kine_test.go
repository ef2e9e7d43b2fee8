package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/process"
	"plimsoll.dev/plimsoll/internal/target"
)

// planeOf gives what builders get, on a machine with folders /s, /d and /l.
func planeOf(t *testing.T, spec v1alpha1.LocalTarget) *plane {
	t.Helper()
	keys, err := newKeyring(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &plane{
		spec: spec, where: folders{secrets: "/s", data: "/d", logs: "/l"}, keys: keys, password: "geheim", clients: map[string]*http.Client{},
		ports: ports{apiserver: 1, kine: 2, kineMetrics: 3, database: 4, steve: 5, steveMetrics: 6, steveProfiles: 7},
	}
	if ownServer(spec.Datastore.Kine) {
		p.server = Server{Binary: assets.Binary{Path: "/b/server"}, Initialiser: "/b/initialiser"}
	}
	return p
}

func kineTarget(kine v1alpha1.Kine) v1alpha1.LocalTarget {
	return v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Kine: &kine}}
}

func disabled() v1alpha1.KubeAPIServer {
	no := false
	return v1alpha1.KubeAPIServer{Enabled: &no}
}

func TestDataSources(t *testing.T) {
	for _, row := range []struct {
		name        string
		kine        v1alpha1.Kine
		given, told string
	}{
		{"SQLite waits for the disk at each commit", v1alpha1.Kine{Backend: "sqlite"},
			"sqlite:///d/kine/state.db?_journal_mode=WAL&_busy_timeout=30000&_synchronous=FULL&_txlock=immediate&_stmt_cache_size=20&cache=shared", ""},
		{"or does not", v1alpha1.Kine{Backend: "sqlite", Synchronous: "normal"},
			"sqlite:///d/kine/state.db?_journal_mode=WAL&_busy_timeout=30000&_synchronous=NORMAL&_txlock=immediate&_stmt_cache_size=20&cache=shared", ""},
		{"a PostgreSQL of plimsoll's own", v1alpha1.Kine{Backend: "postgres"},
			"postgres://plimsoll:geheim@127.0.0.1:4/kine?sslmode=disable", "postgres://plimsoll:xxxxx@127.0.0.1:4/kine?sslmode=disable"},
		{"a MariaDB of plimsoll's own", v1alpha1.Kine{Backend: "mariadb"},
			"mysql://plimsoll:geheim@tcp(127.0.0.1:4)/kine", "mysql://plimsoll:xxxxx@tcp(127.0.0.1:4)/kine"},
		{"a PostgreSQL of the user's", v1alpha1.Kine{Backend: "postgres", DSN: "postgresql://me:pw@db/k"}, "postgres://me:pw@db/k", "postgres://me:xxxxx@db/k"},
		{"a MariaDB of the user's", v1alpha1.Kine{Backend: "mariadb", DSN: "me:p@w@tcp(db:3306)/k"}, "mysql://me:p@w@tcp(db:3306)/k", "mysql://me:xxxxx@tcp(db:3306)/k"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := kineEndpoint(planeOf(t, kineTarget(row.kine)))
			if diff := cmp.Diff(row.given, got); diff != "" {
				t.Error(diff)
			}
			if row.told == "" {
				row.told = row.given
			}
			if diff := cmp.Diff(row.told, withoutPassword(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// commandLines are the components of a plane as lines of text.
func commandLines(t *testing.T, p *plane) string {
	t.Helper()
	components, err := p.build()
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, c := range components {
		if c.name == apiserverPart {
			continue
		}
		if c.initialise.path != "" {
			lines.WriteString(c.initialise.path + " " + strings.Join(c.initialise.args, " ") + "\n")
		}
		lines.WriteString(strings.Join(append(append([]string{c.name}, c.first...), append(c.flags.args(), c.secret.args()...)...), " ") + "\n")
	}
	return strings.ReplaceAll(lines.String(), p.keys.dir, "/s")
}

func TestCommandLinesOfKineAndItsDatabase(t *testing.T) {
	few := 7
	kine := "kine --listen-address=tcp://127.0.0.1:2 --server-cert-file=/s/etcd.crt --server-key-file=/s/etcd.key --trusted-ca-file=/s/etcd-ca.crt" +
		" --metrics-bind-address=127.0.0.1:3 --datastore-max-open-connections="
	for _, row := range []struct {
		name string
		spec v1alpha1.LocalTarget
		want string
	}{
		{"PostgreSQL", kineTarget(v1alpha1.Kine{Backend: "postgres", Settings: v1alpha1.Flags{"shared_buffers": "1GB"}}),
			"/b/initialiser --pgdata=/d/postgres/data --username=plimsoll --pwfile=/d/postgres/password --auth=scram-sha-256 --encoding=UTF8 --no-locale\n" +
				"postgres -D /d/postgres/data --listen_addresses=127.0.0.1 --port=4 --unix_socket_directories= --shared_buffers=1GB\n" +
				kine + "100 --endpoint=postgres://plimsoll:xxxxx@127.0.0.1:4/kine?sslmode=disable\n"},
		{"MariaDB", kineTarget(v1alpha1.Kine{Backend: "mariadb", MaxConnections: &few, Flags: v1alpha1.Flags{"slow-sql-threshold": "2s"}}),
			"/b/initialiser --no-defaults --datadir=/d/mariadb/data --auth-root-authentication-method=socket --skip-test-db\n" +
				"mariadb --no-defaults --datadir=/d/mariadb/data --bind_address=127.0.0.1 --port=4 --socket= --pid_file=/d/mariadb/pid --init_file=/d/mariadb/users.sql\n" +
				kine + "7 --slow-sql-threshold=2s --endpoint=mysql://plimsoll:xxxxx@tcp(127.0.0.1:4)/kine\n"},
		{"a database of the user's", kineTarget(v1alpha1.Kine{Backend: "postgres", DSN: "postgres://db/k"}), kine + "100 --endpoint=postgres://db/k\n"},
		{"Steve", v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Kine: &v1alpha1.Kine{Backend: "postgres", DSN: "postgres://db/k"}}, Steve: &v1alpha1.Steve{SQLCache: true}},
			kine + "100 --endpoint=postgres://db/k\n" +
				"steve --kubeconfig=/s/steve.kubeconfig --https-listen-port=5 --http-listen-port=0 --sql-cache=true --enable-metrics=true --metrics-listen-addr=127.0.0.1:6 --enable-pprof=true --pprof-listen-addr=127.0.0.1:7\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, commandLines(t, planeOf(t, row.spec))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFlagsOfSingleMembers(t *testing.T) {
	p := planeOf(t, v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Etcd: &v1alpha1.Etcd{
		Members: 3, Flags: v1alpha1.Flags{"heartbeat-interval": "50"},
		MemberFlags: []v1alpha1.Flags{nil, {"heartbeat-interval": "200", "quota-backend-bytes": nil}},
	}}})
	p.ports.etcdClients, p.ports.etcdPeers, p.ports.etcdMetrics = []int{11, 12, 13}, []int{21, 22, 23}, []int{31, 32, 33}
	all, err := p.build()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"--heartbeat-interval=50", "--heartbeat-interval=200", "--heartbeat-interval=50"} {
		args := all[i].flags.args()
		quota := slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--quota-backend-bytes") })
		if !slices.Contains(args, want) || quota == (i == 1) {
			t.Errorf("%s has %v", all[i].name, args)
		}
	}
}

func TestPasswordsAreNotOnCommandLines(t *testing.T) {
	for _, backend := range []v1alpha1.Backend{v1alpha1.Postgres, v1alpha1.MariaDB} {
		if lines := commandLines(t, planeOf(t, kineTarget(v1alpha1.Kine{Backend: backend}))); strings.Contains(lines, "geheim") {
			t.Errorf("the password is in %s", lines)
		}
	}
}

func TestTheAPIServerUsesKine(t *testing.T) {
	components, err := planeOf(t, kineTarget(v1alpha1.Kine{Backend: v1alpha1.Postgres})).build()
	if err != nil {
		t.Fatal(err)
	}
	api := components[len(components)-1]
	if args := strings.Join(api.flags.args(), " "); !strings.Contains(args, "--etcd-servers=https://127.0.0.1:2 ") || api.needs != kinePart {
		t.Errorf("needs %q: %s", api.needs, args)
	}
}

func TestCapabilitiesAreThoseOfTheSpec(t *testing.T) {
	for _, row := range []struct {
		name       string
		spec       v1alpha1.LocalTarget
		api, steve bool
	}{
		{"a datastore alone", v1alpha1.LocalTarget{KubeAPIServer: disabled()}, false, false},
		{"with an API server", v1alpha1.LocalTarget{}, true, false},
		{"with Steve", v1alpha1.LocalTarget{Steve: &v1alpha1.Steve{}}, true, true},
	} {
		tg := (&Target{plane: &plane{spec: row.spec}}).Capabilities()
		_, api := tg.(target.KubeAPI)
		_, steve := tg.(target.Steve)
		_, datastore := tg.(target.Datastore)
		_, supervised := tg.(target.Supervised)
		_, folder := tg.(target.Folder)
		if api != row.api || steve != row.steve || !datastore || !supervised || !folder {
			t.Errorf("%s: API %v, Steve %v, datastore %v, supervised %v, folder %v", row.name, api, steve, datastore, supervised, folder)
		}
	}
}

func TestWithoutAnAPIServer(t *testing.T) {
	alone := v1alpha1.LocalTarget{KubeAPIServer: disabled()}
	if _, err := (&Target{plane: &plane{spec: alone}}).RESTConfig(target.Admin); err == nil {
		t.Error("there is a client configuration")
	}
	if _, err := (&Target{plane: &plane{spec: alone}}).Kubeconfig(target.Admin); err == nil {
		t.Error("there is a kubeconfig")
	}
	alone.Steve = &v1alpha1.Steve{}
	if _, err := Start(t.Context(), Options{Spec: alone, Binaries: scripts{}}); err == nil || !strings.Contains(err.Error(), "kubeAPIServer") {
		t.Errorf("error of Steve in front of nothing is %v", err)
	}
}

func TestPartsOfASpec(t *testing.T) {
	for _, row := range []struct {
		spec v1alpha1.LocalTarget
		want string
	}{
		{v1alpha1.LocalTarget{}, "etcd kube-apiserver"},
		{v1alpha1.LocalTarget{KubeAPIServer: disabled()}, "etcd"},
		{v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Kine: &v1alpha1.Kine{}}, Steve: &v1alpha1.Steve{}}, "kine kube-apiserver steve"},
	} {
		if got := strings.Join(Parts(row.spec), " "); got != row.want {
			t.Errorf("parts are %s, not %s", got, row.want)
		}
	}
}

func TestWhichServerIsFound(t *testing.T) {
	dir := t.TempDir()
	program := func(folder, name, text string) string {
		path := filepath.Join(dir, folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	program("9", "mysqld", "echo mysqld Ver 8.0.1 for MySQL")
	mariadb := program("10", "mysqld", "echo mysqld Ver 10.11.19-MariaDB-0 for Linux")
	installer := program("10", "mysql_install_db", "")
	t.Setenv("PATH", filepath.Join(dir, "9")+":"+filepath.Join(dir, "10"))
	if _, err := FindServer(t.Context(), v1alpha1.MariaDB); err != nil && !strings.Contains(err.Error(), "MariaDB") {
		t.Errorf("error is %v", err)
	}
	i := installation{names: []string{"mysqld"}, initialisers: []string{"mysql_install_db"}}
	if found := expand([]string{filepath.Join(dir, "*")}); len(found) != 2 || filepath.Base(found[0]) != "10" {
		t.Errorf("the newest is not the first of %v", found)
	}
	if path := lookup(filepath.Join(dir, "10"), i.names); path != mariadb || i.initialiser(path) != installer {
		t.Errorf("found %s and %s", path, i.initialiser(path))
	}
	if _, err := serverVersion(t.Context(), filepath.Join(dir, "9", "mysqld"), "MariaDB"); err == nil {
		t.Error("MySQL is taken for MariaDB")
	}
	if version, err := serverVersion(t.Context(), mariadb, "MariaDB"); err != nil || version != "10.11.19" {
		t.Errorf("version is %q, %v", version, err)
	}
}

func TestServersThatAreNotReady(t *testing.T) {
	for _, row := range []struct {
		name, answer, want string
		probe              func(context.Context, string) error
	}{
		{"PostgreSQL that starts", "E\x00\x00\x00\x20the database system is starting up", "starting up", probePostgres},
		{"PostgreSQL that is ready", "R\x00", "", probePostgres},
		{"MariaDB with too many connections", "\x20\x00\x00\x00\xffToo many connections", "Too many", probeMariaDB},
		{"MariaDB that is ready", "\x20\x00\x00\x00\x0a10.11", "", probeMariaDB},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				if c, err := l.Accept(); err == nil {
					_, _ = c.Write([]byte(row.answer))
					_ = c.(*net.TCPConn).CloseWrite()
					_, _ = io.Copy(io.Discard, c) // the client's own message, which would else reset the connection
					c.Close()
				}
			}()
			err = row.probe(t.Context(), l.Addr().String())
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestMissingServerSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, row := range []struct{ backend, install string }{{"postgres", "apt-get install postgresql"}, {"mariadb", "apt-get install mariadb-server"}} {
		i, err := installationOf(v1alpha1.Backend(row.backend))
		if err != nil {
			t.Fatal(err)
		}
		err = i.missing()
		for _, want := range []string{row.install, "dsn", "PATH"} {
			if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %v", want, err)
			}
		}
	}
}

// These boot kine over real databases.

func TestKineOverSQLite(t *testing.T) {
	for _, synchronous := range []string{"normal", "full"} {
		t.Run(synchronous, func(t *testing.T) {
			o := options(t, kineTarget(v1alpha1.Kine{Backend: v1alpha1.SQLite, Synchronous: synchronous}))
			checkKine(t, o, "kine kube-apiserver")
		})
	}
}

func TestKineOverPostgres(t *testing.T) {
	o := options(t, kineTarget(v1alpha1.Kine{Backend: v1alpha1.Postgres, Settings: v1alpha1.Flags{"max_connections": float64(120)}}))
	checkKine(t, o, "postgres kine kube-apiserver")
}

func TestKineOverMariaDB(t *testing.T) {
	o := options(t, kineTarget(v1alpha1.Kine{Backend: v1alpha1.MariaDB, Settings: v1alpha1.Flags{"innodb_buffer_pool_size": "64M"}}))
	checkKine(t, o, "mariadb kine kube-apiserver")
}

func checkKine(t *testing.T, o Options, components string) {
	tg := boot(t, o)
	checkObjects(t, tg)
	var names []string
	for _, p := range tg.Processes() {
		names = append(names, p.Component)
	}
	if got := strings.Join(names, " "); got != components {
		t.Errorf("components are %s", got)
	}
	endpoints := tg.Endpoints()
	for _, e := range endpoints {
		if err := probe(t.Context(), e.Client, e.URL); err != nil {
			t.Error(err)
		}
	}
	if len(endpoints) != 2 || endpoints[0].Component != kinePart {
		t.Errorf("endpoints are %+v", endpoints)
	}
	d, err := tg.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Components {
		if c.Version == "" || len(c.SHA256) != 64 {
			t.Errorf("%+v", c)
		}
		t.Logf("%s %s: %s", c.Name, c.Version, strings.Join(c.Args, " "))
	}
	checkClose(t, tg, o)
}

func TestSteve(t *testing.T) {
	for _, cached := range []bool{false, true} {
		o := options(t, v1alpha1.LocalTarget{Datastore: v1alpha1.Datastore{Kine: &v1alpha1.Kine{Backend: v1alpha1.SQLite}}, Steve: &v1alpha1.Steve{SQLCache: cached}})
		tg := boot(t, o)
		checkObjects(t, tg)
		steve, ok := tg.Capabilities().(target.Steve)
		if !ok {
			t.Fatal("the target has no Steve")
		}
		url, client := steveOf(t, steve)
		if err := probe(t.Context(), client, url+"/v1/configmaps/default?limit=2"); err != nil {
			t.Error(err)
		}
		for _, e := range tg.Endpoints() {
			if err := probe(t.Context(), e.Client, e.URL); err != nil {
				t.Error(err)
			}
		}
		checkClose(t, tg, o)
	}
}

func TestADatastoreAlone(t *testing.T) {
	for name, datastore := range map[string]v1alpha1.Datastore{"etcd": {}, "kine": {Kine: &v1alpha1.Kine{Backend: v1alpha1.SQLite}}} {
		t.Run(name, func(t *testing.T) {
			o := options(t, v1alpha1.LocalTarget{Datastore: datastore, KubeAPIServer: disabled()})
			tg := boot(t, o)
			if processes := tg.Processes(); len(processes) != 1 || processes[0].Component != name {
				t.Errorf("processes are %v", processes)
			}
			endpoints, config := tg.Etcd()
			if len(endpoints) != 1 || len(config.Certificates) != 1 {
				t.Errorf("etcd's API is at %v", endpoints)
			}
			checkClose(t, tg, o)
		})
	}
}

func TestADatabaseServerThatDiesIsNamed(t *testing.T) {
	// A killed PostgreSQL leaves a segment of shared memory in the kernel.
	for backend, end := range map[v1alpha1.Backend]os.Signal{v1alpha1.Postgres: syscall.SIGQUIT, v1alpha1.MariaDB: syscall.SIGKILL} {
		t.Run(string(backend), func(t *testing.T) {
			tg := boot(t, options(t, kineTarget(v1alpha1.Kine{Backend: backend})))
			if p, err := os.FindProcess(tg.Processes()[0].PID); err != nil || p.Signal(end) != nil {
				t.Fatal(err)
			}
			select {
			case err := <-tg.Failed():
				if exit := (&process.ExitError{}); !errors.As(err, &exit) || exit.Name != string(backend) || len(exit.Tail) == 0 {
					t.Errorf("failure is %v", err)
				}
			case <-time.After(noticed):
				t.Error("not noticed")
			}
			if err := tg.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAWrongSettingOfADatabase(t *testing.T) {
	for backend, want := range map[v1alpha1.Backend]string{
		v1alpha1.Postgres: `unrecognized configuration parameter "nonsense"`, v1alpha1.MariaDB: "unknown variable 'nonsense=1'",
	} {
		_, err := Start(t.Context(), options(t, kineTarget(v1alpha1.Kine{Backend: backend, Settings: v1alpha1.Flags{"nonsense": "1"}})))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), string(backend)+".log") {
			t.Errorf("error is %v", err)
		}
	}
}

func TestADatabaseOfTheUserThatIsNotThere(t *testing.T) {
	o := options(t, kineTarget(v1alpha1.Kine{Backend: v1alpha1.Postgres, DSN: "postgres://nobody@127.0.0.1:1/k?sslmode=disable"}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := Start(ctx, o)
	if err == nil || !strings.Contains(err.Error(), "kine was not ready within") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error is %v", err)
	}
}

// createMany makes objects by clients that work side by side, and gives the
// answers that are no success.
func createMany(t *testing.T, tg *Target, clients, each int, data string) (refused []string) {
	t.Helper()
	config := configOf(t, tg, target.Admin) // whom no priority level keeps waiting
	answers := make(chan string, clients*each)
	var group sync.WaitGroup
	for c := range clients {
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for i := range each {
				body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"many-%d-%d"},"data":{"k":%q}}`, c, i, data)
				response, err := client.Post(config.Host+"/api/v1/namespaces/default/configmaps", "application/json", strings.NewReader(body))
				if err != nil {
					answers <- err.Error()
					continue
				}
				if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusCreated {
					answers <- string(text)
				}
				response.Body.Close()
			}
		})
	}
	group.Wait()
	close(answers)
	for answer := range answers {
		refused = append(refused, answer)
	}
	return refused
}

func TestTheConnectionLimitOfTheDatabase(t *testing.T) {
	for _, row := range []struct {
		name  string
		bound int
		want  string
	}{
		{"is met by a kine without bound, and named in the answers", 0, "Too many connections"},
		{"is not met by a kine with a lower bound", 30, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			tg := boot(t, options(t, kineTarget(v1alpha1.Kine{
				Backend: v1alpha1.MariaDB, MaxConnections: &row.bound,
				Settings: v1alpha1.Flags{"max_connections": float64(50)}, // enough for the API server's own start
			})))
			refused := createMany(t, tg, 200, 3, "v")
			if len(refused) == 0 != (row.want == "") {
				t.Errorf("%d refused: %.3q", len(refused), refused)
			}
			for _, answer := range refused {
				if !strings.Contains(answer, row.want) {
					t.Errorf("refused with %s", answer)
				}
			}
			select {
			case err := <-tg.Failed():
				t.Errorf("a component ended: %v", err)
			default:
			}
		})
	}
}

func TestAFullDiskUnderSQLite(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount a small disk")
	}
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("no small disk can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	o := options(t, kineTarget(v1alpha1.Kine{Backend: v1alpha1.SQLite, DataDir: disk}))
	tg := boot(t, o)
	refused := createMany(t, tg, 4, 40, strings.Repeat("v", 100<<10))
	if len(refused) == 0 || !strings.Contains(refused[0], "database or disk is full") {
		t.Errorf("%d refused: %.1q", len(refused), refused)
	}
	if err := tg.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(disk); len(left) != 0 {
		t.Errorf("left on the disk: %v", left)
	}
}

func TestWhereTheDataOfAnotherUserGoes(t *testing.T) {
	a, err := accountFor(v1alpha1.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		t.Skip("only root has others run things")
	}
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(closed, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	var note string
	tg := &Target{options: Options{Note: func(s string) { note = s }}}
	if _, err := tg.openTo(a, data, true); err == nil || !strings.Contains(err.Error(), "chmod o+x") {
		t.Errorf("error for a chosen folder is %v", err)
	}
	elsewhere, err := tg.openTo(a, data, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(elsewhere) })
	if !a.reaches(elsewhere) || !strings.Contains(note, elsewhere) || len(tg.made) != 1 {
		t.Errorf("the data is in %s, note %q", elsewhere, note)
	}
}
