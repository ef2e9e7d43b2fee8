package local

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"syscall"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

// buildPostgres gives a PostgreSQL server with its own defaults, but for what
// makes it a private one.
func buildPostgres(p *plane) component {
	const name = string(v1alpha1.Postgres)
	home := p.home(name)
	data, secret := filepath.Join(home, "data"), filepath.Join(home, "password")
	return component{
		name: name, binary: p.server.Binary, first: []string{"-D", data}, data: home, dir: home, account: p.account,
		document: []v1alpha1.Flags{p.spec.Datastore.Kine.Settings},
		flags: flags{
			{"listen_addresses", loopbackIP},
			{"port", strconv.Itoa(p.ports.database)},
			{"unix_socket_directories", ""}, // nobody uses one, and paths may be too long for it
		},
		files: map[string]string{filepath.Base(secret): p.password + "\n"},
		initialise: command{p.server.Initialiser, []string{
			"--pgdata=" + data, "--username=" + databaseUser, "--pwfile=" + secret, "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale",
		}},
		probe: func(ctx context.Context) error { return probePostgres(ctx, address(p.ports.database)) },
		// Its backends are in groups of their own, where only it reaches them. An
		// immediate shutdown writes no checkpoint of data that nobody wants.
		stopSignal: syscall.SIGQUIT, deathSignal: syscall.SIGQUIT, tree: true,
		layer: databaseLayer,
	}
}

// probePostgres begins a session: a server that is ready asks for the password,
// one that is still starting says so.
func probePostgres(ctx context.Context, address string) error {
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	const protocol = 3 << 16
	parameters := "user\x00" + databaseUser + "\x00database\x00postgres\x00\x00"
	message := binary.BigEndian.AppendUint32(nil, uint32(8+len(parameters)))
	message = binary.BigEndian.AppendUint32(message, protocol)
	if _, err := c.Write(append(message, parameters...)); err != nil {
		return err
	}
	answer := make([]byte, 1)
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if answer[0] != 'R' { // request for authentication
		text, _ := io.ReadAll(io.LimitReader(c, 1<<10))
		return fmt.Errorf("postgres answers %q", text)
	}
	return nil
}

// dial connects to a database server that may not be ready.
func dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
