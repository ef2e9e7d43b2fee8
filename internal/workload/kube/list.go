package kube

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// Reasons that concern lists.
const (
	// gone begins the reason of a 410: the continue token outlived the server's history.
	gone = "http-410"
	// restarted notes a whole walk that had to begin anew.
	restarted = "restarted"
	// limitIgnored notes a good page with more items than the limit allowed.
	limitIgnored = "limit-ignored"
	// continueRepeated is a page that continues with itself, and so forever.
	continueRepeated = "continue-repeated"
)

const (
	// maxRestarts bounds how often one walk begins anew after its token expired.
	maxRestarts = 3
	// bufferSize is how much of a body is scanned at once.
	bufferSize = 64 << 10
)

type lister struct {
	client
	path     string
	pageSize int
	buffer   []byte
}

func (c *lister) Next() (workload.Op, bool) {
	return workload.Op{Kind: "walk", Do: c.walk}, true
}

// walk lists the whole collection, following continue. A token that expires is
// counted as a failed page, and the walk begins anew: if it then succeeds, its
// reason says that it was restarted, its bytes are all that it moved, and its
// items are those of the list that it ended with. Any other failure of a page
// ends the walk and is the walk's own.
func (c *lister) walk(ctx context.Context, parts workload.Timer) workload.Result {
	var whole workload.Result
	token, restarts := "", 0
	for {
		var next string
		page := parts.Part(ctx, "page", func(ctx context.Context) (r workload.Result) {
			r, next = c.page(ctx, token)
			return r
		})
		whole.Bytes += page.Bytes
		whole.Items += page.Items
		switch {
		case token != "" && strings.HasPrefix(page.Reason, gone) && restarts < maxRestarts:
			restarts++
			whole.Items, whole.Reason = 0, restarted
			next = ""
		case page.Outcome != record.OK:
			whole.Outcome, whole.Reason = page.Outcome, page.Reason
			return whole
		case next == "":
			return whole
		case next == token:
			whole.Outcome, whole.Reason = record.Failed, continueRepeated
			return whole
		}
		token = next
	}
}

// page asks for one page and gives the token of the next.
func (c *lister) page(ctx context.Context, token string) (workload.Result, string) {
	path, mark := c.path, "?"
	if c.pageSize > 0 {
		path, mark = path+"?limit="+strconv.Itoa(c.pageSize), "&"
	}
	if token != "" { // also without a limit of ours: the server may have one of its own
		path += mark + "continue=" + url.QueryEscape(token)
	}
	var scan scanner
	result := c.do(ctx, http.MethodGet, path, nil, 0, func(body io.Reader) (int64, error) {
		return scan.read(body, c.buffer)
	})
	result.Items = scan.items
	if result.Outcome == record.OK && c.pageSize > 0 && scan.items > int64(c.pageSize) {
		result.Reason = limitIgnored
	}
	return result, scan.token
}
