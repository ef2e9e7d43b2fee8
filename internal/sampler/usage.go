package sampler

import (
	"github.com/prometheus/procfs"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/target"
)

// usage is what a process uses, or with all that descend from it.
type usage struct {
	cpu            float64 // seconds; of a tree, with those of descendants that have ended
	resident       float64 // bytes; of a tree, shared ones counted once
	files, threads float64 // no files are files that may not be counted
}

// clockTicks in a second of /proc/PID/stat: the same on every Linux that Go runs on.
const clockTicks = 100

// read reads a component's process, or its tree; false if it is gone.
func read(p target.Process) (u usage, ok bool) {
	if p.Tree {
		u = readTree(p.PID)
		return u, u.threads > 0
	}
	process, err := newProcess(p.PID)
	if err != nil {
		return u, false
	}
	return usage{
		cpu: process.stat.CPUTime(), resident: float64(process.stat.ResidentMemory()), files: process.files(), threads: float64(process.stat.NumThreads),
	}, true
}

// readTree sums up a process and its descendants. One that ends while it is read is
// left out; its CPU time then is with its parent.
func readTree(root int) (u usage) {
	for _, p := range tree(root) {
		u.cpu += p.stat.CPUTime() + float64(p.stat.CUTime+p.stat.CSTime)/clockTicks
		u.resident += p.proportional()
		u.files += p.files()
		u.threads += float64(p.stat.NumThreads)
	}
	return u
}

// process is one with what the kernel says of it.
type process struct {
	procfs.Proc
	stat procfs.ProcStat
}

func newProcess(pid int) (p process, err error) {
	if p.Proc, err = procfs.NewProc(pid); err == nil {
		p.stat, err = p.Stat()
	}
	return p, err
}

// tree gives a process with its descendants; none if it is gone.
func tree(root int) []process {
	all := map[int]process{}
	found, _ := procfs.AllProcs()
	for _, p := range found {
		if stat, err := p.Stat(); err == nil {
			all[p.PID] = process{p, stat}
		}
	}
	var descendants []process
	for pid, p := range all {
		if descends(all, pid, root) {
			descendants = append(descendants, p)
		}
	}
	return descendants
}

func descends(all map[int]process, pid, root int) bool {
	for range len(all) { // what is read in several steps might be a circle
		p, ok := all[pid]
		if pid == root || !ok {
			return ok
		}
		pid = p.stat.PPID
	}
	return false
}

func (p process) files() float64 {
	n, _ := p.FileDescriptorsLen()
	return float64(n)
}

// proportional is the resident set size, in which the parts of a page that several
// processes map add up to one page; the plain one where that may not be read.
func (p process) proportional() float64 {
	if maps, err := p.ProcSMapsRollup(); err == nil {
		return float64(maps.Pss)
	}
	return float64(p.stat.ResidentMemory())
}

// usageSeries are those of a component's usage, which go on when it is started again.
type usageSeries struct{ cpu, resident, files, threads *metrics.Series }

func newUsageSeries(component string) usageSeries {
	return usageSeries{
		cpu: newSeries("process_cpu_seconds_total", component), resident: newSeries("process_resident_memory_bytes", component),
		files: newSeries("process_open_fds", component), threads: newSeries("process_threads", component),
	}
}

func (s usageSeries) samples(u usage) []metrics.Sample {
	all := []metrics.Sample{{Series: s.cpu, Value: u.cpu}, {Series: s.resident, Value: u.resident}, {Series: s.threads, Value: u.threads}}
	if u.files > 0 {
		all = append(all, metrics.Sample{Series: s.files, Value: u.files})
	}
	return all
}
