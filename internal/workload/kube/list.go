package kube

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
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

// How fresh a list is; see v1.KubeList.
const (
	readAny       = "any"
	readExact     = "exact"
	readNotOlder  = "not-older"
	readWatchList = "watch-list"
)

type lister struct {
	client
	path     string
	pageSize int
	first    string // query of a first page, but for its limit
	streamed bool   // by a watch
	accept   string
	buffer   []byte        // of JSON
	wire     *bufio.Reader // of protobuf; nil means JSON
}

func newLister(c client, list v1.KubeList, version string) *lister {
	l := &lister{client: c, path: collection(list.Resource, list.Namespace), pageSize: list.PageSize}
	switch list.Read {
	case readAny:
		l.first = "resourceVersion=0"
	case readExact:
		l.first = "resourceVersionMatch=Exact&resourceVersion=" + url.QueryEscape(version)
	case readNotOlder:
		l.first = "resourceVersionMatch=NotOlderThan&resourceVersion=" + url.QueryEscape(version)
	case readWatchList:
		l.streamed = true
	}
	if list.Encoding == "protobuf" {
		l.wire = bufio.NewReaderSize(nil, bufferSize)
		l.accept = protobufType
		if l.streamed {
			l.accept += ";stream=watch"
		}
	} else {
		l.buffer = make([]byte, bufferSize)
	}
	return l
}

// versionOf asks for the version that a collection has now.
func (c *client) versionOf(ctx context.Context, path string) (string, error) {
	var scan scanner
	result := c.do(ctx, request{method: http.MethodGet, path: path + "?limit=1"}, func(body io.Reader) (int64, error) {
		return scan.read(body, make([]byte, 4<<10))
	})
	if result.Outcome != record.OK || scan.version == "" {
		return "", fmt.Errorf("read the version of %s: %s %s", path, result.Outcome, result.Reason)
	}
	return scan.version, nil
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
			if c.streamed {
				return c.stream(ctx)
			}
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
	var query []string
	if c.pageSize > 0 {
		query = append(query, "limit="+strconv.Itoa(c.pageSize))
	}
	switch {
	case token != "": // also without a limit of ours: the server may have one of its own
		query = append(query, "continue="+url.QueryEscape(token))
	case c.first != "":
		query = append(query, c.first)
	}
	path := c.path
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	var found list
	result := c.do(ctx, request{method: http.MethodGet, path: path, accept: c.accept}, func(body io.Reader) (n int64, err error) {
		if c.wire != nil {
			found, n, err = readProtobufList(body, c.wire)
			return n, err
		}
		var scan scanner
		n, err = scan.read(body, c.buffer)
		found = list{scan.items, scan.token, scan.version}
		return n, err
	})
	result.Items = found.items
	if result.Outcome == record.OK && c.pageSize > 0 && found.items > int64(c.pageSize) {
		result.Reason = limitIgnored
	}
	return result, found.token
}

// list is what is read of a list, or of a page of one.
type list struct {
	items   int64
	token   string // metadata.continue
	version string // metadata.resourceVersion
}

// streamQuery asks for the objects that there are, as events, and then for a
// bookmark that says that these were all.
const streamQuery = "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"

// stream lists the collection by a watch, up to the bookmark.
func (c *lister) stream(ctx context.Context) workload.Result {
	var items int64
	var last event
	take := func(e event) bool {
		last = e
		if e.kind == "ADDED" {
			items++
		}
		return e.kind != "ERROR" && !e.initialEnd
	}
	result := c.do(ctx, request{method: http.MethodGet, path: c.path + streamQuery, accept: c.accept}, func(body io.Reader) (n int64, err error) {
		if c.wire != nil {
			n, err = readProtobufEvents(body, c.wire, take)
		} else {
			n, err = new(eventScanner).read(body, c.buffer, take)
		}
		switch {
		case err != nil:
			return n, err
		case last.kind == "ERROR":
			return n, &eventError{last.reason}
		case !last.initialEnd:
			return n, errWatchEnded
		}
		return n, nil
	})
	result.Items = items
	return result
}
