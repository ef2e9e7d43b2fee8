// Package metrics keeps time series in a Prometheus TSDB in the run directory
// and reads them back with the PromQL engine, so that the same expressions work
// here and on a user's own Prometheus.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// DB is a database being written.
type DB struct {
	db     *tsdb.DB
	engine *promql.Engine
}

// Series is a series that is appended to again and again; the database's own
// reference, which it keeps, saves looking the labels up.
type Series struct {
	Labels labels.Labels
	ref    storage.SeriesRef
}

// Sample is one value of one series at a moment that Append names.
type Sample struct {
	Series *Series
	Value  float64
}

// Create opens a new database in dir.
func Create(dir string) (*DB, error) {
	db, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("open metrics database: %w", err)
	}
	return &DB{db, newEngine()}, nil
}

func open(dir string) (*tsdb.DB, error) {
	options := tsdb.DefaultOptions()
	options.WALSegmentSize = 16 << 20
	options.StripeSize = 1 << 10 // the default's 16k locks are for millions of series
	options.HeadChunksWriteBufferSize = 64 << 10
	options.RetentionDuration = int64(10 * 365 * 24 * time.Hour / time.Millisecond)
	return tsdb.Open(dir, slog.New(slog.DiscardHandler), nil, options, nil)
}

// Append keeps samples of one moment, all or none.
func (d *DB) Append(ctx context.Context, at time.Time, samples []Sample) error {
	appender := d.db.Appender(ctx)
	for _, s := range samples {
		var err error
		if s.Series.ref, err = appender.Append(s.Series.ref, s.Series.Labels, at.UnixMilli(), s.Value); err != nil {
			return errors.Join(fmt.Errorf("keep metrics: %w", err), appender.Rollback())
		}
	}
	if err := appender.Commit(); err != nil {
		return fmt.Errorf("keep metrics: %w", err)
	}
	return nil
}

// Close writes what is in memory out as a block and closes the database.
func (d *DB) Close() error {
	var err error
	if head := d.db.Head(); head.NumSeries() > 0 {
		if err = d.db.CompactHead(tsdb.NewRangeHead(head, head.MinTime(), head.MaxTime())); err != nil {
			err = fmt.Errorf("write metrics block: %w", err)
		}
	}
	return errors.Join(err, d.engine.Close(), d.db.Close())
}

// Reader reads a database, also that of a run that was killed.
type Reader struct {
	db     *tsdb.DB
	copied string
	engine *promql.Engine
}

// lookback is how old a sample may be to stand for a moment: short, so that a
// gap stays a gap, and a process that is gone uses nothing any more.
const lookback = 5 * time.Second

// Open opens a database for queries, and leaves it as it is. It works on a
// copy, because what a kill or a full disk cut short must be mended before it
// can be read, and a results directory may be read-only. (The library's own
// read-only mode mends nothing, and links files into the sandbox, which fails
// if that is on another file system.)
func Open(dir string) (_ *Reader, err error) {
	copied, err := os.MkdirTemp("", "plimsoll-metrics-")
	if err != nil {
		return nil, fmt.Errorf("open metrics database: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open metrics database %s: %w", dir, err), os.RemoveAll(copied))
		}
	}()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		return nil, err
	}
	db, err := open(copied)
	if err != nil {
		return nil, err
	}
	db.DisableCompactions()
	return &Reader{db, copied, newEngine()}, nil
}

func newEngine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: lookback,
		EnableAtModifier: true, EnableNegativeOffset: true,
		Parser: newParser(),
	})
}

// Close removes the copy.
func (r *Reader) Close() error {
	return errors.Join(r.engine.Close(), r.db.Close(), os.RemoveAll(r.copied))
}

// Range evaluates a PromQL expression at every step from start to end.
func (r *Reader) Range(ctx context.Context, expression string, start, end time.Time, step time.Duration) (promql.Matrix, error) {
	if err := CheckExpression(expression); err != nil {
		return nil, err
	}
	query, err := r.engine.NewRangeQuery(ctx, r.db, nil, expression, start, end, step)
	if err != nil {
		return nil, fmt.Errorf("query %q: %w", expression, err)
	}
	defer query.Close()
	result := query.Exec(ctx)
	matrix, err := result.Matrix()
	if err != nil {
		return nil, fmt.Errorf("query %q: %w", expression, err)
	}
	// The engine reuses the matrix once the query is closed.
	kept := make(promql.Matrix, len(matrix))
	for i, series := range matrix {
		kept[i] = promql.Series{Metric: series.Metric.Copy(), Floats: append([]promql.FPoint(nil), series.Floats...)}
	}
	return kept, nil
}

// At evaluates a PromQL expression at one moment: a series with one value each,
// in the order that the expression gives them.
func (r *Reader) At(ctx context.Context, expression string, at time.Time) (promql.Matrix, error) {
	return evaluate(ctx, r.engine, r.db, expression, at)
}

// At does the same in a database that is being written.
func (d *DB) At(ctx context.Context, expression string, at time.Time) (promql.Matrix, error) {
	return evaluate(ctx, d.engine, d.db, expression, at)
}

func evaluate(ctx context.Context, engine *promql.Engine, db storage.Queryable, expression string, at time.Time) (promql.Matrix, error) {
	if err := CheckExpression(expression); err != nil {
		return nil, err
	}
	query, err := engine.NewInstantQuery(ctx, db, nil, expression, at)
	if err != nil {
		return nil, fmt.Errorf("query %q: %w", expression, err)
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, fmt.Errorf("query %q: %w", expression, result.Err)
	}
	var matrix promql.Matrix
	switch value := result.Value.(type) {
	case promql.Scalar:
		matrix = append(matrix, promql.Series{Floats: []promql.FPoint{{T: value.T, F: value.V}}})
	case promql.Vector:
		for _, s := range value {
			matrix = append(matrix, promql.Series{Metric: s.Metric.Copy(), Floats: []promql.FPoint{{T: s.T, F: s.F}}})
		}
	}
	return matrix, nil
}
