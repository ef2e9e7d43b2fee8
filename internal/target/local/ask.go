package local

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	probeTimeout  = time.Second
	awaitInterval = 10 * time.Millisecond
)

// await asks a URL until it gives a 200.
func await(ctx context.Context, client *http.Client, url string) error {
	return retry(ctx, func(ctx context.Context) error { return probe(ctx, client, url) })
}

// retry tries until it works, with a pause after each try; the error is the last one.
func retry(ctx context.Context, try func(context.Context) error) error {
	for {
		last := try(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; at last: %w", context.Cause(ctx), last)
		case <-time.After(awaitInterval):
		}
	}
}

// probe asks a URL for a 200.
func probe(ctx context.Context, client *http.Client, url string) error {
	_, err := get(ctx, client, url, 4<<10)
	return err
}

// get gives the beginning of what a URL answers with a 200.
func get(ctx context.Context, client *http.Client, url string, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, most))
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: %s", url, response.Status, body[:min(len(body), 4<<10)])
	}
	return body, nil
}
