package httpconn

import (
	"context"
	"io"
	"strconv"
	"time"

	"plimsoll.dev/plimsoll/internal/workload"
)

// Client sends the requests of one logical user.
type Client struct {
	Connection *Connection
	Timeout    time.Duration
	// FirstByte is how long the last request waited for its answer to begin.
	FirstByte time.Duration
	// RetryAfter is how long the last answer asks to wait, if it refused the request; 0 if it doesn't say.
	RetryAfter time.Duration
}

// Do sends one request and hands an answer's body, if it is a good one, to read.
func (c *Client) Do(ctx context.Context, r Request, read func(io.Reader) (int64, error)) workload.Result {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return c.Ask(ctx, r, read)
}

// Ask does the same without a time limit of its own.
func (c *Client) Ask(ctx context.Context, r Request, read func(io.Reader) (int64, error)) workload.Result {
	started := time.Now()
	response, err := c.Connection.Exchange(ctx, r)
	c.FirstByte = time.Since(started)
	if err != nil {
		return Failure(err)
	}
	defer response.Body.Close()
	var result workload.Result
	c.RetryAfter = 0
	if response.StatusCode >= 300 {
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
			c.RetryAfter = time.Duration(seconds) * time.Second
		}
		result = c.Connection.Refusal(response)
	} else {
		n, err := read(response.Body)
		if err != nil {
			result = Failure(err)
		}
		result.Bytes = n
	}
	result.Bytes += r.Length
	return result
}

// Discard reads a body to its end and counts it.
func Discard(body io.Reader) (int64, error) { return io.Copy(io.Discard, body) }
