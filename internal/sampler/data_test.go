package sampler

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDataSizesAreThoseOnDisk(t *testing.T) {
	folder := t.TempDir()
	for name, size := range map[string]int{"data/etcd/member/db": 100_000, "log/etcd/0.wal": 50_000, "data/postgres/base": 8192} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hole, err := os.Create(filepath.Join(folder, "data/etcd/hole"))
	if err != nil {
		t.Fatal(err)
	}
	if err := hole.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]float64{}
	for _, sample := range dataSizes([]string{filepath.Join(folder, "data"), filepath.Join(folder, "log")}) {
		sizes[sample.Series.Labels.Get("component")] = sample.Value
	}
	if etcd := sizes["etcd"]; etcd < 150_000 || etcd > 200_000 {
		t.Errorf("etcd takes %v bytes, want what its two files do, and nothing for the hole", etcd)
	}
	if postgres := sizes["postgres"]; postgres < 8192 || postgres > 20_000 {
		t.Errorf("postgres takes %v bytes", postgres)
	}
}
