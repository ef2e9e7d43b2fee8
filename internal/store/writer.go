package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
)

// RunWriter writes one run's directory while the run goes on. Every call
// writes through to the file, so a killed run is readable up to its last
// second.
type RunWriter struct {
	dir     string
	started time.Time

	mu         sync.Mutex // events come from many sides
	operations *os.File
	log        *hdrhistogram.HistogramLogWriter
	counters   *os.File
	events     *os.File
}

// CreateRun makes the directory of the run that info describes.
func (r *Results) CreateRun(info RunInfo) (*RunWriter, error) {
	info.SchemaVersion = SchemaVersion
	dir := filepath.Join(r.Dir, runsDir, fmt.Sprintf("%04d-%s", info.Index, info.Name))
	for _, d := range []string{dir, filepath.Join(dir, logsDir), filepath.Join(dir, metricsDir), filepath.Join(dir, workDir)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("make run directory: %w", err)
		}
	}
	if err := writeJSON(filepath.Join(dir, runFile), info); err != nil {
		return nil, err
	}
	w := &RunWriter{dir: dir, started: info.Started}
	for name, file := range map[string]**os.File{operationsFile: &w.operations, countersFile: &w.counters, eventsFile: &w.events} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("make run directory: %w", err)
		}
		*file = f
	}
	w.log = hdrhistogram.NewHistogramLogWriter(w.operations)
	return w, errors.Join(
		w.log.OutputLogFormatVersion(),
		w.log.OutputComment("[plimsoll: nanoseconds; tag = phase.operation.timing.outcome.clock]"),
		w.log.OutputStartTime(info.Started.UnixMilli()),
		w.log.OutputLegend(),
	)
}

// Dir is the run's directory; LogDir, MetricsDir and WorkDir are folders in
// it, of which WorkDir (the target's data) is removed at the end.
func (w *RunWriter) Dir() string        { return w.dir }
func (w *RunWriter) LogDir() string     { return filepath.Join(w.dir, logsDir) }
func (w *RunWriter) MetricsDir() string { return filepath.Join(w.dir, metricsDir) }
func (w *RunWriter) WorkDir() string    { return filepath.Join(w.dir, workDir) }

// counter is a line of counters.jsonl.
type counter struct {
	Second  int              `json:"second"`
	Series  string           `json:"series"` // phase.operation.timing.outcome
	Count   int64            `json:"count"`
	Bytes   int64            `json:"bytes,omitempty"`
	Items   int64            `json:"items,omitempty"`
	Reasons map[string]int64 `json:"reasons,omitempty"`
}

// The clocks of a histogram's tag.
const (
	service  = "service"
	response = "response"
	lag      = "lag"
)

// WriteInterval implements record.Sink.
func (w *RunWriter) WriteInterval(i record.Interval) error {
	series := strings.Join([]string{i.Phase, i.Op, timingName(i.Timing), i.Outcome.String()}, ".")
	line, err := json.Marshal(counter{i.Second, series, i.Count, i.Bytes, i.Items, i.Reasons})
	if err != nil {
		return err
	}
	if _, err := w.counters.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", countersFile, err)
	}
	for clock, h := range map[string]*hdrhistogram.Histogram{service: i.Service, response: i.Response, lag: i.Lag} {
		if h == nil {
			continue
		}
		begin := w.started.UnixMilli() + int64(i.Second)*1000
		h.SetTag(series + "." + clock)
		h.SetStartTimeMs(begin)
		h.SetEndTimeMs(begin + 1000)
		if err := w.log.OutputIntervalHistogram(h); err != nil {
			return fmt.Errorf("write %s: %w", operationsFile, err)
		}
	}
	return nil
}

// Event keeps an event.
func (w *RunWriter) Event(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.events.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", eventsFile, err)
	}
	return nil
}

// Environment keeps what the run runs on.
func (w *RunWriter) Environment(e Environment) error {
	e.SchemaVersion = SchemaVersion
	return writeJSON(filepath.Join(w.dir, environmentFile), e)
}

// Close ends the run's files and removes its working data. complete says that
// the run ended as planned.
func (w *RunWriter) Close(complete bool) error {
	err := errors.Join(w.operations.Close(), w.counters.Close(), w.events.Close(), os.RemoveAll(w.WorkDir()))
	if err != nil || !complete {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, completeFile), nil, 0o644)
}

func timingName(t record.Timing) string {
	return [...]string{"closed", "open", "part", "dispatch"}[t]
}
