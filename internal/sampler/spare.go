package sampler

import (
	"context"
	"fmt"
	"slices"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"
)

// Spare is what this machine has left of its memory, or of a disk.
type Spare struct {
	// Folder is one on the disk; empty for memory.
	Folder string
	// Free and Total are in bytes. Of memory, Free is what can be had without swapping.
	Free, Total uint64
}

// ReadSpare gives the memory, and the disk of each folder. What cannot be read is left out.
func ReadSpare(ctx context.Context, folders ...string) []Spare {
	var all []Spare
	if memory, err := mem.VirtualMemoryWithContext(ctx); err == nil && memory.Total > 0 {
		all = append(all, spareWithin(controlGroups, Spare{Free: memory.Available, Total: memory.Total}))
	}
	for _, folder := range slices.Compact(folders) {
		if usage, err := disk.UsageWithContext(ctx, folder); err == nil && usage.Total > 0 {
			all = append(all, Spare{Folder: folder, Free: usage.Free, Total: usage.Total})
		}
	}
	return all
}

// spareWithin is what a control group leaves of the machine's memory: its files
// in the page cache can be had again, as they can of a machine.
func spareWithin(root string, machine Spare) Spare {
	_, limit := controlGroupLimits(root, machine.Total)
	if limit == 0 {
		return machine
	}
	used, files := controlGroupMemory(root)
	free := limit - min(limit, used-min(used, files))
	return Spare{Free: min(free, machine.Free), Total: limit}
}

// What it is, in words.
func (s Spare) What() string {
	if s.Folder == "" {
		return "memory available"
	}
	return "disk free"
}

func (s Spare) String() string {
	if s.Folder == "" {
		return Size(float64(s.Free)) + " of memory is available"
	}
	return fmt.Sprintf("%s is free on the disk of %s", Size(float64(s.Free)), s.Folder)
}

// Size writes bytes for people.
func Size(bytes float64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", bytes/(1<<30))
	}
	return fmt.Sprintf("%.0f MiB", bytes/(1<<20))
}
