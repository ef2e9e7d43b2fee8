package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
)

// Run is one run as read back.
type Run struct {
	Dir         string
	Info        RunInfo
	Environment Environment
	Events      []Event
	// Complete says that the run ended as planned.
	Complete bool
	// Damage lists what could not be read, in words.
	Damage []string
}

func openRun(dir string) (*Run, error) {
	run := &Run{Dir: dir, Complete: exists(filepath.Join(dir, completeFile))}
	if err := readJSON(filepath.Join(dir, runFile), &run.Info); err != nil {
		return nil, err
	}
	// A run killed early has no environment yet; what is there must be readable.
	if err := readJSON(filepath.Join(dir, environmentFile), &run.Environment); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		run.damaged("%s is missing", environmentFile)
	}
	run.lines(eventsFile, func(line []byte) error {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		run.Events = append(run.Events, e)
		return nil
	})
	return run, nil
}

// MetricsDir and LogDir are the run's folders of these.
func (r *Run) MetricsDir() string { return filepath.Join(r.Dir, metricsDir) }
func (r *Run) LogDir() string     { return filepath.Join(r.Dir, logsDir) }

// Counters calls each with every second of every series, in the order written;
// the intervals have no histograms.
func (r *Run) Counters(each func(record.Interval)) {
	r.lines(countersFile, func(line []byte) error {
		var c counter
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		i, _, err := parseSeries(c.Series)
		if err != nil {
			return err
		}
		i.Second, i.Count, i.Bytes, i.Items, i.Reasons = c.Second, c.Count, c.Bytes, c.Items, c.Reasons
		each(i)
		return nil
	})
}

// Histograms calls each with every second of every series and one of its
// three histograms. What cannot be decoded is skipped and becomes damage.
func (r *Run) Histograms(each func(record.Interval)) {
	startSeconds := float64(r.Info.Started.UnixMilli()) / 1000
	r.lines(operationsFile, func(line []byte) error {
		if line[0] == '#' || line[0] == '"' { // comments and the legend
			return nil
		}
		// Tag=NAME,START,LENGTH,MAX,HISTOGRAM: the library's reader would compile its patterns for every line.
		field := strings.SplitN(string(line), ",", 5)
		if len(field) != 5 {
			return errors.New("not a line of an HDR histogram log")
		}
		start, err := strconv.ParseFloat(field[1], 64)
		if err != nil {
			return err
		}
		h, err := hdrhistogram.Decode([]byte(field[4]))
		if err != nil {
			return fmt.Errorf("a histogram cannot be decoded: %w", err)
		}
		i, clock, err := parseSeries(strings.TrimPrefix(field[0], "Tag="))
		if err != nil {
			return err
		}
		i.Second = int(math.Round(start - startSeconds))
		i.Count = h.TotalCount()
		switch clock {
		case service:
			i.Service = h
		case response:
			i.Response = h
		case lag:
			i.Lag = h
		default:
			return fmt.Errorf("unknown clock %q", clock)
		}
		each(i)
		return nil
	})
}

// lines calls each with every whole line of a file. An unfinished last line is
// what a kill leaves and no damage.
func (r *Run) lines(name string, each func([]byte) error) {
	file, err := os.Open(filepath.Join(r.Dir, name))
	if err != nil {
		r.damaged("%s cannot be read: %v", name, err)
		return
	}
	defer file.Close()
	reader := bufio.NewReaderSize(file, 1<<16)
	bad := 0
	var first error
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			break
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := each(line); err != nil {
			if bad++; first == nil {
				first = fmt.Errorf("line %d: %w", number, err)
			}
		}
	}
	if bad > 0 {
		r.damaged("%s: %d lines were skipped, the first: %v", name, bad, first)
	}
}

func (r *Run) damaged(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	for _, known := range r.Damage {
		if known == message {
			return
		}
	}
	r.Damage = append(r.Damage, message)
}

// parseSeries undoes the name that WriteInterval gives a series, with or
// without a clock at its end.
func parseSeries(name string) (record.Interval, string, error) {
	part := strings.Split(name, ".")
	if len(part) < 4 {
		return record.Interval{}, "", fmt.Errorf("series %q has no phase, operation, timing and outcome", name)
	}
	i := record.Interval{Phase: part[0], Op: part[1]}
	timing, ok := find([]record.Timing{record.Closed, record.Open, record.Part, record.Dispatch}, timingName, part[2])
	if !ok {
		return i, "", fmt.Errorf("series %q: unknown timing %q", name, part[2])
	}
	outcome, ok := find(record.Outcomes(), record.Outcome.String, part[3])
	if !ok {
		return i, "", fmt.Errorf("series %q: unknown outcome %q", name, part[3])
	}
	i.Timing, i.Outcome = timing, outcome
	return i, strings.Join(part[4:], "."), nil
}

// find gives the value whose name is name.
func find[T any](values []T, nameOf func(T) string, name string) (found T, ok bool) {
	for _, v := range values {
		if nameOf(v) == name {
			return v, true
		}
	}
	return found, false
}
