package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/loop"
	"plimsoll.dev/plimsoll/internal/mount"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/target/directory"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/disk"
)

const (
	// diskTime is how long each pattern is written.
	diskTime = 5 * time.Second
	// diskGuideline is what etcd's authors ask of a disk: the 99th percentile of fdatasync.
	diskGuideline = 10 * time.Millisecond
	// diskSpace is what the check needs: a file, and three segments of a write-ahead log.
	diskSpace = 400 << 20
	// diskSamples is how many syncs a 99th percentile should rest on: then ten lie beyond it.
	diskSamples = 1000
)

// diskPattern is one way of writing.
type diskPattern struct {
	name, words string
	does        v1.DiskWorkload
}

// diskPatterns are that of etcd's advice on fio, and that of etcd itself.
func diskPatterns() []diskPattern {
	yes := true
	return []diskPattern{
		{"sequential", "2300 B and fdatasync, as in etcd's advice on fio", v1.DiskWorkload{
			Sequential: &v1.SequentialWrites{Block: 2300, File: 100 << 20, Sync: "fdatasync", Preallocate: &yes},
		}},
		{"wal", "1 to 16 entries of 256 B to 4 KiB and fdatasync, as etcd's write-ahead log", v1.DiskWorkload{
			WAL: &v1.WALWrites{Segment: 64 << 20, Entry: 256, EntryTo: 4 << 10, Batch: 16},
		}},
	}
}

// doctorDisk measures the disk of dir for ten seconds and says whether it is
// good enough for etcd. Exit code 3 says that it is not.
func doctorDisk(ctx context.Context, env Environment, dir string) (err error) {
	if err := roomFor(dir); err != nil {
		return err
	}
	space, err := openWorkspace()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, space.Close()) }()
	env.interrupted("removing what was written")
	t, err := directory.Open(ctx, directory.Options{Spec: v1.DirectoryTarget{Path: dir}, Own: space.Own})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close(context.WithoutCancel(ctx))) }()
	found := t.Disk()
	fmt.Fprintln(env.Stdout, found.Words())
	for _, caveat := range found.Caveats() {
		fmt.Fprintln(env.Stdout, "  "+caveat)
	}
	var measured []*diskTimes
	for _, pattern := range diskPatterns() {
		times, err := measureDisk(ctx, env, t.Folders()[0], pattern)
		if err != nil {
			return err
		}
		measured = append(measured, times)
	}
	if err := printDiskTimes(env.Stdout, measured); err != nil {
		return err
	}
	verdict, good := diskVerdict(found, measured)
	fmt.Fprintln(env.Stdout, verdict)
	if !good {
		return &codedError{code: exitObjective}
	}
	return nil
}

func roomFor(dir string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return usage(fmt.Errorf("look at %s: %w: name a folder that exists", dir, err))
	}
	if free := stat.Bavail * uint64(stat.Bsize); free < diskSpace {
		return fmt.Errorf("%s has %d MiB free, but the check writes up to %d MiB: make room", dir, free>>20, diskSpace>>20)
	}
	return nil
}

// measureDisk writes one pattern with one client, in the same way as a run does.
func measureDisk(ctx context.Context, env Environment, dir string, pattern diskPattern) (*diskTimes, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := disk.New(disk.Options{Dir: dir, Phase: pattern.name, Operation: pattern.does, Failed: cancel})
	defer w.Close()
	if err := w.Prepare(ctx); err != nil {
		return nil, err
	}
	client, err := w.Dial(ctx, 0, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		return nil, err
	}
	times := &diskTimes{diskPattern: pattern, of: map[string]*hdrhistogram.Histogram{}}
	clock, recorder := loop.NewClock(), record.New(times)
	var done atomic.Int64
	phase := loop.Phase{Clock: clock, Stop: make(chan struct{}), Done: &done,
		Clients: []workload.Client{client}, Shards: []*record.Shard{recorder.Shard(pattern.name)}}
	beside, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { recorder.Run(beside, clock.Start()) })
	group.Go(func() { showDisk(beside, env, pattern, &done) })
	phase.Closed(ctx, loop.Closed{Duration: diskTime})
	stop()
	group.Wait()
	return times, cmp.Or(context.Cause(ctx), recorder.Close())
}

// showDisk says what is being done: on a terminal with a count that grows.
func showDisk(ctx context.Context, env Environment, pattern diskPattern, done *atomic.Int64) {
	if env.Width == nil || env.Width() == 0 {
		say(env, "%s: %v of %s", pattern.name, diskTime, pattern.words)
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprint(env.Stderr, "\r\x1b[K")
			return
		case <-tick.C:
			fmt.Fprintf(env.Stderr, "\r\x1b[K%s: %d writes made to last", pattern.name, done.Load())
		}
	}
}

// diskTimes are the times of one pattern: of write, sync, and store, which is both.
type diskTimes struct {
	diskPattern
	of map[string]*hdrhistogram.Histogram
}

// WriteInterval implements record.Sink.
func (t *diskTimes) WriteInterval(i record.Interval) error {
	if i.Outcome != record.OK || i.Service == nil {
		return nil
	}
	if t.of[i.Op] == nil {
		t.of[i.Op] = record.NewHistogram()
	}
	t.of[i.Op].Merge(i.Service)
	return nil
}

// diskPercentiles are those that are shown.
func diskPercentiles() []float64 { return []float64{1, 10, 50, 90, 95, 99, 99.9, 99.99} }

func printDiskTimes(to io.Writer, all []*diskTimes) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "\npattern\ttime of\tn\t")
	for _, p := range diskPercentiles() {
		fmt.Fprintf(table, "p%v\t", p)
	}
	fmt.Fprint(table, "max\t\n")
	for _, t := range all {
		for _, row := range []struct{ op, name string }{{"write", "write"}, {"sync", "fdatasync"}, {"store", "both"}} {
			h := t.of[row.op]
			if h == nil {
				continue
			}
			fmt.Fprintf(table, "%s\t%s\t%d\t", t.name, row.name, h.TotalCount())
			for _, p := range diskPercentiles() {
				shown := "-" // a percentile that less than one sample lies beyond is the largest sample
				if float64(h.TotalCount())*(100-p) >= 100 {
					shown = briefly(h.ValueAtQuantile(p))
				}
				fmt.Fprintf(table, "%s\t", shown)
			}
			fmt.Fprintf(table, "%s\t\n", briefly(h.Max()))
		}
	}
	return table.Flush()
}

// briefly gives nanoseconds in three digits.
func briefly(nanoseconds int64) string {
	d := time.Duration(nanoseconds)
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= unit.size {
			return fmt.Sprintf("%.3g %s", float64(d)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d ns", nanoseconds)
}

// diskVerdict is one line, and whether the guideline holds for both patterns.
func diskVerdict(on mount.Mount, all []*diskTimes) (line string, good bool) {
	var worst *diskTimes
	var p99 time.Duration
	for _, t := range all {
		h := t.of["sync"]
		if h == nil {
			return "\nno verdict: nothing was made to last in the time", false
		}
		if q := time.Duration(h.ValueAtQuantile(99)); worst == nil || q > p99 {
			worst, p99 = t, q
		}
	}
	n := worst.of["sync"].TotalCount()
	rests := fmt.Sprintf("the 99th percentile of fdatasync is %s (%s, %d syncs in %v)", briefly(int64(p99)), worst.name, n, diskTime)
	if n < diskSamples {
		rests += fmt.Sprintf("; that is few: %d are wanted, so measure longer with a scenario", diskSamples)
	}
	switch {
	case on.InMemory():
		return "\nno disk was measured: this is memory; " + rests, true
	case p99 >= diskGuideline:
		return fmt.Sprintf("\ntoo slow for etcd: %s, and should be below %v", rests, diskGuideline), false
	}
	return fmt.Sprintf("\ngood enough for etcd: %s, below the %v that etcd's authors ask for", rests, diskGuideline), true
}
