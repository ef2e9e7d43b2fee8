package kube

import (
	"context"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// ring is a client that keeps a number of objects. They stay when the phase is
// over: a later step may look at them.
type ring struct {
	creator
	keep int
	kept []string // paths, oldest first
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
	r.kept = append(r.kept, o.path())
	if len(r.kept) <= r.keep {
		return created
	}
	oldest := r.kept[0]
	r.kept = append(r.kept[:0], r.kept[1:]...)
	whole := parts.Part(ctx, "delete", func(ctx context.Context) workload.Result { return r.delete(ctx, oldest) })
	whole.Bytes += created.Bytes
	return whole
}
