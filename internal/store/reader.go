package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
)

// Run is one run as read back.
type Run struct {
	Dir         string
	Info        RunInfo
	Environment Environment
	Events      []Event
	// Queries are the answers of another Prometheus; nil if none was asked.
	Queries *Queries
	// Complete says that the run ended as planned.
	Complete bool
	// Unreadable says why nothing is known of the run but its index and name,
	// which its folder tells; nil if more is known.
	Unreadable error
	// Damage lists what could not be read, in words.
	Damage []string
}

// OpenRun reads one run by its own directory.
func OpenRun(dir string) (*Run, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	run, err := openRun(dir)
	if err != nil {
		return nil, err
	}
	return run, run.Unreadable
}

// IsRun says whether a directory is that of a run, rather than of results.
func IsRun(dir string) bool { return exists(filepath.Join(dir, runFile)) }

// longestRun bounds the seconds that files may name, so that a damaged one
// cannot make a reader draw a chart of centuries.
const longestRun = 90 * 24 * 60 * 60

// openRun reads what is small of a run. The error is of a run that another
// version of plimsoll must read; any other trouble is the run's own.
func openRun(dir string) (*Run, error) {
	run := &Run{Dir: dir, Complete: exists(filepath.Join(dir, completeFile))}
	if err := readJSON(filepath.Join(dir, runFile), &run.Info); err != nil {
		if errors.Is(err, ErrNewer) {
			return nil, err
		}
		run.Unreadable = err
		run.Info.Index, run.Info.Name, _ = parseRunFolder(filepath.Base(dir))
		return run, nil
	}
	var unknown error
	if err := readJSON(filepath.Join(dir, environmentFile), &run.Environment); err != nil {
		if errors.Is(err, ErrNewer) {
			return nil, err
		}
		unknown = err
	}
	if err := run.readQueries(); err != nil {
		return nil, err
	}
	run.lines(eventsFile, run.addEvent)
	if unknown != nil && (!run.Starting() || exists(filepath.Join(dir, environmentFile))) {
		run.damaged("%v", unknown)
	}
	if run.Complete && !slices.ContainsFunc(run.Events, func(e Event) bool { return e.Kind == RunEnded }) {
		run.damaged("%s lacks the end of the run", eventsFile)
	}
	return run, nil
}

// Starting says that the run began and its target was not ready yet when it was
// last heard of: that files are missing is then no damage.
func (r *Run) Starting() bool {
	if counted, err := os.Stat(filepath.Join(r.Dir, countersFile)); err == nil && counted.Size() > 0 {
		return false
	}
	return !r.Complete && !slices.ContainsFunc(r.Events, func(e Event) bool {
		return e.Kind == TargetReady || e.Kind == StepStarted || e.Kind == RunEnded || e.Kind == RunFailed
	})
}

func (r *Run) addEvent(line []byte) error {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	if e.At < 0 || e.At > longestRun {
		return fmt.Errorf("an event at %g s lies outside of any run", e.At)
	}
	r.Events = append(r.Events, e)
	return nil
}

// Profile is a CPU profile of a component, for go tool pprof.
type Profile struct {
	Name string `json:"name"` // STEP-COMPONENT
	Path string `json:"path"` // from the results directory, with slashes
}

// Profiles lists the profiles that the run took.
func (r *Run) Profiles() []Profile {
	var all []Profile
	entries, _ := os.ReadDir(filepath.Join(r.Dir, profilesDir)) // a run without profiles has no such folder
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), profileSuffix); ok {
			all = append(all, Profile{name, path.Join(runsDir, filepath.Base(r.Dir), profilesDir, entry.Name())})
		}
	}
	return all
}

// MetricsDir and LogDir are the run's folders of these.
func (r *Run) MetricsDir() string { return filepath.Join(r.Dir, metricsDir) }
func (r *Run) LogDir() string     { return filepath.Join(r.Dir, logsDir) }

// Counters calls each with every second of every series, in the order written;
// the intervals have no histograms. What cannot be read is skipped and becomes
// damage.
func (r *Run) Counters(each func(record.Interval)) {
	r.lines(countersFile, func(line []byte) error {
		var c counter
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		i, err := c.interval()
		if err != nil {
			return err
		}
		each(i)
		return nil
	})
}

// Second is the times of one second of a series on one clock. It is valid only
// during the call that it is handed to.
type Second struct{ decoder *decoder }

// AddTo adds the times to a histogram.
func (s Second) AddTo(h *hdrhistogram.Histogram) error { return s.decoder.addTo(h) }

// Median is the median of the times; false says that there are none.
func (s Second) Median() (time.Duration, bool) { return s.decoder.median() }

// Each calls do with every time of which there are any, and how many there are.
func (s Second) Each(do func(value time.Duration, count int64)) {
	for _, b := range s.decoder.buckets {
		do(time.Duration(b.value), b.count)
	}
}

// Seconds calls each with every second of every series and clock, in the order
// written. What cannot be read is skipped and becomes damage.
func (r *Run) Seconds(each func(record.Interval, Clock, Second) error) {
	started := float64(r.Info.Started.UnixMilli()) / 1000
	decoder := newDecoder()
	r.lines(operationsFile, func(line []byte) error {
		if line[0] == '#' || line[0] == '"' { // comments and the legend
			return nil
		}
		tag, begin, histogram, err := splitLogLine(line)
		if err != nil {
			return err
		}
		i, clock, err := parseTag(tag)
		if err != nil {
			return err
		}
		second := math.Round(begin - started)
		if !(second >= 0 && second <= longestRun) { // nor is NaN
			return fmt.Errorf("its beginning, %f, lies outside of the run", begin)
		}
		i.Second = int(second)
		if err := decoder.decode(histogram); err != nil {
			return err
		}
		return each(i, clock, Second{decoder})
	})
}

// splitLogLine reads a line Tag=TAG,BEGIN,LENGTH,MAX,HISTOGRAM of an HDR
// histogram log. The library's reader would compile its patterns for each.
func splitLogLine(line []byte) (tag string, begin float64, histogram []byte, err error) {
	field := bytes.SplitN(line, []byte{','}, 5)
	name, tagged := bytes.CutPrefix(field[0], []byte("Tag="))
	if len(field) != 5 || !tagged {
		return "", 0, nil, errors.New("not a tagged line of an HDR histogram log")
	}
	begin, err = strconv.ParseFloat(string(field[1]), 64)
	return string(name), begin, field[4], err
}

// longestLine is more than plimsoll ever writes: a histogram with a count in
// every bucket takes 400 kB.
const longestLine = 1 << 20

// lines calls each with every whole line of a file; each must not keep it. An
// unfinished last line is what a kill leaves, and no damage.
func (r *Run) lines(name string, each func([]byte) error) {
	file, err := os.Open(filepath.Join(r.Dir, name))
	if err != nil {
		if !r.Starting() || !errors.Is(err, fs.ErrNotExist) {
			r.damaged("%v", err)
		}
		return
	}
	defer file.Close()
	reader := bufio.NewReaderSize(file, longestLine)
	var skipped skippedLines
	for number := 1; ; number++ {
		line, err := reader.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if line, err = nil, skipLine(reader); err == nil {
				skipped.add(number, fmt.Errorf("it is longer than %d bytes", longestLine))
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.damaged("%s can be read up to line %d only: %v", name, number, err)
			}
			break
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			skipped.add(number, each(line))
		}
	}
	if skipped.count > 0 {
		r.damaged("%s: %v", name, skipped)
	}
}

// skipLine reads to the end of a line.
func skipLine(reader *bufio.Reader) error {
	for {
		if _, err := reader.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// skippedLines are the lines of a file that cannot be understood.
type skippedLines struct {
	count  int
	number int // of the first
	err    error
}

func (s *skippedLines) add(number int, err error) {
	if err == nil {
		return
	}
	if s.count++; s.count == 1 {
		s.number, s.err = number, err
	}
}

func (s skippedLines) String() string {
	if s.count == 1 {
		return fmt.Sprintf("line %d was skipped: %v", s.number, s.err)
	}
	return fmt.Sprintf("%d lines were skipped, the first of them line %d: %v", s.count, s.number, s.err)
}

// damaged notes damage once, however often it is met.
func (r *Run) damaged(format string, args ...any) {
	if message := fmt.Sprintf(format, args...); !slices.Contains(r.Damage, message) {
		r.Damage = append(r.Damage, message)
	}
}
