// quantiles merges the times that slices of work took, of plimsoll or of fio,
// and prints "n p50 p90 p95 p99 p99.9", times in microseconds.
//
//	quantiles plimsoll OPERATION RESULTS...   service times of an operation
//	quantiles fio KIND FILE...                kind (write, sync) of --output-format=json+
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/store"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "quantiles:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return errors.New("usage: quantiles plimsoll OPERATION RESULTS [RESULTS ...] | fio KIND FILE [FILE ...]")
	}
	var all times
	for _, path := range args[2:] {
		var err error
		if args[0] == "fio" {
			err = all.addFio(path, args[1])
		} else {
			err = all.addPlimsoll(path, args[1])
		}
		if err != nil {
			return err
		}
	}
	fmt.Print(all.n)
	for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999} {
		fmt.Printf(" %.2f", float64(all.quantile(q))/1000)
	}
	fmt.Println()
	return nil
}

// times are counts of nanoseconds.
type times struct {
	counts map[int64]int64
	n      int64
}

func (t *times) add(nanoseconds, count int64) {
	if t.counts == nil {
		t.counts = map[int64]int64{}
	}
	t.counts[nanoseconds] += count
	t.n += count
}

// quantile is the smallest time that the share q of all are not longer than.
func (t *times) quantile(q float64) int64 {
	values := make([]int64, 0, len(t.counts))
	for v := range t.counts {
		values = append(values, v)
	}
	slices.Sort(values)
	var seen int64
	for _, v := range values {
		if seen += t.counts[v]; float64(seen) >= q*float64(t.n) {
			return v
		}
	}
	return 0
}

// addPlimsoll adds the service times of an operation in all runs of a results directory.
func (t *times) addPlimsoll(dir, operation string) error {
	results, err := store.Open(dir)
	if err != nil {
		return err
	}
	runs, err := results.Runs()
	if err != nil {
		return err
	}
	for _, r := range runs {
		r.Seconds(func(i record.Interval, clock store.Clock, second store.Second) error {
			if i.Op == operation && i.Outcome == record.OK && clock == store.Service {
				second.Each(func(value time.Duration, count int64) { t.add(value.Nanoseconds(), count) })
			}
			return nil
		})
		if len(r.Damage) > 0 {
			return fmt.Errorf("%s is damaged: %v", r.Dir, r.Damage)
		}
	}
	return nil
}

// addFio adds the bins of one kind of request of all jobs.
func (t *times) addFio(file, kind string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	type latency struct{ Bins map[string]int64 }
	var output struct {
		Jobs []struct {
			Write struct {
				Latency latency `json:"clat_ns"`
			}
			Sync struct {
				Latency latency `json:"lat_ns"`
			}
		}
	}
	if err := json.Unmarshal(data, &output); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, job := range output.Jobs {
		bins := job.Sync.Latency.Bins
		if kind == "write" {
			bins = job.Write.Latency.Bins
		}
		for text, count := range bins {
			nanoseconds, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			t.add(nanoseconds, count)
		}
	}
	return nil
}
