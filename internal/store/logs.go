package store

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// LogLine is a line that a component wrote.
type LogLine struct {
	Component string
	// At is when, in seconds from the run's start.
	At   float64
	Text string
	// Grave says that the component calls it a warning, or worse.
	Grave bool
}

// LogLines calls each with every line of every component's log that says when
// it was written, in the order of the files. Components differ in how they say
// it: etcd, Go's structured loggers and databases write the date, in UTC or with
// a zone; klog writes month and day and the time of its zone.
func (r *Run) LogLines(each func(LogLine)) {
	files, err := os.ReadDir(r.LogDir())
	if err != nil {
		return // a borrowed target has none
	}
	for _, file := range files {
		component, isLog := strings.CutSuffix(file.Name(), ".log")
		if !isLog || file.IsDir() {
			continue
		}
		stamps := stampsOf(r.Info.Started)
		r.lines(filepath.Join(logsDir, file.Name()), func(line []byte) error {
			text := string(line)
			if at, ok := stamps.offset(text); ok {
				each(LogLine{component, at, text, grave(text)})
			}
			return nil // what a component writes is no damage, whatever it is
		})
	}
}

// stamps reads when the lines of one log were written.
type stamps struct {
	started time.Time
	// zone is added to times without one; it is found from the first of them.
	zone               time.Duration
	zoned              bool
	dated, klog, epoch *regexp.Regexp
}

func stampsOf(started time.Time) *stamps {
	return &stamps{
		started: started.UTC(),
		dated:   regexp.MustCompile(`(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)([.,]\d{1,9})?(Z|[+-]\d\d:?\d\d)?`),
		klog:    regexp.MustCompile(`^[IWEF](\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d{1,9})`),
		epoch:   regexp.MustCompile(`"ts":(\d{9,11}(?:\.\d+)?)[,}]`),
	}
}

// head is as much of a line as is searched for its time.
const head = 200

// offset is when a line was written, in seconds from the run's start.
func (s *stamps) offset(line string) (float64, bool) {
	line = line[:min(len(line), head)]
	if found := s.klog.FindStringSubmatch(line); found != nil {
		year := strconv.Itoa(s.started.Year())
		at, err := time.Parse("2006-01-02 15:04:05.999999999", year+"-"+found[1]+"-"+found[2]+" "+found[3])
		if err != nil {
			return 0, false
		}
		if at.Sub(s.started) < -180*24*time.Hour { // the run went over a new year
			at = at.AddDate(1, 0, 0)
		}
		return s.local(at)
	}
	if found := s.epoch.FindStringSubmatch(line); found != nil {
		seconds, err := strconv.ParseFloat(found[1], 64)
		return s.within(seconds - float64(s.started.UnixMilli())/1000), err == nil
	}
	found := s.dated.FindStringSubmatch(line)
	if found == nil {
		return 0, false
	}
	moment := found[1] + "T" + found[2] + strings.Replace(found[3], ",", ".", 1)
	if found[4] == "" {
		at, err := time.Parse("2006-01-02T15:04:05.999999999", moment)
		if err != nil {
			return 0, false
		}
		return s.local(at)
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999Z0700"} {
		if at, err := time.Parse(layout, moment+found[4]); err == nil {
			return s.within(at.Sub(s.started).Seconds()), true
		}
	}
	return 0, false
}

// local is the offset of a time whose zone is not written. Zones differ from UTC
// by quarters of an hour, and a log begins soon after its run does.
func (s *stamps) local(at time.Time) (float64, bool) {
	const quarter = 15 * time.Minute
	if !s.zoned {
		early := at.Sub(s.started) + time.Minute // a little before the run begins at the most
		s.zone, s.zoned = -time.Duration(math.Floor(early.Minutes()/15))*quarter, true
	}
	return s.within((at.Sub(s.started) + s.zone).Seconds()), true
}

// within keeps what a damaged line tells from being any number.
func (s *stamps) within(offset float64) float64 {
	return max(-longestRun, min(longestRun, offset))
}

// grave says whether a component calls its line a warning or worse.
func grave(line string) bool {
	line = line[:min(len(line), head)]
	if len(line) > 1 && strings.ContainsRune("WEF", rune(line[0])) && line[1] >= '0' && line[1] <= '9' {
		return true // klog
	}
	lower := strings.ToLower(line)
	for _, word := range []string{`"level":"warn`, `"level":"error`, `"level":"fatal`, `"level":"panic`, "level=warn", "level=error", "level=fatal", " error:", " error]", "[error]", "[warning]", " fatal:", " warning:"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return strings.HasPrefix(lower, "panic:") || strings.HasPrefix(lower, "fatal error:")
}
