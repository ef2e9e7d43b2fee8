package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/loop"
	"plimsoll.dev/plimsoll/internal/store"
	"plimsoll.dev/plimsoll/internal/target"
)

// disturbed is a target, and a fault, that notes what is done to it.
type disturbed struct {
	target.Target
	done   []string
	cannot error
}

func (d *disturbed) Pause(component string) (target.Disturbance, error) {
	d.done = append(d.done, "ready for "+component)
	return d, nil
}

func (d *disturbed) Kill(component string) (target.Disturbance, error) {
	d.done = append(d.done, "ready to kill "+component)
	return d, nil
}

func (d *disturbed) Component() string { return "etcd" }

func (d *disturbed) SlowDisk(string, int) (target.Disturbance, error) {
	return nil, errors.New("no such disk")
}

func (d *disturbed) Begin() error {
	d.done = append(d.done, "begun")
	return d.cannot
}

func (d *disturbed) End() error {
	if !slices.Contains(d.done, "ended") {
		d.done = append(d.done, "ended")
	}
	return nil
}

type deaf struct{}

func (deaf) Say(string, ...any) {}
func (deaf) Show(Progress)      {}

// faulty gives a run on a target that can be disturbed, and the kinds of its events.
func faulty(t *testing.T, d *disturbed) (r *run, kinds func() []store.EventKind, ctx context.Context) {
	t.Helper()
	results, err := store.Create(t.TempDir()+"/results", []byte("scenario"), struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	clock := loop.NewClock()
	writer, err := results.CreateRun(store.RunInfo{Index: 1, Name: "run", Started: clock.Start()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	r = &run{Engine: &Engine{Watcher: deaf{}}, clock: clock, writer: writer, target: d, cancel: cancel}
	return r, func() []store.EventKind {
		if err := writer.Close(true); err != nil {
			t.Fatal(err)
		}
		runs, err := results.Runs()
		if err != nil {
			t.Fatal(err)
		}
		var all []store.EventKind
		for _, e := range runs[0].Events {
			all = append(all, e.Kind)
		}
		return all
	}, ctx
}

func pausing(after, lasting time.Duration) *v1.Fault {
	return &v1.Fault{Pause: &v1.PauseFault{FaultSpan: v1.FaultSpan{Component: "etcd", After: v1.Duration(after), For: v1.Duration(lasting)}}}
}

func TestAFaultBeginsAndEnds(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault *v1.Fault
		step  time.Duration
		done  string
		kinds []store.EventKind
	}{
		{"within its step", pausing(time.Second, time.Second), time.Minute, "ready for etcd, begun, ended", []store.EventKind{store.FaultBegan, store.FaultEnded}},
		{"with its step, at the latest", pausing(time.Second, time.Hour), time.Minute, "ready for etcd, begun, ended", []store.EventKind{store.FaultBegan, store.FaultEnded}},
		{
			"killing", &v1.Fault{Kill: &v1.KillFault{FaultSpan: pausing(time.Second, time.Second).Span()}}, time.Minute,
			"ready to kill etcd, begun, ended", []store.EventKind{store.FaultBegan, store.FaultEnded},
		},
		{"never, if its step is too short", pausing(time.Hour, time.Hour), time.Minute, "ready for etcd, ended", []store.EventKind{store.FaultMissed}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disturbed{}
				r, kinds, ctx := faulty(t, d)
				armed, err := r.arm(row.fault)
				if err != nil {
					t.Fatal(err)
				}
				end := r.disturb(ctx, row.fault, armed)
				time.Sleep(row.step)
				if err := end(); err != nil {
					t.Error(err)
				}
				if got := strings.Join(d.done, ", "); got != row.done {
					t.Errorf("%s; want %s", got, row.done)
				}
				if got := kinds(); !slices.Equal(got, row.kinds) {
					t.Errorf("events %v; want %v", got, row.kinds)
				}
			})
		})
	}
}

func TestAnInterruptEndsAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disturbed{}
		r, _, ctx := faulty(t, d)
		end := r.disturb(ctx, pausing(0, time.Hour), d)
		synctest.Wait() // until it has begun
		r.cancel(context.Canceled)
		if err := end(); err != nil || strings.Join(d.done, ", ") != "begun, ended" {
			t.Errorf("%v, %v", err, d.done)
		}
	})
}

func TestAFaultThatCannotBeginEndsTheRun(t *testing.T) {
	d := &disturbed{cannot: errors.New("no")}
	r, _, ctx := faulty(t, d)
	end := r.disturb(ctx, pausing(0, time.Hour), d)
	<-ctx.Done()
	if err := end(); err == nil || !strings.Contains(context.Cause(ctx).Error(), "disturb etcd: no") {
		t.Errorf("%v, %v", err, context.Cause(ctx))
	}
}

func TestATargetThatCannotBeDisturbed(t *testing.T) {
	r := &run{}
	if _, err := r.arm(pausing(0, 1)); err == nil {
		t.Error("it was")
	}
	r.target = &disturbed{}
	if _, err := r.arm(&v1.Fault{SlowDisk: &v1.SlowDiskFault{}}); err == nil || !strings.Contains(err.Error(), "no such disk") {
		t.Errorf("error is %v", err)
	}
	if d, err := r.arm(nil); d != nil || err != nil {
		t.Errorf("without a fault: %v, %v", d, err)
	}
}
