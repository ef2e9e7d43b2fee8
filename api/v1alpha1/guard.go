package v1alpha1

// Guard ends the load, in order, before the machine that plimsoll runs on is
// lost. What was measured until then is kept, and the run has missed an objective.
type Guard struct {
	// False for a load that goes on whatever becomes of this machine. Default true for local targets.
	Enabled *bool `json:"enabled,omitempty"`
	// Least memory that stays available on this machine (MemAvailable), and of the limit of the container that plimsoll is in. Default 1GiB, or a twentieth of what it has if that is less.
	Memory Bytes `json:"memory,omitempty"`
	// Least space that stays free where results and the target's data are. Default 1GiB, or a twentieth of the file system if that is less.
	Disk Bytes `json:"disk,omitempty"`
}

// setGuard guards this machine where it carries the target.
func (s *Spec) setGuard() {
	if s.Guard == nil && s.Target.Local != nil {
		s.Guard = &Guard{}
	}
}

// On says whether the load is ended at all.
func (g *Guard) On() bool { return g != nil && (g.Enabled == nil || *g.Enabled) }

// InWords says when the load is ended.
func (g *Guard) InWords() string {
	if !g.On() {
		return "none: the load goes on whatever becomes of this machine"
	}
	least := func(b Bytes) string {
		if b == 0 {
			return "1GiB (or a twentieth)"
		}
		return b.String()
	}
	return "the load ends when less than " + least(g.Memory) + " of memory is available, or " + least(g.Disk) + " of disk is free"
}
