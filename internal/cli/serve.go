package cli

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/report"
	"plimsoll.dev/plimsoll/internal/store"
)

// liveInterval is the least time between two pages that are made: making one
// takes CPU that the target would have.
const liveInterval = 5 * time.Second

// live is the report of an experiment that is still running, in a browser.
type live struct {
	results *store.Results

	mu   sync.Mutex
	made time.Time
	page []byte
}

// listenLoopback listens, but only where nobody else's machine can ask.
func listenLoopback(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usage(fmt.Errorf("--serve %s: write HOST:PORT, such as 127.0.0.1:0 (%w)", address, err))
	}
	if !loopback(host) {
		return nil, usage(fmt.Errorf("--serve %s: only loopback addresses are served, such as 127.0.0.1:0; for another machine, forward the port", address))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--serve %s: %w", address, err)
	}
	return listener, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A page of somebody else's, whose name was made to lead here, must not read it.
	if host, _, err := net.SplitHostPort(r.Host); err != nil || !loopback(host) {
		http.Error(w, "not here", http.StatusForbidden)
		return
	}
	if r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.made) >= liveInterval {
		l.page = l.make(context.WithoutCancel(r.Context()))
		l.made = time.Now()
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Refresh", strconv.Itoa(int(liveInterval.Seconds()))) // the page's own policy allows no script for it
	_, _ = w.Write(l.page)
}

// make gives the page as things stand.
func (l *live) make(ctx context.Context) []byte {
	var page bytes.Buffer
	result, err := analysis.Analyze(ctx, l.results)
	if err == nil {
		err = report.HTML(&page, result)
	}
	if err != nil {
		page.Reset()
		fmt.Fprintf(&page, "<!doctype html><title>plimsoll</title><p>%s", html.EscapeString(err.Error()))
	}
	return page.Bytes()
}

// serveOn shows the experiment to whoever connects, until ctx is done.
func serveOn(ctx context.Context, listener net.Listener, results *store.Results) {
	server := &http.Server{Handler: &live{results: results}, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
}
