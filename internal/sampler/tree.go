package sampler

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"plimsoll.dev/plimsoll/internal/metrics"
)

// tree is what a process and all that descend from it use together.
type tree struct {
	cpu            float64 // seconds, those of descendants that have ended included
	resident       float64 // bytes, shared ones counted once
	files, threads float64
}

// clockTicks in a second of /proc/PID/stat: the same on every Linux that Go runs on.
const clockTicks = 100

// stat is the part of /proc/PID/stat that is needed.
type stat struct {
	parent       int
	cpu, threads float64
}

// sampleTree reads a process with its descendants.
func (w *watched) sampleTree() []metrics.Sample {
	t := readTree(int(w.process.Pid))
	if t.threads == 0 {
		return nil
	}
	return []metrics.Sample{
		{Series: w.cpu, Value: t.cpu}, {Series: w.resident, Value: t.resident},
		{Series: w.files, Value: t.files}, {Series: w.threads, Value: t.threads},
	}
}

// readTree sums up a tree. A process that ends while it is read is left out;
// its CPU time then is with its parent.
func readTree(root int) (t tree) {
	all := readStats()
	for pid, s := range all {
		if !descends(all, pid, root) {
			continue
		}
		t.cpu += s.cpu
		t.threads += s.threads
		t.resident += resident(pid)
		if files, err := os.ReadDir(procFile(pid, "fd")); err == nil {
			t.files += float64(len(files))
		}
	}
	return t
}

func descends(all map[int]stat, pid, root int) bool {
	for range len(all) { // what is read in several steps might be a circle
		s, ok := all[pid]
		if pid == root || !ok {
			return ok
		}
		pid = s.parent
	}
	return false
}

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// readStats reads the stat of every process.
func readStats() map[int]stat {
	all := map[int]stat{}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		if text, err := os.ReadFile(procFile(pid, "stat")); err == nil {
			if s, ok := parseStat(text); ok {
				all[pid] = s
			}
		}
	}
	return all
}

// parseStat reads proc(5)'s fields: 4 is the parent, 14 to 17 are the ticks of
// the process and of its children that were waited for, 20 the threads.
func parseStat(text []byte) (s stat, ok bool) {
	_, rest, found := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(" ")) // the name may hold anything
	fields := bytes.Fields(rest)
	const first = 3
	if !found || len(fields) <= 20-first {
		return s, false
	}
	number := func(field int) float64 {
		n, err := strconv.ParseFloat(string(fields[field-first]), 64)
		if err != nil {
			return 0
		}
		return n
	}
	return stat{
		parent: int(number(4)), cpu: (number(14) + number(15) + number(16) + number(17)) / clockTicks, threads: number(20),
	}, true
}

// resident is the proportional set size, in which the parts of a page that
// several processes map add up to one page; the resident set where that may not be read.
func resident(pid int) float64 {
	for _, source := range []struct{ file, key string }{{"smaps_rollup", "Pss:"}, {"status", "VmRSS:"}} {
		text, err := os.ReadFile(procFile(pid, source.file))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) {
			if fields := bytes.Fields(line); len(fields) > 1 && string(fields[0]) == source.key {
				kib, _ := strconv.ParseFloat(string(fields[1]), 64)
				return kib * 1024
			}
		}
	}
	return 0
}
