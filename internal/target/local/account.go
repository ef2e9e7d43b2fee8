package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

// account is a user that a component runs as instead of root: PostgreSQL
// refuses root, and MariaDB should. Nil is plimsoll's own user.
type account struct {
	name     string
	uid, gid uint32
}

// accountFor gives the user that distributions make for the server, or else
// nobody; nil when plimsoll does not run as root.
func accountFor(backend v1alpha1.Backend) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	names := map[v1alpha1.Backend][]string{
		v1alpha1.Postgres: {"postgres", "nobody"},
		v1alpha1.MariaDB:  {"mysql", "mariadb", "nobody"},
	}[backend]
	for _, name := range names {
		if u, err := user.Lookup(name); err == nil {
			return newAccount(u)
		}
	}
	return nil, fmt.Errorf("%s does not run as root, and there is no user %v: make one (useradd --system %s), or run plimsoll as an ordinary user",
		backend, names, names[0])
}

func newAccount(u *user.User) (*account, error) {
	uid, noUID := strconv.ParseUint(u.Uid, 10, 32)
	gid, noGID := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(noUID, noGID); err != nil {
		return nil, fmt.Errorf("user %s: %w", u.Username, err)
	}
	return &account{u.Username, uint32(uid), uint32(gid)}, nil
}

// credential is what a process is started with.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// own makes the account the owner of a file or folder.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// reaches says whether the account may enter a folder. It asks the kernel, who
// alone knows of access lists and the like.
func (a *account) reaches(dir string) bool {
	cmd := exec.Command("/bin/sh", "-c", `cd -- "$1"`, "sh", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential()}
	return cmd.Run() == nil
}

// openTo lets the account pass through the data folder. When it cannot get
// there, say because that lies in root's home, the data goes elsewhere, on the
// same disk if that is possible; never so if the user has chosen the folder.
func (t *Target) openTo(a *account, data string, chosen bool) (string, error) {
	if err := os.Chmod(data, 0o711); err != nil {
		return "", fmt.Errorf("open the data folder to user %s: %w", a.name, err)
	}
	if a.reaches(data) {
		return data, nil
	}
	if chosen {
		return "", fmt.Errorf("the database runs as user %s, who may not enter %s: allow it to enter the folders above (chmod o+x), or choose another dataDir",
			a.name, filepath.Dir(data))
	}
	elsewhere, err := t.mkdirElsewhere(a, data)
	if err != nil {
		return "", err
	}
	disk := "on the same disk"
	if !sameDisk(elsewhere, data) {
		disk = "on another disk"
	}
	t.tell("the database runs as user %s, who may not enter %s: its data is in %s, %s", a.name, filepath.Dir(data), elsewhere, disk)
	return elsewhere, nil
}

// mkdirElsewhere makes a folder that the account reaches, on the disk of like if there is one.
func (t *Target) mkdirElsewhere(a *account, like string) (string, error) {
	parents := slices.DeleteFunc([]string{"/var/tmp", os.TempDir(), "/var/lib", "/srv"}, func(dir string) bool { return !a.reaches(dir) })
	slices.SortStableFunc(parents, func(x, y string) int {
		switch first, second := sameDisk(x, like), sameDisk(y, like); {
		case first == second:
			return 0
		case first:
			return -1
		}
		return 1
	})
	var errs []error
	for _, parent := range parents {
		dir, err := t.mkdirIn(parent)
		if err == nil {
			return dir, os.Chmod(dir, 0o711)
		}
		errs = append(errs, err)
	}
	return "", errors.Join(append(errs,
		fmt.Errorf("the database runs as user %s, who may not enter %s: put the results elsewhere (--output), or choose a dataDir", a.name, like))...)
}

func sameDisk(a, b string) bool {
	var first, second syscall.Stat_t
	return syscall.Stat(a, &first) == nil && syscall.Stat(b, &second) == nil && first.Dev == second.Dev
}
