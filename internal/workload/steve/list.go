package steve

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/jsonscan"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

// bufferSize is how much of a body is scanned at once.
const bufferSize = 64 << 10

// listShape is that of Steve's collections.
var listShape = jsonscan.Shape{Items: "data", Token: "continue", Version: "revision"}

// lister is a client that lists a collection.
type lister struct {
	httpconn.Client
	path     string
	paging   string
	pageSize int
	more     string  // query of every page: filter, sort, …
	census   *census // of the walk under way; nil if walks are not checked
	revision string  // of the walk's first page
	buffer   []byte
}

func newLister(c httpconn.Client, list v1.SteveList, expected []made) *lister {
	l := &lister{
		Client: c, path: collection(list.Resource, list.Namespace), paging: list.Pagination, pageSize: list.PageSize,
		buffer: make([]byte, bufferSize),
	}
	if list.Verify {
		l.census = newCensus(expected)
	}
	for _, p := range []struct{ key, value string }{{"filter", list.Filter}, {"sort", list.Sort}, {"projectsornamespaces", list.ProjectsOrNamespaces}} {
		if p.value != "" {
			l.more += "&" + p.key + "=" + url.QueryEscape(p.value)
		}
	}
	return l
}

func (c *lister) Next() (workload.Op, bool) {
	return workload.Op{Kind: "walk", Do: c.walk}, true
}

// walk lists the whole collection. If it is checked, and well but for objects
// that it lacks or shows twice, its reason says so.
func (c *lister) walk(ctx context.Context, parts workload.Timer) workload.Result {
	whole := c.Walk(ctx, parts, c.page)
	if whole.Outcome == record.OK && c.census != nil {
		if reason := c.census.verdict(); reason != "" {
			whole.Reason = reason
		}
	}
	return whole
}

// page asks for one page and gives the token of the next: that of continue, or
// the number of the page.
func (c *lister) page(ctx context.Context, token string) (workload.Result, string) {
	if token == "" {
		c.revision = ""
		c.census.begin()
	}
	scan := jsonscan.ListScanner{Shape: listShape}
	if c.census != nil {
		scan.Named = c.census.see
	}
	result := c.Do(ctx, httpconn.Request{Method: http.MethodGet, Path: c.path + c.query(token)}, func(body io.Reader) (int64, error) {
		return scan.Read(body, c.buffer)
	})
	found := scan.Found()
	result.Items = found.Items
	if token == "" {
		c.revision = found.Version
	}
	everything := found.Items > int64(c.pageSize)
	if result.Outcome == record.OK && everything {
		result.Reason = httpconn.LimitIgnored
	}
	switch c.paging {
	case "none":
		return result, ""
	case "page":
		if found.Items == 0 || everything {
			return result, ""
		}
		number, _ := strconv.Atoi(token) // 0 for the first
		return result, strconv.Itoa(max(number, 1) + 1)
	}
	return result, found.Token
}

func (c *lister) query(token string) string {
	var query string
	switch size := strconv.Itoa(c.pageSize); {
	case c.paging == "page" && token == "":
		query = "?pagesize=" + size + "&page=1"
	case c.paging == "page":
		query = "?pagesize=" + size + "&page=" + token
	default:
		query = "?limit=" + size
	}
	if token != "" && c.revision != "" {
		query += "&revision=" + url.QueryEscape(c.revision)
	}
	if token != "" && c.paging != "page" {
		query += "&continue=" + url.QueryEscape(token)
	}
	return query + c.more
}
