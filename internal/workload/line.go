package workload

import (
	"context"
	"sync/atomic"
)

// Line is one connection of a kind, which the next request lays anew when it is
// lost: that request pays for the handshake, as a user's would. It is safe for
// concurrent use.
type Line[C any] struct {
	dial    func(context.Context) (*C, error)
	dialing chan struct{} // holds a token while somebody dials
	current atomic.Pointer[C]
}

// NewLine gives a line without a connection yet.
func NewLine[C any](dial func(context.Context) (*C, error)) *Line[C] {
	return &Line[C]{dial: dial, dialing: make(chan struct{}, 1)}
}

// Current is the connection that was opened last; nil if none was.
func (l *Line[C]) Current() *C { return l.current.Load() }

// Replace dials in place of a lost connection, unless another request has done
// so. Whoever waits for that one's dialling waits no longer than ctx.
func (l *Line[C]) Replace(ctx context.Context, lost *C) (*C, error) {
	select {
	case l.dialing <- struct{}{}:
		defer func() { <-l.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c := l.Current(); c != lost {
		return c, nil
	}
	c, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	l.current.Store(c)
	return c, nil
}
