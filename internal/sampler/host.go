package sampler

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"

	"plimsoll.dev/plimsoll/internal/mount"
	"plimsoll.dev/plimsoll/internal/store"
)

// Host says what machine this is; dir is where data is written. What cannot be
// found out is left empty.
func Host(ctx context.Context, dir string) store.Host {
	var h store.Host
	if info, err := host.InfoWithContext(ctx); err == nil {
		h.OS, h.Platform, h.Kernel = info.OS, info.Platform+" "+info.PlatformVersion, info.KernelVersion
		h.Architecture = info.KernelArch
		if info.VirtualizationRole == "guest" {
			h.Virtual = info.VirtualizationSystem
		}
	}
	if cpus, err := cpu.InfoWithContext(ctx); err == nil && len(cpus) > 0 {
		h.CPUModel = cpus[0].ModelName
	}
	if n, err := cpu.CountsWithContext(ctx, true); err == nil {
		h.CPUs = n
	}
	if memory, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		h.MemoryBytes = memory.Total
	}
	if average, err := load.AvgWithContext(ctx); err == nil {
		h.Load1 = average.Load1
	}
	h.CPULimit, h.MemoryLimit = controlGroupLimits(controlGroups, h.MemoryBytes)
	h.Mount, _ = mount.Of(ctx, dir)
	if usage, err := disk.UsageWithContext(ctx, dir); err == nil {
		h.DiskFreeBytes = usage.Free
	}
	return h
}

// controlGroups is where a container finds its own, of either version.
const controlGroups = "/sys/fs/cgroup"

// controlGroupLimits reads the limits of a container; 0 is no limit.
func controlGroupLimits(root string, memory uint64) (cpus float64, bytes uint64) {
	quota, period, _ := strings.Cut(readText(root, "cpu.max"), " ")
	if quota == "" {
		quota, period = readText(root, "cpu/cpu.cfs_quota_us"), readText(root, "cpu/cpu.cfs_period_us")
	}
	q, errQuota := strconv.ParseFloat(quota, 64)
	p, errPeriod := strconv.ParseFloat(period, 64)
	if errQuota == nil && errPeriod == nil && q > 0 && p > 0 {
		cpus = q / p
	}
	limit := cmp.Or(readText(root, "memory.max"), readText(root, "memory/memory.limit_in_bytes"))
	if n, err := strconv.ParseUint(limit, 10, 64); err == nil && n < memory {
		bytes = n
	}
	return cpus, bytes
}

// controlGroupMemory reads how much memory a container has in use, and how much
// of that are files that were not used of late, in bytes.
func controlGroupMemory(root string) (used, files uint64) {
	used, _ = strconv.ParseUint(cmp.Or(readText(root, "memory.current"), readText(root, "memory/memory.usage_in_bytes")), 10, 64)
	for line := range strings.Lines(cmp.Or(readText(root, "memory.stat"), readText(root, "memory/memory.stat"))) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "total_inactive_file" || name == "inactive_file" && files == 0 { // the first is with those of its children
			files, _ = strconv.ParseUint(value, 10, 64)
		}
	}
	return used, files
}

// readText reads a file of the kernel's; empty if it is not there.
func readText(root, name string) string {
	data, err := os.ReadFile(root + "/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
