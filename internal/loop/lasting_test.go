package loop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll.dev/plimsoll/internal/workload"
)

// lasting is a client whose operation goes on until its context ends.
type lasting struct{ cause error }

func (c *lasting) Next() (workload.Op, bool) {
	return workload.Op{Kind: "watch", Lasting: true, Do: func(ctx context.Context, parts workload.Timer) workload.Result {
		parts.Took("event", time.Second, workload.Result{})
		<-ctx.Done()
		c.cause = context.Cause(ctx)
		return workload.Result{}
	}}, true
}

func TestLastingOperationsEndWithTheirPhase(t *testing.T) {
	for _, row := range []struct {
		name     string
		duration time.Duration
		stop     time.Duration
		cut      time.Duration
		want     time.Duration
		cause    error
	}{
		{"when it is stopped", 0, 3 * time.Second, time.Hour, 3 * time.Second, workload.ErrOver},
		{"when its duration is over", 2 * time.Second, 3 * time.Second, time.Hour, 2 * time.Second, workload.ErrOver},
		{"when the run is cut", 0, time.Hour, time.Second, time.Second, context.Canceled},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop := make(chan struct{})
				ctx, cut := context.WithCancel(t.Context())
				defer cut()
				stopping := time.AfterFunc(row.stop, func() { close(stop) })
				defer stopping.Stop()
				time.AfterFunc(row.cut, cut)
				c := new(lasting)
				var took time.Duration
				kept := run(t, 1, nil, func(p *Phase) {
					p.Clients, p.Stop = []workload.Client{c}, stop
					p.Closed(ctx, Closed{Duration: row.duration})
					took = p.Clock.Now()
				})
				if kept.ops["event"] == 0 || kept.ops["event"] != kept.ops["watch"] {
					t.Errorf("recorded %v; want one event of each watch", kept.ops)
				}
				if took != row.want || !errors.Is(c.cause, row.cause) {
					t.Errorf("ended after %s by %v; want %s, %v", took, c.cause, row.want, row.cause)
				}
			})
		})
	}
}
