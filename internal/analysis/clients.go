package analysis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll.dev/plimsoll/internal/metrics"
	"plimsoll.dev/plimsoll/internal/store"
)

// Role is what a client of the API server is to an experiment.
type Role string

// The roles.
const (
	LoadRole     Role = "load"
	ControlPlane Role = "control plane"
	OtherRole    Role = "other"
)

// Client is what a client of the API server got for its requests over the measured steps.
type Client struct {
	ClientName
	Requests
	// RejectedBy counts rejections by priority level, as far as the client was told which.
	RejectedBy map[string]int64 `json:"rejectedBy,omitempty"`
}

// ClientName says who a client is, and who counted its requests.
type ClientName struct {
	// Name is a component, or a phase with its user.
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Part says that the requests are among those of another client too.
	Part bool `json:"part,omitempty"`
	// Source is plimsoll, which sent them; own, the client's own metrics; or audit, the API server's log.
	Source string `json:"source,omitempty"`
}

// Who counted.
const (
	byPlimsoll = "plimsoll"
	byClient   = "own"
	byAudit    = "audit"
)

// Requests are counts of requests by how they were answered. What is in none of the
// others succeeded.
type Requests struct {
	Requests float64 `json:"requests"`
	// Rejected were answered 429, or 503 with Retry-After.
	Rejected float64 `json:"rejected"`
	// ClientErrors are other answers of 4xx, such as conflicts, which controllers live with.
	ClientErrors float64 `json:"clientErrors"`
	ServerErrors float64 `json:"serverErrors"`
	// Unanswered timed out, or lost their connection.
	Unanswered float64 `json:"unanswered"`
}

// tallies are the metrics in which requests are counted, by whom they are from.
func tallies() []tally {
	return []tally{
		{`plimsoll_requests_total`, func(l labels.Labels) []ClientName {
			name := writtenName(l.Get("phase"))
			if user, named := strings.CutPrefix(l.Get("user"), "user-"); named {
				name += " (" + user + ")"
			}
			return []ClientName{{name, LoadRole, false, byPlimsoll}}
		}},
		{`rest_client_requests_total{component=~"kube-controller-manager|kube-scheduler"}`, func(l labels.Labels) []ClientName {
			return []ClientName{{l.Get("component"), ControlPlane, false, byClient}}
		}},
		{`plimsoll_audit_requests_total`, audited},
	}
}

// tally is a metric, and the clients that one of its series is of.
type tally struct {
	expression string
	of         func(labels.Labels) []ClientName
}

// ownUsers begins the names of the users that local targets make for plimsoll, and
// for Steve: what the load asks for is known from itself, whatever it calls itself.
const ownUsers = "plimsoll-"

// audited names the clients that an audit log knows and nobody else, and the
// heartbeats of all: leases are how leaders and nodes say that they are there.
func audited(l labels.Labels) []ClientName {
	agent := l.Get("agent")
	lease := l.Get("resource") == "leases"
	if user := l.Get("user"); strings.HasPrefix(user, ownUsers) && user != ownUsers+"steve" {
		return nil
	}
	switch agent {
	case "kube-controller-manager", "kube-scheduler":
		if lease {
			return []ClientName{{agent + ": its lease", ControlPlane, true, byAudit}}
		}
		return nil
	case "kwok":
		all := []ClientName{{agent, ControlPlane, false, byAudit}}
		if lease {
			all = append(all, ClientName{agent + ": heartbeats of nodes", ControlPlane, true, byAudit})
		}
		return all
	case "kube-apiserver":
		return []ClientName{{"kube-apiserver itself", OtherRole, false, byAudit}}
	}
	return []ClientName{{cmp.Or(agent, "a client without a name"), OtherRole, false, byAudit}}
}

// addClients counts who got what. Without a control plane, or an audit log, there
// is nobody to tell from the load, and the operations say more of that.
func (r *Run) addClients(ctx context.Context, reader *metrics.Reader) {
	measured := r.measured()
	if measured.end == 0 {
		return
	}
	clients := map[ClientName]*Client{}
	others := false
	for _, t := range tallies() {
		grown, err := r.increases(ctx, reader, t.expression, measured)
		if err != nil {
			r.Warnings.add("metrics", err.Error(), "", "")
			return
		}
		for _, g := range grown {
			if phase := r.phase(g.labels.Get("phase")); phase != nil && !phase.Measured {
				continue // its last requests may have been read only after it
			}
			for _, name := range t.of(g.labels) {
				others = others || name.Role != LoadRole
				if clients[name] == nil {
					clients[name] = &Client{ClientName: name}
				}
				clients[name].add(g)
			}
		}
	}
	if !others {
		return
	}
	r.Clients = slices.SortedFunc(maps.Values(clients), func(a, b *Client) int { return a.compare(b.ClientName) })
	r.Health = r.healthOf(ctx, reader, measured)
}

// compare orders clients as reports do: the load, the control plane, the others.
func (n ClientName) compare(other ClientName) int {
	order := []Role{LoadRole, ControlPlane, OtherRole}
	last := map[bool]int{true: 1}
	return cmp.Or(cmp.Compare(slices.Index(order, n.Role), slices.Index(order, other.Role)),
		cmp.Compare(last[n.Name == All], last[other.Name == All]), cmp.Compare(n.Name, other.Name))
}

// increase is by how much a counter grew.
type increase struct {
	labels labels.Labels
	by     float64
}

// increases is by how much each series of a counter grew within a span, as far as
// it was sampled. One that was not there before began at nothing, and so does
// that of a component that is started anew.
func (r *Run) increases(ctx context.Context, reader *metrics.Reader, expression string, within span) ([]increase, error) {
	at := r.moments(within)
	// What is read every so often tells of the last request once it is read again.
	end := at.end.Add(time.Second)
	seconds := math.Ceil(end.Sub(r.Started).Seconds())
	matrix, err := reader.Range(ctx, expression, end.Add(-time.Duration(seconds)*time.Second), end, time.Second)
	if err != nil {
		return nil, err
	}
	var all []increase
	for _, series := range matrix {
		if by := increaseSince(at.start.UnixMilli(), series.Floats); by > 0 {
			all = append(all, increase{series.Metric, by})
		}
	}
	return all, nil
}

// increaseSince is by how much a counter grew after a moment.
func increaseSince(start int64, points []promql.FPoint) (by float64) {
	before := 0.0
	for _, p := range points {
		switch {
		case p.T <= start:
		case p.F < before: // it began anew
			by += p.F
		default:
			by += p.F - before
		}
		before = p.F
	}
	return by
}

// add counts the requests of a series.
func (c *Client) add(g increase) {
	c.Requests.Requests += g.by
	code := g.labels.Get("code")
	switch {
	case code == "429", code == "503" && g.labels.Get("retry_after") != "":
		c.Rejected += g.by
		if level := g.labels.Get("priority_level"); level != "" {
			if c.RejectedBy == nil {
				c.RejectedBy = map[string]int64{}
			}
			c.RejectedBy[level] += int64(g.by)
		}
	case strings.HasPrefix(code, "4"):
		c.ClientErrors += g.by
	case strings.HasPrefix(code, "5"):
		c.ServerErrors += g.by
	case !strings.HasPrefix(code, "2") && !strings.HasPrefix(code, "3"):
		c.Unanswered += g.by
	}
}

// Health is how the control plane itself fared.
type Health struct {
	// LostLeases are how often components ended because they could not renew their lease as the leader. One that
	// is not to be started anew ends the run with it.
	LostLeases map[string]int `json:"lostLeases,omitempty"`
	// SlowRenewals is how often a leader was slow to renew its lease.
	SlowRenewals float64 `json:"slowRenewals"`
	// UnreadyNodes is how many nodes at the most, at once, the controllers took for dead, as their heartbeats were missed.
	UnreadyNodes float64 `json:"unreadyNodes"`
	// Refusals are those that the API server counted: by priority and fairness or, without it, by the limits in flight.
	Refusals []Refusal `json:"refusals,omitempty"`
}

// Refusal is how often an API server refused requests for one reason.
type Refusal struct {
	// Reason such as concurrency-limit, queue-full or time-out; in-flight of a server without priority and fairness.
	Reason        string  `json:"reason"`
	PriorityLevel string  `json:"priorityLevel,omitempty"`
	FlowSchema    string  `json:"flowSchema,omitempty"`
	Count         float64 `json:"count"`
}

// lostLease is what leaders say when they end for it.
const lostLease = "leaderelection lost"

func (r *Run) healthOf(ctx context.Context, reader *metrics.Reader, within span) *Health {
	h := &Health{LostLeases: r.lostLeases()}
	// What cannot be read here could not be read before, and was warned of.
	slow, _ := r.increases(ctx, reader, `leader_election_slowpath_total`, within)
	for _, g := range slow {
		h.SlowRenewals += g.by
	}
	unready, _ := reader.At(ctx, fmt.Sprintf("sum(max_over_time(node_collector_unhealthy_nodes_in_zone[%ds]))", int(math.Ceil(within.end-within.start))+1), r.moments(within).end)
	for _, series := range unready {
		h.UnreadyNodes = max(h.UnreadyNodes, series.Floats[0].F)
	}
	refused, _ := r.increases(ctx, reader, `apiserver_flowcontrol_rejected_requests_total`, within)
	for _, g := range refused {
		h.refused(Refusal{g.labels.Get("reason"), g.labels.Get("priority_level"), g.labels.Get("flow_schema"), g.by})
	}
	if refused == nil {
		terminated, _ := r.increases(ctx, reader, `apiserver_request_terminations_total{code="429"}`, within)
		for _, g := range terminated {
			h.refused(Refusal{Reason: "in-flight", Count: g.by})
		}
	}
	return h
}

// lostLeases finds them in what components ended with.
func (r *Run) lostLeases() map[string]int {
	ends := []string{r.Reason}
	for _, e := range r.stored.Events {
		if e.Kind == store.Restarted {
			ends = append(ends, e.Message)
		}
	}
	var lost map[string]int
	for _, end := range ends {
		for _, component := range r.Environment.Components {
			if strings.Contains(end, lostLease) && strings.Contains(end, component.Name+" (process") {
				if lost == nil {
					lost = map[string]int{}
				}
				lost[component.Name]++
			}
		}
	}
	return lost
}

func (h *Health) refused(refusal Refusal) {
	at := slices.IndexFunc(h.Refusals, func(o Refusal) bool {
		return o.Reason == refusal.Reason && o.PriorityLevel == refusal.PriorityLevel && o.FlowSchema == refusal.FlowSchema
	})
	if at < 0 {
		h.Refusals = append(h.Refusals, refusal)
		return
	}
	h.Refusals[at].Count += refusal.Count
}
