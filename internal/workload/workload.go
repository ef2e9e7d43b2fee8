// Package workload says what a kind of traffic is to the loops that drive it
// and to the engine that prepares it.
package workload

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"plimsoll.dev/plimsoll/internal/record"
)

// ErrOver is the cause that the context of a lasting operation ends with when its phase is over.
var ErrOver = errors.New("the phase is over")

// Workload is a kind of traffic against one target.
type Workload interface {
	// Prepare makes what the operations need. It is not measured.
	Prepare(ctx context.Context) error
	// Dial gives the index-th client. Everything random in it comes from random, so that a client
	// is a function of the seed and its index.
	Dial(ctx context.Context, index int, random *rand.Rand) (Client, error)
	// Close lets go of what the workload holds, such as its clients' connections, once they have ended.
	Close() error
}

// Client is one logical user. It is used by one goroutine at a time.
type Client interface {
	// Next gives the next operation, or false when there is nothing left to do. It does no I/O.
	Next() (Op, bool)
}

// Op is one measured action.
type Op struct {
	// Kind is of low cardinality: create, page, walk, ….
	Kind string
	// Lasting is an operation that goes on until its phase is over: its context ends then, with
	// ErrOver as its cause.
	Lasting bool
	// Do performs the action. Actions that it consists of are timed through the timer.
	Do func(ctx context.Context, parts Timer) Result
}

// Timer times parts of an operation.
type Timer interface {
	// Part performs and records one part of the operation that is under way.
	Part(ctx context.Context, kind string, do func(context.Context) Result) Result
	// Took records a part that has just ended, and whose duration was measured otherwise.
	Took(kind string, took time.Duration, result Result)
}

// Result is what an operation came to.
type Result struct {
	Outcome record.Outcome
	// Reason of the outcome, one of a few, such as http-500 or reset; empty when all is well.
	Reason string
	// Bytes of bodies received and sent.
	Bytes int64
	// Items received, in lists.
	Items int64
}
