package sampler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/target"
)

// maxExposition bounds one answer of an endpoint; that of a big API server has some 10 MB.
const maxExposition = 64 << 20

// scraper reads one endpoint, again and again. What comes too late, or not at
// all, is a gap, with up = 0.
type scraper struct {
	endpoint target.Endpoint
	outside  bool                       // its process is sampled from outside
	limit    time.Duration              // of one scrape
	known    map[string]*metrics.Series // by their text in the exposition
	up, took *metrics.Series
	body     bytes.Buffer
	samples  []metrics.Sample
}

func newScraper(e target.Endpoint, outside bool, limit time.Duration) *scraper {
	name := func(metric string) *metrics.Series {
		return &metrics.Series{Labels: labels.FromStrings(model.MetricNameLabel, metric, "component", e.Component)}
	}
	return &scraper{endpoint: e, outside: outside, limit: limit, known: map[string]*metrics.Series{}, up: name("up"), took: name("scrape_duration_seconds")}
}

// scrape reads the endpoint once and keeps all that it says, or nothing: half
// an exposition would look like counters that went backwards.
func (s *scraper) scrape(ctx context.Context, db *metrics.DB, now func() time.Time) (unread, unkept error) {
	at := now()
	s.samples = s.samples[:0]
	limited, cancel := context.WithTimeout(ctx, s.limit)
	unread = s.fetch(limited)
	cancel()
	if unread == nil {
		unread = s.parse()
	}
	up := 1.0
	if unread != nil {
		s.samples, up = s.samples[:0], 0
	}
	s.samples = append(s.samples, metrics.Sample{Series: s.up, Value: up}, metrics.Sample{Series: s.took, Value: now().Sub(at).Seconds()})
	// The run's end must not cost the values that have been read.
	return unread, db.Append(context.WithoutCancel(ctx), at, s.samples)
}

// fetch reads the exposition into the body.
func (s *scraper) fetch(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.endpoint.URL, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4,*/*;q=0.1") // kwok knows no type of its own, and would answer 406
	// Compressing would cost the component more than loopback gains.
	request.Header.Set("Accept-Encoding", "identity")
	response, err := s.endpoint.Client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", s.endpoint.URL, response.Status)
	}
	s.body.Reset()
	if _, err := s.body.ReadFrom(io.LimitReader(response.Body, maxExposition)); err != nil {
		return fmt.Errorf("GET %s: %w", s.endpoint.URL, err)
	}
	return nil
}

// parse reads the body into samples.
func (s *scraper) parse() error {
	parser, err := textparse.New(s.body.Bytes(), "text/plain", nil, textparse.ParserOptions{})
	if err != nil {
		return fmt.Errorf("read metrics of %s: %w", s.endpoint.URL, err)
	}
	for {
		entry, err := parser.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read metrics of %s: %w", s.endpoint.URL, err)
		case entry != textparse.EntrySeries:
			continue
		}
		text, _, v := parser.Series()
		series, met := s.known[string(text)]
		if !met {
			series = s.meet(parser)
			s.known[string(text)] = series
		}
		if series != nil {
			s.samples = append(s.samples, metrics.Sample{Series: series, Value: v})
		}
	}
}

// meet names a new series; nil is one that is not kept.
func (s *scraper) meet(parser textparse.Parser) *metrics.Series {
	var own labels.Labels
	parser.Labels(&own)
	if s.outside && sampledOutside(own.Get(model.MetricNameLabel)) {
		return nil
	}
	builder := labels.NewBuilder(own)
	builder.Set("component", s.endpoint.Component)
	return &metrics.Series{Labels: builder.Labels()}
}

// sampledOutside tells the metrics that every sampled process has, in the same
// words; a component's own would be the same series twice.
func sampledOutside(metric string) bool {
	switch metric {
	case "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds":
		return true
	}
	return false
}
