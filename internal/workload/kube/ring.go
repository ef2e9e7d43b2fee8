package kube

import (
	"context"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// kept are the last things that a client has made, oldest first.
type kept[T any] struct {
	most int
	all  []T
}

// add takes one more, and gives the oldest when that is one too many.
func (k *kept[T]) add(one T) (oldest T, over bool) {
	k.all = append(k.all, one)
	if len(k.all) <= k.most {
		return oldest, false
	}
	oldest = k.all[0]
	k.all = append(k.all[:0], k.all[1:]...)
	return oldest, true
}

// ring is a client that keeps a number of objects. They stay when the phase is
// over: a later step may look at them.
type ring struct {
	creator
	kept kept[string] // paths
}

func (r *ring) Next() (workload.Op, bool) {
	o := r.next()
	return workload.Op{Kind: "turn", Do: func(ctx context.Context, parts workload.Timer) workload.Result {
		return r.turn(ctx, parts, o)
	}}, true
}

// turn makes an object and, when the ring holds one too many, deletes the
// oldest. Nothing is tried twice, so a failed delete leaves its object, which
// bears the run's label.
func (r *ring) turn(ctx context.Context, parts workload.Timer, o creation) workload.Result {
	created := parts.Part(ctx, "create", func(ctx context.Context) workload.Result { return r.create(ctx, o) })
	if created.Outcome != record.OK {
		return created
	}
	oldest, over := r.kept.add(o.path())
	if !over {
		return created
	}
	whole := parts.Part(ctx, "delete", func(ctx context.Context) workload.Result { return r.delete(ctx, oldest) })
	whole.Bytes += created.Bytes
	return whole
}
