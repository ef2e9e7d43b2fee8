package sampler

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryThatAControlGroupLeaves(t *testing.T) {
	const gib = 1 << 30
	machine := Spare{Free: 20 * gib, Total: 24 * gib}
	for _, row := range []struct {
		name  string
		files map[string]string
		want  Spare
	}{
		{"no control group", nil, machine},
		{"one without a limit", map[string]string{"memory.max": "max\n", "memory.current": "1073741824\n"}, machine},
		{"of the first version, whose largest number is none", map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, machine},
		{"4 GiB, of which 3 are used", map[string]string{"memory.max": "4294967296\n", "memory.current": "3221225472\n"},
			Spare{Free: 1 * gib, Total: 4 * gib}},
		{"and 2 of these by files", map[string]string{"memory.max": "4294967296\n", "memory.current": "3221225472\n", "memory.stat": "anon 7\ninactive_file 2147483648\n"},
			Spare{Free: 3 * gib, Total: 4 * gib}},
		{"the same of the first version", map[string]string{
			"memory/memory.limit_in_bytes": "4294967296\n", "memory/memory.usage_in_bytes": "3221225472\n",
			"memory/memory.stat": "inactive_file 7\ntotal_inactive_file 2147483648\n",
		}, Spare{Free: 3 * gib, Total: 4 * gib}},
		{"more in use than the limit", map[string]string{"memory.max": "1073741824\n", "memory.current": "3221225472\n"}, Spare{Free: 0, Total: 1 * gib}},
		{"a limit above what the machine has left", map[string]string{"memory.max": "23622320128\n", "memory.current": "1024\n"},
			Spare{Free: 20 * gib, Total: 22 * gib}},
	} {
		root := t.TempDir()
		for name, text := range row.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := spareWithin(root, machine); got != row.want {
			t.Errorf("%s: %v of %v is free; want %v of %v", row.name, got.Free, got.Total, row.want.Free, row.want.Total)
		}
	}
}
