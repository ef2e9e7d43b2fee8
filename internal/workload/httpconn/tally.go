package httpconn

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"plimsoll.dev/plimsoll/internal/record"
)

// The headers by which an API server says who let a request pass, or refused it.
const (
	flowSchemaHeader    = "X-Kubernetes-PF-FlowSchema-UID"
	priorityLevelHeader = "X-Kubernetes-PF-PriorityLevel-UID"
)

// unknown is a flow schema or a priority level that was not there when names were asked for.
const unknown = "unknown"

// Tally counts the requests of a run by how they were answered: every one that
// was sent, whatever operation it was a part of.
type Tally struct {
	requests *prometheus.CounterVec
	names    map[string]string // of flow schemas and priority levels, by UID
}

// NewTally gives a tally whose counters are in the registry, as
// plimsoll_requests_total. Names are those of flow schemas and priority levels
// by their UIDs, and bound how many series there can be.
func NewTally(registry prometheus.Registerer, names map[string]string) (*Tally, error) {
	t := &Tally{names: names, requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "plimsoll_requests_total", Help: "Requests of load users, by how they were answered.",
	}, []string{"phase", "user", "code", "retry_after", "flow_schema", "priority_level"})}
	return t, registry.Register(t.requests)
}

// Of counts for the requests that a phase makes as a user. A nil tally counts nothing.
func (t *Tally) Of(phase, user string) *Count {
	if t == nil {
		return nil
	}
	return &Count{t, phase, user}
}

// Count counts requests of a phase. It is safe for concurrent use, and counts nothing when nil.
type Count struct {
	tally       *Tally
	phase, user string
}

// answered counts a request; without an answer its code is timeout, cut-short or error.
func (c *Count) answered(response *http.Response, err error) {
	if c == nil {
		return
	}
	if err != nil {
		c.tally.requests.WithLabelValues(c.phase, c.user, codeOf(Failure(err).Outcome, Failure(err).Reason), "", "", "").Inc()
		return
	}
	c.tally.requests.WithLabelValues(c.phase, c.user, strconv.Itoa(response.StatusCode), retryAfter(response),
		c.tally.name(response, flowSchemaHeader), c.tally.name(response, priorityLevelHeader)).Inc()
}

func codeOf(outcome record.Outcome, reason string) string {
	switch {
	case outcome == record.TimedOut:
		return "timeout"
	case reason == cutShort:
		return cutShort
	}
	return "error"
}

// rejectedBy names the priority level that refused a request; nothing if none did, or nobody counts.
func (c *Count) rejectedBy(response *http.Response) string {
	if c == nil || response.StatusCode != http.StatusTooManyRequests {
		return ""
	}
	return c.tally.name(response, priorityLevelHeader)
}

// name resolves the UID in a header; nothing if there is none.
func (t *Tally) name(response *http.Response, header string) string {
	uid := response.Header.Get(header)
	if uid == "" {
		return ""
	}
	if name, known := t.names[uid]; known {
		return name
	}
	return unknown
}

// longestRetry bounds the seconds of Retry-After that are told apart.
const longestRetry = 60

// retryAfter is what an answer says, in seconds; nothing if it says nothing.
func retryAfter(response *http.Response) string {
	header := response.Header.Get("Retry-After")
	if header == "" {
		return ""
	}
	if seconds, err := strconv.Atoi(header); err == nil && seconds >= 0 && seconds <= longestRetry {
		return strconv.Itoa(seconds)
	}
	return "other"
}
