package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
)

// ErrNoServer is an SQL server that is not installed.
var ErrNoServer = errors.New("is not installed")

// distribution is, beside those of assets, where a server was found: in a
// folder of the distribution that is not on PATH.
const distribution = "distribution"

// Server is the installed server of an SQL database.
type Server struct {
	assets.Binary
	// Initialiser is the program that makes its data folder.
	Initialiser string
}

// installation says where a server may be, as data.
type installation struct {
	title string
	// names of the server, and of its initialiser.
	names, initialisers []string
	// folders beside those on PATH; of versions beside each other, the newest is taken.
	folders []string
	// sign is in what it says of itself, and tells it from a relative of the same name.
	sign    string
	install string
}

func installationOf(backend v1alpha1.Backend) (installation, error) {
	switch backend {
	case v1alpha1.Postgres:
		return installation{
			title: "PostgreSQL", names: []string{"postgres"}, initialisers: []string{"initdb"}, sign: "PostgreSQL", install: "postgresql",
			folders: []string{
				"/usr/lib/postgresql/*/bin", "/usr/lib/postgresql*/bin", "/usr/pgsql-*/bin", "/usr/libexec/postgresql*", "/usr/local/pgsql/bin",
				"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
			},
		}, nil
	case v1alpha1.MariaDB:
		return installation{
			title: "MariaDB", names: []string{"mariadbd", "mysqld"}, initialisers: []string{"mariadb-install-db", "mysql_install_db"},
			sign: "MariaDB", install: "mariadb-server",
			folders: []string{
				"/usr/sbin", "/usr/libexec", "/usr/bin", "/usr/local/sbin", "/usr/local/libexec", "/usr/local/bin", "/usr/local/m*/bin", "/usr/local/m*/scripts",
				"/home/linuxbrew/.linuxbrew/opt/mariadb*/bin",
			},
		}, nil
	}
	return installation{}, fmt.Errorf("%s has no server that could be started", backend)
}

// FindServer finds the installed server of a backend, on PATH or where
// distributions put it. The error is ErrNoServer, and says how to get it.
func FindServer(ctx context.Context, backend v1alpha1.Backend) (Server, error) {
	i, err := installationOf(backend)
	if err != nil {
		return Server{}, err
	}
	for _, folder := range append([]string{""}, expand(i.folders)...) {
		path := lookup(folder, i.names)
		if path == "" {
			continue
		}
		version, err := serverVersion(ctx, path, i.sign)
		if err != nil {
			continue
		}
		initialiser := i.initialiser(path)
		if initialiser == "" {
			return Server{}, fmt.Errorf("%s is installed as %s, but not its %s: install %s whole (apt-get install %s)",
				i.title, path, i.initialisers[0], i.title, i.install)
		}
		source := distribution
		if folder == "" {
			source = assets.Path
		}
		sum, err := assets.Hash(path)
		if err != nil {
			return Server{}, fmt.Errorf("hash %s: %w", path, err)
		}
		return Server{Binary: assets.Binary{Path: path, Version: version, Source: source, SHA256: sum}, Initialiser: initialiser}, nil
	}
	return Server{}, i.missing()
}

func (i installation) missing() error {
	return fmt.Errorf(`%s %w (looked on PATH and in %s)
ways out:
  - install it: apt-get install %s, or your distribution's like
  - name a database that runs already: datastore.kine.dsn`, i.title, ErrNoServer, strings.Join(i.folders, ", "), i.install)
}

// initialiser is looked for beside the server first, so that the two are of one version.
func (i installation) initialiser(server string) string {
	for _, folder := range append([]string{filepath.Dir(server), ""}, expand(i.folders)...) {
		if path := lookup(folder, i.initialisers); path != "" {
			return path
		}
	}
	return ""
}

// lookup finds the first of the names in a folder, or on PATH without one. Links
// are followed, since servers look for their files beside themselves.
func lookup(folder string, names []string) string {
	for _, name := range names {
		path, err := exec.LookPath(filepath.Join(folder, name))
		if err != nil {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
	}
	return ""
}

// expand gives the folders that match, those of higher versions first.
func expand(patterns []string) []string {
	var all []string
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern)
		slices.SortStableFunc(found, func(a, b string) int { return numberIn(b) - numberIn(a) })
		all = append(all, found...)
	}
	return all
}

// numberIn is the first number of a path; -1 without one.
func numberIn(path string) int {
	n, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(path))
	if err != nil {
		return -1
	}
	return n
}

// serverVersion asks a server for its version.
func serverVersion(ctx context.Context, path, sign string) (string, error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", path, err)
	}
	version := regexp.MustCompile(`\d+\.\d[\w.]*`).FindString(string(out))
	if version == "" || !strings.Contains(string(out), sign) {
		return "", fmt.Errorf("ask %s for its version: it answers %q", path, out)
	}
	return version, nil
}

// ownServer says whether plimsoll starts a server for the database.
func ownServer(kine *v1alpha1.Kine) bool {
	return kine != nil && kine.DSN == "" && kine.Backend != v1alpha1.SQLite
}

// databaseUser is kine's user of the database.
const databaseUser = "plimsoll"

// newPassword keeps other users of the machine out of the database, whose
// superuser may read files and start programs.
func newPassword() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}
