package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/process"
	"plimsoll.dev/plimsoll/internal/target/local"
)

// postgres VARIABLE runs a PostgreSQL server that plimsoll knows nothing of,
// until the script ends, and keeps the data source of its first database.
func postgres(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: postgres VARIABLE")
	}
	server, err := local.FindServer(context.Background(), v1.Postgres)
	ts.Check(err)
	home, err := os.MkdirTemp("", "plimsoll-test-postgres-") // the script's own folder is closed to others
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(home) })
	who := "tester"
	var credential *syscall.Credential // it does not run as root
	if os.Geteuid() == 0 {
		account, err := user.Lookup("postgres")
		ts.Check(err)
		uid, err := strconv.Atoi(account.Uid)
		ts.Check(err)
		gid, err := strconv.Atoi(account.Gid)
		ts.Check(err)
		ts.Check(os.Chown(home, uid, gid))
		credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	data := filepath.Join(home, "data")
	initialise := exec.Command(server.Initialiser, "--pgdata="+data, "--username="+who, "--auth=trust", "--no-locale", "--no-sync")
	initialise.Dir, initialise.SysProcAttr = home, &syscall.SysProcAttr{Credential: credential}
	if out, err := initialise.CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
	port := freePort(ts)
	p, err := process.Start(context.Background(), process.Spec{
		Name: "postgres", Path: server.Path, Dir: home, LogPath: ts.MkAbs("postgres.log"), Credential: credential,
		Args: []string{"-D", data, "--listen_addresses=127.0.0.1", "--port=" + port, "--unix_socket_directories="},
		Ready: func(ctx context.Context) error {
			return psql(ctx, server, source(who, port), "select 1").Run()
		},
		StopSignal: syscall.SIGQUIT, DeathSignal: syscall.SIGQUIT,
	})
	ts.Check(err)
	ts.Defer(func() { _ = p.Stop(context.Background()) })
	ts.Setenv(args[0], source(who, port))
}

func source(who, port string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%s/postgres?sslmode=disable", who, port)
}

// psql is the server's own client, which lies beside it.
func psql(ctx context.Context, server local.Server, source, statement string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(filepath.Dir(server.Initialiser), "psql"), source, "--no-psqlrc", "-Atc", statement)
}

// sql SOURCE STATEMENT has a database carry out a statement, and prints what it answers.
func sql(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql SOURCE STATEMENT")
	}
	server, err := local.FindServer(context.Background(), v1.Postgres)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := psql(ctx, server, args[0], args[1]).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		ts.Fatalf("%s: %s", args[1], exit.Stderr)
	}
	ts.Check(err)
	_, err = fmt.Fprint(ts.Stdout(), string(out))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), []byte(strings.TrimSpace(string(out))+"\n"), 0o644))
}

func freePort(ts *testscript.TestScript) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}
