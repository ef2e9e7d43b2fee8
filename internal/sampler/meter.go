package sampler

import (
	"context"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"plimsoll.dev/plimsoll/internal/target"
)

// Meter tells how much CPU processes use together.
type Meter struct {
	processes []*process.Process
	trees     []int   // process ids of roots
	used      float64 // CPU seconds at the last reading
	read      time.Time
}

// NewMeter gives a meter that reads from now on.
func NewMeter(ctx context.Context, processes []target.Process) *Meter {
	m := &Meter{}
	for _, p := range processes {
		if p.Tree {
			m.trees = append(m.trees, p.PID)
			continue
		}
		if handle, err := process.NewProcess(int32(p.PID)); err == nil {
			m.processes = append(m.processes, handle)
		}
	}
	m.Read(ctx)
	return m
}

// Read gives the CPUs that the processes have used on average since the last reading.
func (m *Meter) Read(ctx context.Context) float64 {
	used, now := 0.0, time.Now()
	for _, p := range m.processes {
		if times, err := p.TimesWithContext(ctx); err == nil {
			used += times.User + times.System
		}
	}
	for _, root := range m.trees {
		used += readTree(root).cpu
	}
	cpus := (used - m.used) / now.Sub(m.read).Seconds()
	m.used, m.read = used, now
	return max(cpus, 0)
}
