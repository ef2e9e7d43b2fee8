package sampler

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll.dev/plimsoll/internal/metrics"
)

// dataInterval is the time between two looks at the size of data: a database
// may have a thousand files.
const dataInterval = 5 * time.Second

// dataSizes gives how much space the files of each component take on disk, in
// all folders together, as `du` counts: preallocated space is in it, holes are not.
func dataSizes(folders []string) []metrics.Sample {
	sizes := map[string]int64{}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil // going away with the target
		}
		for _, entry := range entries {
			sizes[entry.Name()] += diskUsage(filepath.Join(folder, entry.Name()))
		}
	}
	var samples []metrics.Sample
	for component, size := range sizes {
		series := &metrics.Series{Labels: labels.FromStrings(model.MetricNameLabel, "data_size_bytes", "component", component)}
		samples = append(samples, metrics.Sample{Series: series, Value: float64(size)})
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
