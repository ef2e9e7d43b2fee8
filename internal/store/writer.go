package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

	operations, counters, events *os.File

	// For WriteInterval alone, which is called from one goroutine at a time.
	encoder *encoder
	line    []byte

	mu sync.Mutex // events come from many sides
}

// CreateRun makes the directory of the run that info describes.
func (r *Results) CreateRun(info RunInfo) (*RunWriter, error) {
	info.SchemaVersion = SchemaVersion
	w := &RunWriter{dir: r.runDir(info.Index, info.Name), started: info.Started, encoder: newEncoder()}
	for _, dir := range []string{w.LogDir(), w.MetricsDir(), w.WorkDir()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make run directory: %w", err)
		}
	}
	if err := writeJSON(filepath.Join(w.dir, runFile), info); err != nil {
		return nil, err
	}
	if err := w.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("make run directory: %w", err), w.closeFiles())
	}
	return w, nil
}

// open makes the files that grow with the run.
func (w *RunWriter) open() (err error) {
	create := func(name string) *os.File {
		file, failure := os.Create(filepath.Join(w.dir, name))
		err = errors.Join(err, failure)
		return file
	}
	w.operations, w.counters, w.events = create(operationsFile), create(countersFile), create(eventsFile)
	if err != nil {
		return err
	}
	log := hdrhistogram.NewHistogramLogWriter(w.operations)
	return errors.Join(
		log.OutputLogFormatVersion(),
		log.OutputComment("[plimsoll: nanoseconds; tag = phase.operation.timing.outcome.clock]"),
		log.OutputStartTime(w.started.UnixMilli()),
		log.OutputLegend(),
	)
}

// Dir is the run's directory; LogDir, MetricsDir and WorkDir are folders in
// it, of which WorkDir (the target's data) is removed at the end.
func (w *RunWriter) Dir() string        { return w.dir }
func (w *RunWriter) LogDir() string     { return filepath.Join(w.dir, logsDir) }
func (w *RunWriter) MetricsDir() string { return filepath.Join(w.dir, metricsDir) }
func (w *RunWriter) WorkDir() string    { return filepath.Join(w.dir, workDir) }

// Profile makes the file for a profile that was taken of a component in a step.
func (w *RunWriter) Profile(step, component string) (io.WriteCloser, error) {
	folder := filepath.Join(w.dir, profilesDir)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of profiles: %w", err)
	}
	file, err := os.Create(filepath.Join(folder, step+"-"+component+profileSuffix))
	if err != nil {
		return nil, fmt.Errorf("make the file of a profile: %w", err)
	}
	return file, nil
}

// WriteInterval implements record.Sink. A second's counts are written before
// its times: what a kill between the two loses is the lesser part.
func (w *RunWriter) WriteInterval(i record.Interval) error {
	series, err := seriesName(i)
	if err != nil {
		return err
	}
	line, err := json.Marshal(counter{i.Second, series, i.Count, i.Bytes, i.Items, i.Reasons})
	if err != nil {
		return fmt.Errorf("write %s: %w", countersFile, err)
	}
	if _, err := w.counters.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", countersFile, err)
	}
	begin := float64(w.started.UnixMilli())/1000 + float64(i.Second)
	for _, clock := range []Clock{Service, Response, Lag} {
		h := clock.of(i)
		if h == nil {
			continue
		}
		w.encoder.load(h)
		// As hdrhistogram.HistogramLogWriter writes it: tag, begin and length in seconds, highest value in milliseconds.
		w.line = fmt.Appendf(w.line[:0], "Tag=%s.%s,%f,%f,%f,", series, clock, begin, 1.0, float64(w.encoder.highest())/1e6)
		w.line = append(w.encoder.append(w.line), '\n')
		if _, err := w.operations.Write(w.line); err != nil {
			return fmt.Errorf("write %s: %w", operationsFile, err)
		}
	}
	return nil
}

// Event keeps an event.
func (w *RunWriter) Event(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write %s: %w", eventsFile, err)
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
// the run ended as planned; only one whose files could be ended is marked so.
func (w *RunWriter) Close(complete bool) error {
	err := errors.Join(w.closeFiles(), os.RemoveAll(w.WorkDir()))
	if err != nil {
		return fmt.Errorf("close run directory: %w", err)
	}
	if !complete {
		return nil
	}
	if err := os.WriteFile(filepath.Join(w.dir, completeFile), nil, 0o644); err != nil {
		return fmt.Errorf("close run directory: %w", err)
	}
	return nil
}

func (w *RunWriter) closeFiles() error {
	var errs []error
	for _, file := range []*os.File{w.operations, w.counters, w.events} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}
