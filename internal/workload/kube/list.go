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
	"sync"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/jsonscan"
	"plimsoll.dev/plimsoll/internal/protoscan"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

// bufferSize is how much of a body is scanned at once.
const bufferSize = 64 << 10

// How fresh a list is; see v1.KubeList.
const (
	readAny       = "any"
	readExact     = "exact"
	readNotOlder  = "not-older"
	readWatchList = "watch-list"
)

// lender lends what bodies are read through, while they are: of a thousand
// clients most wait for an answer, and a buffer for each would take 64 MiB.
type lender struct {
	buffers sync.Pool // for JSON: *[]byte
	readers sync.Pool // for protobuf: *bufio.Reader
}

func newLender(size int) *lender {
	return &lender{
		buffers: sync.Pool{New: func() any { buffer := make([]byte, size); return &buffer }},
		readers: sync.Pool{New: func() any { return bufio.NewReaderSize(nil, size) }},
	}
}

// lend has read use what is in a pool.
func lend[T any](from *sync.Pool, read func(T) (int64, error)) (int64, error) {
	lent := from.Get().(T)
	defer from.Put(lent)
	return read(lent)
}

type lister struct {
	client
	path     string
	pageSize int
	first    string // query of a first page, but for its limit
	streamed bool   // by a watch
	protobuf bool   // rather than JSON
	accept   string
	lender   *lender
}

func newLister(c client, list v1.KubeList, version string, from *lender) *lister {
	l := &lister{client: c, path: collection(list.Resource, list.Namespace), pageSize: list.PageSize, lender: from}
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
		l.protobuf = true
		l.accept = protoscan.MediaType
		if l.streamed {
			l.accept += ";stream=watch"
		}
	}
	return l
}

// versionOf asks for the version that a collection has now.
func (c *client) versionOf(ctx context.Context, path string) (string, error) {
	scan := jsonscan.ListScanner{Shape: jsonscan.Kubernetes}
	result := c.Do(ctx, httpconn.Request{Method: http.MethodGet, Path: path + "?limit=1"}, func(body io.Reader) (int64, error) {
		return scan.Read(body, make([]byte, 4<<10))
	})
	if result.Outcome != record.OK || scan.Found().Version == "" {
		return "", fmt.Errorf("read the version of %s: %s %s", path, result.Outcome, result.Reason)
	}
	return scan.Found().Version, nil
}

func (c *lister) Next() (workload.Op, bool) {
	return workload.Op{Kind: "walk", Do: c.walk}, true
}

func (c *lister) walk(ctx context.Context, parts workload.Timer) workload.Result {
	return c.Walk(ctx, parts, func(ctx context.Context, token string) (workload.Result, string) {
		if c.streamed {
			return c.stream(ctx), ""
		}
		return c.page(ctx, token)
	})
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
	var found jsonscan.List
	result := c.Do(ctx, httpconn.Request{Method: http.MethodGet, Path: path, Accept: c.accept}, func(body io.Reader) (int64, error) {
		if c.protobuf {
			return lend(&c.lender.readers, func(reader *bufio.Reader) (n int64, err error) {
				found, n, err = protoscan.ReadList(body, reader)
				return n, err
			})
		}
		scan := jsonscan.ListScanner{Shape: jsonscan.Kubernetes}
		n, err := lend(&c.lender.buffers, func(buffer *[]byte) (int64, error) { return scan.Read(body, *buffer) })
		found = scan.Found()
		return n, err
	})
	result.Items = found.Items
	if result.Outcome == record.OK && c.pageSize > 0 && found.Items > int64(c.pageSize) {
		result.Reason = httpconn.LimitIgnored
	}
	return result, found.Token
}

// streamQuery asks for the objects that there are, as events, and then for a
// bookmark that says that these were all.
const streamQuery = "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"

// stream lists the collection by a watch, up to the bookmark.
func (c *lister) stream(ctx context.Context) workload.Result {
	var items int64
	var last jsonscan.Event
	take := func(e jsonscan.Event) bool {
		last = e
		if e.Kind == "ADDED" {
			items++
		}
		return e.Kind != "ERROR" && !e.InitialEnd
	}
	result := c.Do(ctx, httpconn.Request{Method: http.MethodGet, Path: c.path + streamQuery, Accept: c.accept}, func(body io.Reader) (n int64, err error) {
		if c.protobuf {
			n, err = lend(&c.lender.readers, func(reader *bufio.Reader) (int64, error) { return protoscan.ReadEvents(body, reader, take) })
		} else {
			n, err = lend(&c.lender.buffers, func(buffer *[]byte) (int64, error) { return newEvents().Read(body, *buffer, take) })
		}
		switch {
		case err != nil:
			return n, err
		case last.Kind == "ERROR":
			return n, &eventError{last.Reason}
		case !last.InitialEnd:
			return n, errWatchEnded
		}
		return n, nil
	})
	result.Items = items
	return result
}
