package cli

import (
	"context"
	"encoding/csv"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestExpressionsAreSplitAtTheirOwnCommas(t *testing.T) {
	for list, want := range map[string][]string{
		"up":                                   {"up"},
		"up, max(up) ,min(up)":                 {"up", "max(up)", "min(up)"},
		"sum by (a, b) (x),y":                  {"sum by (a, b) (x)", "y"},
		`x{a="1,2",b=~"(,"},clamp(y, 0, 1)`:    {`x{a="1,2",b=~"(,"}`, "clamp(y, 0, 1)"},
		`x{a='\',b'},y`:                        {`x{a='\',b'}`, "y"},
		"histogram_quantile(0.99, x[5s:1s]),y": {"histogram_quantile(0.99, x[5s:1s])", "y"},
	} {
		if got := splitExpressions(list); !slices.Equal(got, want) {
			t.Errorf("%s is split into %q, want %q", list, got, want)
		}
	}
}

// recompute CSV RUN checks a table of the write-up's metrics against what is
// computed from the samples themselves, without PromQL: memory as the last
// sample of five seconds, committed proposals as a rate, fsyncs as a quantile.
func recompute(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: recompute CSV RUN")
	}
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(args[0]))).ReadAll()
	ts.Check(err)
	raw := rawSamples(ts, filepath.Join(ts.MkAbs(args[1]), "metrics"))
	for heading, naive := range map[string]func(at int64) float64{
		`process_resident_memory_bytes{component="etcd"}`: func(at int64) float64 {
			return last(raw.of("process_resident_memory_bytes", "component", "etcd"), at-5000, at)
		},
		`etcd_server_proposals_committed_total_per_second{component="etcd"}`: func(at int64) float64 {
			return rateOf(raw.of("etcd_server_proposals_committed_total", "component", "etcd"), at-10_000, at)
		},
		`etcd_disk_wal_fsync_duration_seconds_p99{component="etcd"}`: func(at int64) float64 {
			return quantileOf(0.99, raw.buckets("etcd_disk_wal_fsync_duration_seconds_bucket"), at-10_000, at)
		},
	} {
		column, compared := slices.Index(rows[0], heading), 0
		if column < 0 {
			ts.Fatalf("%s has no column %s, but %q", args[0], heading, rows[0])
		}
		for _, row := range rows[1:] {
			moment, err := time.Parse(time.RFC3339Nano, row[0])
			ts.Check(err)
			want := naive(moment.UnixMilli())
			if row[column] == "" && math.IsNaN(want) {
				continue
			}
			got, err := strconv.ParseFloat(row[column], 64)
			if err != nil || !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
				ts.Fatalf("%s at %s is %q, and %v from the samples", heading, row[0], row[column], want)
			}
			compared++
		}
		if compared < 2 {
			ts.Fatalf("%s: %d values were compared, which shows nothing", heading, compared)
		}
	}
}

// point is one sample as it was taken.
type point struct {
	at    int64 // milliseconds
	value float64
}

// samples are those of a run, by series.
type samples struct {
	labels []labels.Labels
	points [][]point
}

// rawSamples reads a run's database as Prometheus itself does without writing into it.
func rawSamples(ts *testscript.TestScript, dir string) (all samples) {
	db, err := tsdb.OpenDBReadOnly(dir, "", nil)
	ts.Check(err)
	defer db.Close()
	querier, err := db.Querier(math.MinInt64, math.MaxInt64)
	ts.Check(err)
	defer querier.Close()
	any := labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+")
	for set := querier.Select(context.Background(), false, nil, any); set.Next(); {
		var points []point
		for it := set.At().Iterator(nil); it.Next() == chunkenc.ValFloat; {
			at, v := it.At()
			points = append(points, point{at, v})
		}
		all.labels, all.points = append(all.labels, set.At().Labels()), append(all.points, points)
	}
	return all
}

// of are the samples of the one series that has a name and a label.
func (s samples) of(metric, label, value string) []point {
	for i, l := range s.labels {
		if l.Get(model.MetricNameLabel) == metric && l.Get(label) == value {
			return s.points[i]
		}
	}
	return nil
}

// buckets are the samples of a histogram's buckets, by upper bound.
func (s samples) buckets(metric string) map[float64][]point {
	buckets := map[float64][]point{}
	for i, l := range s.labels {
		if l.Get(model.MetricNameLabel) == metric {
			bound, _ := strconv.ParseFloat(l.Get("le"), 64)
			buckets[bound] = s.points[i]
		}
	}
	return buckets
}

// inside are the samples after a moment, up to another.
func inside(points []point, after, upTo int64) []point {
	return slices.DeleteFunc(slices.Clone(points), func(p point) bool { return p.at <= after || p.at > upTo })
}

func last(points []point, after, upTo int64) float64 {
	if found := inside(points, after, upTo); len(found) > 0 {
		return found[len(found)-1].value
	}
	return math.NaN()
}

// rateOf is the increase per second, carried on to the ends of the window as
// Prometheus's documentation says: by no more than half a sample's distance
// where the series seems to begin or end within it, and not below zero.
func rateOf(points []point, after, upTo int64) float64 {
	found := inside(points, after, upTo)
	if len(found) < 2 {
		return math.NaN()
	}
	first, end := found[0], found[len(found)-1]
	increase := end.value - first.value // nothing was started again
	sampled := float64(end.at-first.at) / 1000
	apart := sampled / float64(len(found)-1)
	before, behind := float64(first.at-after)/1000, float64(upTo-end.at)/1000
	if before >= 1.1*apart {
		before = apart / 2
	}
	if increase > 0 && first.value >= 0 {
		before = min(before, sampled*first.value/increase)
	}
	if behind >= 1.1*apart {
		behind = apart / 2
	}
	return increase * (sampled + before + behind) / sampled / (float64(upTo-after) / 1000)
}

// quantileOf interpolates within the bucket that the quantile falls into.
func quantileOf(q float64, buckets map[float64][]point, after, upTo int64) float64 {
	var bounds []float64
	for bound := range buckets {
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	var counts []float64
	for _, bound := range bounds {
		counts = append(counts, rateOf(buckets[bound], after, upTo))
	}
	if len(counts) == 0 || !(counts[len(counts)-1] > 0) {
		return math.NaN()
	}
	rank := q * counts[len(counts)-1]
	i := slices.IndexFunc(counts, func(c float64) bool { return c >= rank })
	switch {
	case math.IsInf(bounds[i], 1):
		return bounds[i-1]
	case i == 0:
		return bounds[0] * rank / counts[0]
	}
	return bounds[i-1] + (bounds[i]-bounds[i-1])*(rank-counts[i-1])/(counts[i]-counts[i-1])
}
