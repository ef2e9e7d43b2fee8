package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// Classic writes a result as the tools do that people know: a phase that writes
// to a disk as fio, any other as etcd's benchmark tool. The times are those of the
// clock that the operation is judged by.
func Classic(w io.Writer, result *analysis.Result) error {
	c := classic{}
	for _, run := range result.Runs {
		for _, phase := range run.Phases() {
			c.phase(run, phase)
		}
	}
	if c.Len() == 0 {
		c.line("no operation ended")
	}
	_, err := io.WriteString(w, c.String())
	return err
}

type classic struct{ strings.Builder }

func (c *classic) line(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

func (c *classic) phase(run *analysis.Run, phase *analysis.Phase) {
	for _, operation := range phase.Operations {
		clock, times := operation.MainClock(phase)
		if operation.Part || times == nil {
			continue
		}
		if c.Len() > 0 {
			c.line("")
		}
		unmeasured := choose(phase.Measured, "", ", not measured")
		c.line("%s: %s.%s (%s time%s)", run.Name, phase.Name, operation.Name, clock, unmeasured)
		c.line("%s; %s", phase.Load, phase.Workload)
		if written := partOf(phase, "write"); written != nil && operation.Name == "store" {
			c.fio(phase, operation, written, partOf(phase, "sync"))
		} else {
			c.benchmark(phase, operation, times)
		}
	}
}

// partOf gives the times of a part of a phase's operations; nil if it has none.
func partOf(phase *analysis.Phase, name string) *analysis.Distribution {
	for _, operation := range phase.Operations {
		if operation.Part && operation.Name == name {
			return operation.Service
		}
	}
	return nil
}

// benchmark is what etcd's benchmark tool prints. Operations that got an answer which was an
// error are counted at the end and in nothing else; those that timed out are in the times, as lower bounds.
func (c *classic) benchmark(phase *analysis.Phase, operation *analysis.Operation, times *analysis.Distribution) {
	c.line("\nSummary:")
	c.line("  Total:\t%4.4f secs.", phase.Seconds())
	c.line("  Slowest:\t%4.4f secs.", times.Max)
	c.line("  Fastest:\t%4.4f secs.", times.Min)
	c.line("  Average:\t%4.4f secs.", times.Mean)
	c.line("  Stddev:\t%4.4f secs.", times.Stddev)
	c.line("  Requests/sec:\t%4.4f", operation.Rate)

	c.line("\nResponse time histogram:")
	const buckets, bar = 10, 40
	var bounds []float64
	for i := range buckets {
		bounds = append(bounds, times.Min+(times.Max-times.Min)/buckets*float64(i))
	}
	bounds = append(bounds, times.Max)
	counts := times.Between(bounds)
	most := max(1, slices.Max(counts))
	for i, n := range counts {
		c.line("  %4.4f [%d]\t|%s", bounds[i], n, strings.Repeat("∎", int(n*bar/most)))
	}

	c.line("\nLatency distribution:")
	for _, percent := range []float64{10, 25, 50, 75, 90, 95, 99, 99.9} {
		if at, known := times.Percentile(percent); known && at > 0 {
			c.line("  %v%% in %4.4f secs.", percent, at)
		}
	}
	c.fewBeyond(times, 99, 99.9)

	if errors := tallies(operation.Outcomes, "ok"); len(errors) > 0 {
		c.line("\nError distribution:")
		for _, e := range errors {
			c.line("  [%d]\t%s%s", e.Count, e.Name, choose(e.Name == "timed-out", " (in the times above, as lower bounds)", ""))
		}
		for _, reason := range slices.Sorted(maps.Keys(operation.Reasons)) {
			c.line("  [%d]\tof the reason %s", operation.Reasons[reason], reason)
		}
	}
}

// fio is what fio prints of writes that are each made to last.
func (c *classic) fio(phase *analysis.Phase, operation *analysis.Operation, written, synced *analysis.Distribution) {
	took := phase.Seconds()
	if took > 0 {
		c.line("  write: IOPS=%s, BW=%s (%s)(%s/%.0fmsec)", fioCount(float64(operation.Count)/took),
			fioRate(float64(operation.Bytes)/took, 1024, "iB/s"), fioRate(float64(operation.Bytes)/took, 1000, "B/s"),
			fioRate(float64(operation.Bytes), 1024, "iB"), took*1000)
	}
	c.fioTimes("    ", "clat", written)
	if synced != nil {
		c.line("  fsync/fdatasync/sync_file_range:")
		c.fioTimes("    ", "sync", synced)
	}
}

// fioTimes are times as fio has them, in the unit that fits them.
func (c *classic) fioTimes(indent, name string, d *analysis.Distribution) {
	unit, scale := "nsec", 1e9
	switch { // fio's own bounds
	case d.Min > 2e-3 && d.Max > 0.1 && d.Stddev > 1e-3:
		unit, scale = "msec", 1e3
	case d.Min > 2e-6 && d.Max > 1e-4 && d.Stddev > 1e-6:
		unit, scale = "usec", 1e6
	}
	c.line("%s%s (%s): min=%.0f, max=%.0f, avg=%.2f, stdev=%.2f", indent, name, unit, d.Min*scale, d.Max*scale, d.Mean*scale, d.Stddev*scale)
	percentiles := []float64{1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99}
	if _, known := d.Percentile(50); !known {
		return
	}
	c.line("%s%s percentiles (%s):", indent, name, unit)
	last, _ := d.Percentile(percentiles[len(percentiles)-1])
	width := max(5, len(fmt.Sprintf("%.0f", last*scale)))
	const perLine = 4
	for row := range slices.Chunk(percentiles, perLine) {
		var cells []string
		for _, percent := range row {
			at, _ := d.Percentile(percent)
			cells = append(cells, fmt.Sprintf("%5.2fth=[%*.0f]", percent, width, at*scale))
		}
		end := choose(row[len(row)-1] == percentiles[len(percentiles)-1], "", ",")
		c.line("%s | %s%s", indent, strings.Join(cells, ", "), end)
	}
	c.fewBeyond(d, percentiles...)
}

// fewBeyond says which percentiles are little more than the maximum.
func (c *classic) fewBeyond(d *analysis.Distribution, percentiles ...float64) {
	for _, percent := range percentiles {
		if percent > 50 && !d.Rests(percent) {
			c.line("(fewer than 10 of %d samples lie beyond the %gth percentile)", d.Count, percent)
			return
		}
	}
}

// fioCount writes a count as fio does: 618, 12.3k, 451k.
func fioCount(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", n/1e6)
	case n >= 1e5:
		return fmt.Sprintf("%.0fk", n/1e3)
	case n >= 1e4:
		return fmt.Sprintf("%.1fk", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}

// fioRate writes an amount with the prefix that leaves up to four digits before the point.
func fioRate(n, base float64, unit string) string {
	prefixes := []string{"", "K", "M", "G"}
	if base == 1000 {
		prefixes[1] = "k"
	}
	i := 0
	for ; n >= 10_000 && i < len(prefixes)-1 || n >= base*1000 && i < len(prefixes)-1; i++ {
		n /= base
	}
	if i == 0 {
		unit = strings.TrimPrefix(unit, "i")
	}
	return fmt.Sprintf("%.*f%s%s", choose(n < 100, 1, 0), n, prefixes[i], unit)
}
