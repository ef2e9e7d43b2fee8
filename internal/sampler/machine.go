package sampler

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/shirou/gopsutil/v4/disk"

	"plimsoll.dev/plimsoll/internal/metrics"
)

// HostComponent is the component name under which the machine that plimsoll
// runs on is sampled.
const HostComponent = "host"

// machine reads what the whole machine does: the figures of Prometheus's
// node_exporter, under its names and with its labels, so that an expression
// also works where that runs. What the kernel does not tell, say in a
// container, is left out silently.
type machine struct {
	proc    procfs.FS
	blocks  blockdevice.FS
	mounts  []mount
	known   map[seriesKey]*metrics.Series
	idle    map[seriesKey]float64 // the highest reading of counters that may step back
	samples []metrics.Sample
}

// seriesKey tells the machine's series apart without building their labels anew.
type seriesKey struct {
	metric        string
	device, other string // of a CPU: its number and the mode
}

// newMachine gives a machine whose free space is sampled where the folders are.
// It is nil where there is no /proc to read.
func newMachine(ctx context.Context, folders []string) *machine {
	proc, err := procfs.NewFS(procfs.DefaultMountPoint)
	if err != nil {
		return nil
	}
	// An error leaves no devices, and no more.
	blocks, _ := blockdevice.NewFS(procfs.DefaultMountPoint, "/sys")
	m := &machine{proc: proc, blocks: blocks, known: map[seriesKey]*metrics.Series{}, idle: map[seriesKey]float64{}}
	for _, folder := range folders {
		m.watch(mountOf(ctx, folder))
	}
	return m
}

// watch adds a file system, once.
func (m *machine) watch(added mount) {
	for _, known := range m.mounts {
		if known.point == added.point {
			return
		}
	}
	if added.point != "" {
		m.mounts = append(m.mounts, added)
	}
}

// read gives all figures of a moment, each source read once. What it returns is
// reused by the next call.
func (m *machine) read(ctx context.Context) []metrics.Sample {
	m.samples = m.samples[:0]
	m.readCPU()
	m.readLoad()
	m.readMemory()
	m.readDisks()
	m.readNetwork()
	m.readPressure()
	m.readFileSystems(ctx)
	return m.samples
}

func (m *machine) readCPU() {
	stat, err := m.proc.Stat()
	if err != nil {
		return
	}
	for number, cpu := range stat.CPU {
		id := strconv.FormatInt(number, 10)
		for mode, seconds := range map[string]float64{
			"user": cpu.User, "nice": cpu.Nice, "system": cpu.System, "irq": cpu.IRQ, "softirq": cpu.SoftIRQ, "steal": cpu.Steal,
		} {
			m.add(seriesKey{"node_cpu_seconds_total", id, mode}, seconds)
		}
		m.addIdle(seriesKey{"node_cpu_seconds_total", id, "idle"}, cpu.Idle)
		m.addIdle(seriesKey{"node_cpu_seconds_total", id, "iowait"}, cpu.Iowait)
	}
}

// idleStep is how far the kernel's idle and iowait times may step back without
// the CPU having been away; its estimates of these are not monotonic, and a
// counter that falls a little would look like one that began anew.
const idleStep = 3.0

func (m *machine) addIdle(key seriesKey, seconds float64) {
	if highest := m.idle[key]; seconds < highest && highest-seconds < idleStep {
		seconds = highest
	}
	m.idle[key] = seconds
	m.add(key, seconds)
}

func (m *machine) readLoad() {
	load, err := m.proc.LoadAvg()
	if err != nil {
		return
	}
	m.add(seriesKey{metric: "node_load1"}, load.Load1)
	m.add(seriesKey{metric: "node_load5"}, load.Load5)
	m.add(seriesKey{metric: "node_load15"}, load.Load15)
}

func (m *machine) readMemory() {
	memory, err := m.proc.Meminfo()
	if err != nil {
		return
	}
	for name, bytes := range map[string]*uint64{
		"node_memory_MemTotal_bytes": memory.MemTotalBytes, "node_memory_MemFree_bytes": memory.MemFreeBytes,
		"node_memory_MemAvailable_bytes": memory.MemAvailableBytes, "node_memory_Buffers_bytes": memory.BuffersBytes,
		"node_memory_Cached_bytes": memory.CachedBytes, "node_memory_Dirty_bytes": memory.DirtyBytes,
		"node_memory_Writeback_bytes": memory.WritebackBytes, "node_memory_SwapTotal_bytes": memory.SwapTotalBytes,
		"node_memory_SwapFree_bytes": memory.SwapFreeBytes,
	} {
		if bytes != nil { // kernels differ in what they tell
			m.add(seriesKey{metric: name}, float64(*bytes))
		}
	}
}

// unreal are the devices that node_exporter leaves out too: memory, loops and
// partitions, whose figures are in those of their disk.
var unreal = regexp.MustCompile(`^(z?ram|loop|fd|(h|s|v|xv)d[a-z]|nvme\d+n\d+p)\d+$`)

func (m *machine) readDisks() {
	if m.blocks == (blockdevice.FS{}) {
		return
	}
	disks, err := m.blocks.ProcDiskstats()
	if err != nil {
		return
	}
	for _, d := range disks {
		if !unreal.MatchString(d.DeviceName) {
			m.addDisk(d)
		}
	}
}

// sectorBytes is the unit of /proc/diskstats, whatever the device's own is.
const sectorBytes = 512

// The fields of /proc/diskstats that kernels from 5.5 on have.
const fieldsWithFlushes = 20

func (m *machine) addDisk(d blockdevice.Diskstats) {
	add := func(metric string, value float64) { m.add(seriesKey{metric: metric, device: d.DeviceName}, value) }
	add("node_disk_reads_completed_total", float64(d.ReadIOs))
	add("node_disk_writes_completed_total", float64(d.WriteIOs))
	add("node_disk_read_bytes_total", float64(d.ReadSectors)*sectorBytes)
	add("node_disk_written_bytes_total", float64(d.WriteSectors)*sectorBytes)
	add("node_disk_read_time_seconds_total", seconds(d.ReadTicks))
	add("node_disk_write_time_seconds_total", seconds(d.WriteTicks))
	add("node_disk_io_now", float64(d.IOsInProgress))
	add("node_disk_io_time_seconds_total", seconds(d.IOsTotalTicks))
	add("node_disk_io_time_weighted_seconds_total", seconds(d.WeightedIOTicks))
	if d.IoStatsCount >= fieldsWithFlushes {
		add("node_disk_flush_requests_total", float64(d.FlushRequestsCompleted))
		add("node_disk_flush_requests_time_seconds_total", seconds(d.TimeSpentFlushing))
	}
}

// seconds converts the milliseconds of /proc/diskstats.
func seconds(milliseconds uint64) float64 { return float64(milliseconds) / 1000 }

func (m *machine) readNetwork() {
	interfaces, err := m.proc.NetDev()
	if err != nil {
		return
	}
	for name, i := range interfaces {
		// Of the ends of containers a busy machine has hundreds, which come and go.
		if strings.HasPrefix(name, "veth") {
			continue
		}
		m.add(seriesKey{metric: "node_network_receive_bytes_total", device: name}, float64(i.RxBytes))
		m.add(seriesKey{metric: "node_network_transmit_bytes_total", device: name}, float64(i.TxBytes))
	}
}

// readPressure reads for how long work has waited for a resource: some of it
// (waiting), or all of it (stalled).
func (m *machine) readPressure() {
	for _, resource := range []string{"cpu", "io", "memory"} {
		pressure, err := m.proc.PSIStatsForResource(resource)
		if err != nil {
			continue
		}
		if pressure.Some != nil {
			m.add(seriesKey{metric: "node_pressure_" + resource + "_waiting_seconds_total"}, float64(pressure.Some.Total)/1e6)
		}
		// All of a machine cannot wait for CPUs, so the kernel's line for that has no meaning.
		if pressure.Full != nil && resource != "cpu" {
			m.add(seriesKey{metric: "node_pressure_" + resource + "_stalled_seconds_total"}, float64(pressure.Full.Total)/1e6)
		}
	}
}

func (m *machine) readFileSystems(ctx context.Context) {
	for _, at := range m.mounts {
		usage, err := disk.UsageWithContext(ctx, at.point)
		if err != nil {
			continue
		}
		m.add(seriesKey{"node_filesystem_size_bytes", at.device, at.point}, float64(usage.Total))
		m.add(seriesKey{"node_filesystem_avail_bytes", at.device, at.point}, float64(usage.Free))
	}
}

// add keeps one value; the series is made when it is met first.
func (m *machine) add(key seriesKey, value float64) {
	series := m.known[key]
	if series == nil {
		series = &metrics.Series{Labels: m.labels(key)}
		m.known[key] = series
	}
	m.samples = append(m.samples, metrics.Sample{Series: series, Value: value})
}

// labels are those of node_exporter, and the component.
func (m *machine) labels(key seriesKey) labels.Labels {
	pairs := []string{model.MetricNameLabel, key.metric, "component", HostComponent}
	switch {
	case strings.HasPrefix(key.metric, "node_cpu_"):
		pairs = append(pairs, "cpu", key.device, "mode", key.other)
	case strings.HasPrefix(key.metric, "node_filesystem_"):
		pairs = append(pairs, "device", key.device, "mountpoint", key.other)
		for _, at := range m.mounts {
			if at.point == key.other {
				pairs = append(pairs, "fstype", at.kind)
			}
		}
	case key.device != "":
		pairs = append(pairs, "device", key.device)
	}
	return labels.FromStrings(pairs...)
}
