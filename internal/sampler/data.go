package sampler

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll.dev/plimsoll/internal/metrics"
)

// dataInterval is the time between two looks at the size of data: a database
// may have a thousand files.
const dataInterval = 5 * time.Second

// dataSizes gives how much space the files of each component take on disk, as
// `du` counts: preallocated space is in it, holes are not.
func dataSizes(folder string) []metrics.Sample {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // going away with the target
	}
	var samples []metrics.Sample
	for _, entry := range entries {
		series := &metrics.Series{Labels: labels.FromStrings(labels.MetricName, "data_size_bytes", "component", entry.Name())}
		samples = append(samples, metrics.Sample{Series: series, Value: float64(diskUsage(filepath.Join(folder, entry.Name())))})
	}
	return samples
}

// diskUsage is the space of all files below a path. What vanishes meanwhile does not count.
func diskUsage(path string) int64 {
	var total int64
	_ = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			total += allocated(info)
		}
		return nil
	})
	return total
}
