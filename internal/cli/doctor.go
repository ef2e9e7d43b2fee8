package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/sampler"
	"plimsoll.dev/plimsoll/internal/store"
	"plimsoll.dev/plimsoll/internal/target/local"
)

func newDoctor(env Environment) *cobra.Command {
	var disk string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether this machine can run scenarios",
		Long: `Looks at what a run needs: parts or a Go toolchain to build them, disk space,
memory, limits and ports. Exit code 1 says that something is missing.

With --disk it answers another question in ten seconds: is the disk of a folder
good enough for etcd? It writes there as etcd's advice on fio does, and as etcd
itself does, waits for each write to last, and removes what it has written. Exit
code 3 says that the 99th percentile of fdatasync is not below 10 ms.`,
		Example: `  plimsoll doctor
  plimsoll doctor --disk .
  plimsoll doctor --disk /var/lib/etcd && echo good enough`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("disk") {
				return doctorDisk(cmd.Context(), env, disk)
			}
			return doctor(cmd.Context(), env)
		},
	}
	cmd.Flags().StringVar(&disk, "disk", "", "measure the disk of this `folder` for ten seconds instead")
	return cmd
}

// state is how well something is.
type state string

const (
	fine    state = "ok"
	warning state = "warning"
	failing state = "FAIL"
)

// finding is one thing that doctor looked at, and what to do about it.
type finding struct {
	state state
	about string
	what  string
	mend  string
}

func doctor(ctx context.Context, env Environment) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	host := sampler.Host(ctx, here)
	findings := []finding{
		{fine, "plimsoll", toolVersion(), ""},
		machine(host),
		memory(host),
		toolchain(ctx),
	}
	for _, part := range []string{"etcd", "kube-apiserver"} {
		findings = append(findings, partFinding(ctx, part))
	}
	for _, part := range assets.Parts() {
		if part.Name != "etcd" && part.Name != "kube-apiserver" {
			findings = append(findings, optional(partFinding(ctx, part.Name), "only for scenarios with "+part.Name))
		}
	}
	for _, backend := range []v1.Backend{v1.Postgres, v1.MariaDB} {
		findings = append(findings, serverFinding(ctx, backend))
	}
	findings = append(findings, space("results (here)", here, 2), cacheSpace(), dataDisk(host), openFiles(), ports(), clockSource())
	return printFindings(env, findings)
}

func printFindings(env Environment, findings []finding) error {
	failed := 0
	table := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		line := f.what
		if f.mend != "" {
			line += ": " + f.mend
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.state, f.about, line)
		if f.state == failing {
			failed++
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(findings))
	}
	return nil
}

func machine(h store.Host) finding {
	f := finding{fine, "machine", fmt.Sprintf("%d CPUs (%s), %s, kernel %s", h.CPUs, h.CPUModel, h.Platform, h.Kernel), ""}
	if h.CPULimit > 0 {
		f.what += fmt.Sprintf(", limited to %.1f CPUs", h.CPULimit)
	}
	if h.CPUs < 2 {
		f.state, f.mend = warning, "load and target share one CPU; figures will be of their contention"
	}
	return f
}

func memory(h store.Host) finding {
	size := h.MemoryBytes
	if h.MemoryLimit > 0 {
		size = min(size, h.MemoryLimit)
	}
	f := finding{fine, "memory", fmt.Sprintf("%.1f GiB", float64(size)/(1<<30)), ""}
	if size < 3<<30 {
		f.state, f.mend = warning, "an API server with some thousand objects needs 1 GiB and more"
	}
	return f
}

func toolchain(ctx context.Context) finding {
	path, err := exec.LookPath("go")
	if err != nil {
		return finding{warning, "go", "no Go toolchain", "install Go to build the parts, or name a folder with binaries in PLIMSOLL_ASSETS"}
	}
	output, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return finding{warning, "go", fmt.Sprintf("%s does not run: %v", path, err), "install Go anew"}
	}
	return finding{fine, "go", strings.TrimPrefix(strings.TrimSpace(string(output)), "go version "), ""}
}

func partFinding(ctx context.Context, part string) finding {
	binary, err := (&assets.Finder{}).Locate(ctx, part)
	switch {
	case err == nil:
		return finding{fine, part, fmt.Sprintf("%s (%s: %s)", binary.Version, binary.Source, binary.Path), ""}
	case errors.Is(err, assets.ErrNotBuilt):
		return finding{fine, part, "not there yet; the first run builds it", ""}
	default:
		return finding{failing, part, err.Error(), ""}
	}
}

// optional makes a warning of the failure of what not every scenario needs.
func optional(f finding, when string) finding {
	if f.state == failing {
		f.state, f.mend = warning, when
	}
	return f
}

func serverFinding(ctx context.Context, backend v1.Backend) finding {
	server, err := local.FindServer(ctx, backend)
	if err != nil {
		return finding{warning, string(backend), err.Error(), "only for scenarios with kine over it"}
	}
	return finding{fine, string(backend), fmt.Sprintf("%s (%s)", server.Version, server.Path), ""}
}

// space checks that dir's file system has room for gibibytes.
func space(about, dir string, gibibytes float64) finding {
	for !exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return finding{warning, about, fmt.Sprintf("free space of %s is unknown: %v", dir, err), ""}
	}
	free := float64(stat.Bavail) * float64(stat.Bsize) / (1 << 30)
	f := finding{fine, about, fmt.Sprintf("%.1f GiB free in %s", free, dir), ""}
	if free < gibibytes {
		f.state, f.mend = failing, fmt.Sprintf("make room for at least %.0f GiB", gibibytes)
	}
	return f
}

// cacheSpace checks for room for modules, build cache and parts: the first
// build of kube-apiserver takes that much.
func cacheSpace() finding {
	dir, err := assets.CacheDir()
	if err != nil {
		return finding{failing, "cache", err.Error(), ""}
	}
	if _, err := exec.LookPath("go"); err != nil {
		return space("cache", dir, 1)
	}
	return space("cache", dir, 8)
}

func dataDisk(h store.Host) finding {
	f := finding{fine, "disk", fmt.Sprintf("%s on %s", h.FileSystem, h.Device), ""}
	switch h.FileSystem {
	case "tmpfs", "ramfs":
		f.state, f.mend = warning, "results here are in memory, and so is etcd's data: fsync costs nothing"
	case "overlay", "nfs", "nfs4", "fuse":
		f.state, f.mend = warning, "fsync may be slow or void; run on a disk's own file system"
	}
	return f
}

func openFiles() finding {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return finding{warning, "open files", fmt.Sprintf("limit is unknown: %v", err), ""}
	}
	f := finding{fine, "open files", fmt.Sprintf("at most %d", limit.Cur), ""}
	if limit.Cur < 4096 {
		f.state, f.mend = warning, "raise it (ulimit -n 65536) for scenarios with many connections"
	}
	return f
}

func ports() finding {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return finding{failing, "ports", fmt.Sprintf("no port can be opened on 127.0.0.1: %v", err), ""}
	}
	defer listener.Close()
	return finding{fine, "ports", "free ports on 127.0.0.1", ""}
}

// clockSource warns of clocks that cost a system call to read.
func clockSource() finding {
	data, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	source := strings.TrimSpace(string(data))
	switch {
	case err != nil:
		return finding{warning, "clock", "its source is unknown", ""}
	case source == "tsc", source == "kvm-clock", source == "arch_sys_counter":
		return finding{fine, "clock", source, ""}
	}
	return finding{warning, "clock", source, "reading it is slow; timestamps cost more than with tsc or kvm-clock"}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
