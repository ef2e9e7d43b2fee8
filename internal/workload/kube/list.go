package kube

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

// Reasons that concern lists.
const (
	// limitIgnored notes a good answer with more items than the limit allowed.
	limitIgnored = "limit-ignored"
	// expired is a 410: the continue token outlived the server's history.
	expired = "http-410-Expired"
)

// restarts bounds how often one walk begins anew after its token expired.
const restarts = 3

type lister struct {
	client
	path     string
	pageSize int
}

func (c *lister) Next() (workload.Op, bool) {
	return workload.Op{Kind: "walk", Do: c.walk}, true
}

// walk lists the whole collection, following continue. A token that expires
// is counted as a failed page, and the walk begins anew.
func (c *lister) walk(ctx context.Context, parts workload.Timer) workload.Result {
	var whole workload.Result
	token := ""
	for restarted := 0; ; {
		var next string
		page := parts.Part(ctx, "page", func(ctx context.Context) (r workload.Result) {
			r, next = c.page(ctx, token)
			return r
		})
		whole.Bytes += page.Bytes
		whole.Items += page.Items
		switch {
		case page.Outcome != record.OK && page.Reason == expired && restarted < restarts:
			restarted++
			whole.Items, next = 0, ""
			whole.Reason = "restarted"
		case page.Outcome != record.OK:
			whole.Outcome, whole.Reason = page.Outcome, page.Reason
			return whole
		case page.Reason == limitIgnored:
			whole.Reason = limitIgnored
			fallthrough
		default:
			if next == "" {
				return whole
			}
		}
		token = next
	}
}

// page asks for one page and gives the token of the next.
func (c *lister) page(ctx context.Context, token string) (workload.Result, string) {
	path := c.path
	if c.pageSize > 0 {
		path += "?limit=" + strconv.Itoa(c.pageSize)
		if token != "" {
			path += "&continue=" + url.QueryEscape(token)
		}
	}
	var scan scanner
	result := c.do(ctx, http.MethodGet, path, nil, 0, func(body io.Reader) (int64, error) {
		return scan.read(body, c.buffer)
	})
	result.Items = scan.items
	if c.pageSize > 0 && scan.items > int64(c.pageSize) {
		result.Reason = limitIgnored
	}
	return result, scan.token
}
