package etcd

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
)

// BenchmarkPut puts through 100 connections, as the etcd benchmark tool is
// usually told to, and reports the CPU time that the client takes.
func BenchmarkPut(b *testing.B) {
	s := startEtcd(b)
	const clients = 100
	o := options(s, scenario(v1.EtcdWorkload{Put: &v1.EtcdKeys{KeySpace: 1_000_000}}, 1))
	o.Connections = clients
	w := prepared(b, o)
	var left, failed atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	before := cpu()
	b.ResetTimer()
	for i := range clients {
		c := dialled(b, w, i)
		group.Go(func() {
			for left.Add(-1) >= 0 {
				op, _ := c.Next()
				if r := op.Do(b.Context(), nil); r.Outcome != record.OK {
					failed.Add(1)
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/put")
	if failed.Load() > 0 {
		b.Errorf("%d puts failed", failed.Load())
	}
}

// cpu is the CPU time of this process.
func cpu() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
