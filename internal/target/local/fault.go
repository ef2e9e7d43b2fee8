package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/mount"
	"plimsoll.dev/plimsoll/internal/process"
	"plimsoll.dev/plimsoll/internal/target"
)

// Pause gets ready to stop a component.
func (t *Target) Pause(component string) (target.Disturbance, error) {
	if _, err := t.disturbed(component); err != nil {
		return nil, err
	}
	return &pause{target: t, who: component}, nil
}

// Kill gets ready to kill a component.
func (t *Target) Kill(component string) (target.Disturbance, error) {
	if _, err := t.disturbed(component); err != nil {
		return nil, err
	}
	return &kill{target: t, who: component}, nil
}

// disturbed gives the process of a component, or of the member of etcd that leads now.
func (t *Target) disturbed(component string) (*process.Process, error) {
	if component == v1alpha1.EtcdLeader {
		var err error
		if component, err = t.leader(); err != nil {
			return nil, fmt.Errorf("find the leader of etcd: %w", err)
		}
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if p := t.running[component]; p != nil && !t.closed {
		return p, nil
	}
	return nil, fmt.Errorf("no component %s runs that could be disturbed", component)
}

// planeOf is the control plane that a component is of.
func (t *Target) planeOf(component string) *plane {
	if t.downstream != nil && strings.HasPrefix(component, downstreamPrefix) {
		return t.downstream
	}
	return t.plane
}

// pause stops a component, and lets it go on.
type pause struct {
	target  *Target
	who     string
	process *process.Process // since Begin
}

func (p *pause) Begin() (err error) {
	if p.process, err = p.target.disturbed(p.who); err == nil {
		p.process.Pause()
	}
	return err
}

func (p *pause) End() error {
	if p.process != nil {
		p.process.Resume()
	}
	return nil
}

func (p *pause) Component() string { return nameOf(p.process, p.who) }

// nameOf is the name of a process's component; otherwise, while it is not chosen yet, how it is referred to.
func nameOf(p *process.Process, otherwise string) string {
	if p == nil {
		return otherwise
	}
	return p.Name()
}

// kill ends a component without a word, and starts it again.
type kill struct {
	target  *Target
	who     string
	process *process.Process // since Begin
	ended   bool
}

func (k *kill) Begin() (err error) {
	if k.process, err = k.target.disturbed(k.who); err != nil {
		return err
	}
	return k.process.Kill()
}

func (k *kill) End() error {
	if k.process == nil || k.ended {
		return nil
	}
	k.ended = true
	return k.target.restart(k.process.Name())
}

func (k *kill) Component() string { return nameOf(k.process, k.who) }

// blkio is where version 1 of control groups throttles disks. Version 2 attributes
// writes to whoever dirtied the page, but needs its io controller to be handed down,
// which only the system's own manager may do.
const blkio = "/sys/fs/cgroup/blkio"

// slowDisk is a control group of plimsoll's own, which a process is put into. What
// it waits for, an fdatasync for instance, is throttled; the file system's journal,
// which the kernel writes, is not.
type slowDisk struct {
	process *process.Process
	group   string // its folder
	origin  string // that of the group that the process was in
	devices []string
	writes  int // per second

	mu    sync.Mutex
	ended bool
}

// SlowDisk gets ready to hold a component to some writes a second.
func (t *Target) SlowDisk(component string, writesPerSecond int) (target.Disturbance, error) {
	p, err := t.disturbed(component)
	if err != nil {
		return nil, err
	}
	s := &slowDisk{process: p, writes: writesPerSecond}
	for _, folder := range t.planeOf(component).where.all() {
		device, err := mount.DiskNumber(folder)
		if err != nil {
			return nil, fmt.Errorf("slow down the disk of %s: %w", component, err)
		}
		s.devices = append(s.devices, device)
	}
	if _, err := os.Stat(filepath.Join(blkio, "blkio.throttle.write_iops_device")); err != nil {
		return nil, fmt.Errorf("slow down the disk of %s: %w: this machine cannot throttle disks (blkio, version 1 of control groups); pause the component instead", component, err)
	}
	if s.origin, err = groupOf(p.PID()); err != nil {
		return nil, fmt.Errorf("slow down the disk of %s: %w", component, err)
	}
	sweepGroups()
	if s.group, err = os.MkdirTemp(blkio, fmt.Sprintf("%s%d-", groupPrefix, os.Getpid())); err != nil {
		return nil, fmt.Errorf("slow down the disk of %s: %w: run as root, or pause the component instead", component, err)
	}
	if err := write(s.group, "cgroup.procs", strconv.Itoa(p.PID())); err != nil {
		return nil, fmt.Errorf("slow down the disk of %s: %w", component, errors.Join(err, s.End()))
	}
	return s, nil
}

func (s *slowDisk) Begin() error { return s.throttle(s.writes) }

// throttle lets the group write to its disks so often a second; 0 is without bound.
func (s *slowDisk) throttle(writesPerSecond int) error {
	var errs []error
	for _, device := range s.devices {
		errs = append(errs, write(s.group, "blkio.throttle.write_iops_device", device+" "+strconv.Itoa(writesPerSecond)))
	}
	return errors.Join(errs...)
}

func (s *slowDisk) Component() string { return s.process.Name() }

// End lets all writes through, and the process back to where it was.
func (s *slowDisk) End() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	s.ended = true
	err := s.throttle(0)
	return errors.Join(err, s.leave())
}

// leave moves the process back, and children that it has started meanwhile; as
// more may start while these are moved, it tries until the group is empty.
func (s *slowDisk) leave() error {
	const tries, pause = 100, 20 * time.Millisecond
	var err error
	for range tries {
		pids, unread := os.ReadFile(filepath.Join(s.group, "cgroup.procs"))
		if unread != nil && !errors.Is(unread, os.ErrNotExist) {
			return unread
		}
		for _, pid := range strings.Fields(string(pids)) {
			if back := write(s.origin, "cgroup.procs", pid); back != nil && !errors.Is(back, unix.ESRCH) {
				return back
			}
		}
		if err = unix.Rmdir(s.group); err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("remove control group %s: %w", s.group, err)
}

func write(group, file, text string) error {
	return os.WriteFile(filepath.Join(group, file), []byte(text+"\n"), 0o644)
}

// groupOf gives the folder of the group that a process is in.
func groupOf(pid int) (string, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return "", err
	}
	groups, err := p.Cgroups()
	if err != nil {
		return "", err
	}
	for _, g := range groups {
		if slices.Contains(g.Controllers, "blkio") {
			return filepath.Join(blkio, g.Path), nil
		}
	}
	return "", fmt.Errorf("process %d is in no group of blkio", pid)
}

const groupPrefix = "plimsoll-"

// sweepGroups removes what killed plimsolls left: groups named after processes that
// are gone. The kernel removes none that still has a process.
func sweepGroups() {
	groups, _ := filepath.Glob(filepath.Join(blkio, groupPrefix+"*"))
	for _, group := range groups {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(group), groupPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && errors.Is(unix.Kill(n, 0), unix.ESRCH) {
			_ = unix.Rmdir(group)
		}
	}
}
