package engine

import (
	"strings"
	"testing"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/sampler"
)

func TestWhatTheGuardKeepsFree(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for _, row := range []struct {
		name  string
		guard v1.Guard
		spare sampler.Spare
		want  string // of the message; empty: there is enough
	}{
		{"a GiB of a big machine's memory", v1.Guard{}, sampler.Spare{Free: 1100 * mib, Total: 64 * gib}, ""},
		{"and not less", v1.Guard{}, sampler.Spare{Free: 900 * mib, Total: 64 * gib}, "guard.memory keeps free (1.0 GiB)"},
		{"a twentieth of a small one's", v1.Guard{}, sampler.Spare{Free: 300 * mib, Total: 4 * gib}, ""},
		{"and not less", v1.Guard{}, sampler.Spare{Free: 100 * mib, Total: 4 * gib}, "guard.memory keeps free (205 MiB)"},
		{"what the document says of memory", v1.Guard{Memory: 8 * gib}, sampler.Spare{Free: 7 * gib, Total: 64 * gib}, "guard.memory keeps free (8.0 GiB)"},
		{"is not about disks", v1.Guard{Memory: 8 * gib}, sampler.Spare{Folder: "/data", Free: 7 * gib, Total: 64 * gib}, ""},
		{"what it says of disks", v1.Guard{Disk: 8 * gib}, sampler.Spare{Folder: "/data", Free: 7 * gib, Total: 64 * gib}, "7.0 GiB is free on the disk of /data, less than guard.disk"},
	} {
		e := shortage(&row.guard, []sampler.Spare{row.spare})
		switch {
		case e == nil && row.want != "":
			t.Errorf("%s: enough", row.name)
		case e != nil && (row.want == "" || !strings.Contains(e.Message, row.want)):
			t.Errorf("%s: %s", row.name, e.Message)
		}
	}
}
