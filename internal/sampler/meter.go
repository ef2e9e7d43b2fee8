package sampler

import (
	"time"

	"plimsoll.dev/plimsoll/internal/target"
)

// Meter tells how much CPU processes use together.
type Meter struct {
	processes []target.Process
	used      float64 // CPU seconds at the last reading
	read      time.Time
}

// NewMeter gives a meter that reads from now on.
func NewMeter(processes []target.Process) *Meter {
	m := &Meter{processes: processes}
	m.Read()
	return m
}

// Read gives the CPUs that the processes have used on average since the last reading.
func (m *Meter) Read() float64 {
	used, now := 0.0, time.Now()
	for _, p := range m.processes {
		u, _ := read(p)
		used += u.cpu
	}
	cpus := (used - m.used) / now.Sub(m.read).Seconds()
	m.used, m.read = used, now
	return max(cpus, 0)
}
