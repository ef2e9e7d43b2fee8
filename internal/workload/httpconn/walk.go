package httpconn

import (
	"context"
	"strings"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// Reasons that concern lists.
const (
	// gone begins the reason of a 410: the continue token outlived the server's history.
	gone = "http-410"
	// Restarted notes a whole walk that had to begin anew.
	Restarted = "restarted"
	// LimitIgnored notes a good page with more items than the limit allowed.
	LimitIgnored = "limit-ignored"
	// ContinueRepeated is a page that continues with itself, and so forever.
	ContinueRepeated = "continue-repeated"
)

// MaxRestarts bounds how often one walk begins anew after its token expired.
const MaxRestarts = 3

// Walk lists a whole collection, each page as a part. A page is given the token
// that the last one left, empty for the first. A token that expires is counted
// as a failed page, and the walk begins anew: if it then succeeds, its reason
// says that it was restarted, its bytes are all that it moved, and its items are
// those of the list that it ended with. Any other failure of a page ends the
// walk and is the walk's own. How long a good page took to begin is a part too.
func (c *Client) Walk(ctx context.Context, parts workload.Timer, page func(ctx context.Context, token string) (workload.Result, string)) workload.Result {
	var whole workload.Result
	token, restarts := "", 0
	for {
		var next string
		result := parts.Part(ctx, "page", func(ctx context.Context) (r workload.Result) {
			r, next = page(ctx, token)
			return r
		})
		if result.Outcome == record.OK {
			parts.Took("first-byte", c.FirstByte, workload.Result{})
		}
		whole.Bytes += result.Bytes
		whole.Items += result.Items
		switch {
		case token != "" && strings.HasPrefix(result.Reason, gone) && restarts < MaxRestarts:
			restarts++
			whole.Items, whole.Reason = 0, Restarted
			next = ""
		case result.Outcome != record.OK:
			whole.Outcome, whole.Reason = result.Outcome, result.Reason
			return whole
		case next == "":
			return whole
		case next == token:
			whole.Outcome, whole.Reason = record.Failed, ContinueRepeated
			return whole
		}
		token = next
	}
}
