package local

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

// buildMariaDB gives a MariaDB server with its own defaults, not those of the
// distribution's configuration files, but for what makes it a private one.
func buildMariaDB(p *plane) component {
	const name = string(v1alpha1.MariaDB)
	home := p.home(name)
	data, users := filepath.Join(home, "data"), filepath.Join(home, "users.sql")
	return component{
		name: name, binary: p.server.Binary, first: []string{"--no-defaults"}, data: home, dir: home, account: p.account,
		document: []v1alpha1.Flags{p.spec.Datastore.Kine.Settings},
		flags: flags{
			{"datadir", data},
			{"bind_address", loopbackIP},
			{"port", strconv.Itoa(p.ports.database)},
			{"socket", ""}, // nobody uses one, and paths may be too long for it
			{"pid_file", filepath.Join(home, "pid")},
			{"init_file", users},
		},
		// One statement a line, as the server wants it.
		files: map[string]string{filepath.Base(users): fmt.Sprintf(
			"CREATE USER %[1]s IDENTIFIED BY '%[2]s';\nGRANT ALL ON *.* TO %[1]s;\n", "'"+databaseUser+"'@'"+loopbackIP+"'", p.password)},
		initialise: command{p.server.Initialiser, []string{
			"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=socket", "--skip-test-db",
		}},
		probe: func(ctx context.Context) error { return probeMariaDB(ctx, address(p.ports.database)) },
		layer: databaseLayer,
	}
}

// probeMariaDB reads the greeting, which is an error as long as there is one.
func probeMariaDB(ctx context.Context, address string) error {
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	greeting := make([]byte, 5) // length, number and the first byte of the packet
	if _, err := io.ReadFull(c, greeting); err != nil {
		return err
	}
	const protocol = 10
	if greeting[4] != protocol {
		text, _ := io.ReadAll(io.LimitReader(c, 1<<10))
		return fmt.Errorf("mariadb answers %q", text)
	}
	return nil
}
