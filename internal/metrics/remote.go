package metrics

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// Remote is a Prometheus, or what speaks its HTTP API, that somebody else runs.
type Remote struct {
	url       string // without credentials
	api       v1.API
	transport *http.Transport
}

const (
	// answerLimit is the time that one answer may take.
	answerLimit = 30 * time.Second
	// answerBytes bounds one answer, and answerValues what is made of a range.
	answerBytes  = 128 << 20
	answerValues = 2_000_000
	// answerSteps is how many steps are asked for at once: Prometheus refuses more than 11,000.
	answerSteps = 10_000
)

// ErrURL is the error of an address that is none of a Prometheus.
var ErrURL = errors.New("not the URL of a Prometheus")

// OpenRemote gives the Prometheus at a URL. token gives the bearer token of a
// request, as tokens change; an empty one is none. Credentials in the URL are
// used and kept to itself. Nothing is asked yet.
func OpenRemote(address string, token func() (string, error)) (*Remote, error) {
	u, err := url.Parse(address)
	if err != nil {
		// The parser's message has the address in it, and so perhaps a password.
		return nil, fmt.Errorf("%w: it cannot be parsed; one looks like http://prometheus:9090", ErrURL)
	}
	user := u.User
	u.User = nil
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		u.RawQuery = ""
		return nil, fmt.Errorf("%s: %w: it takes http or https, a host, and a path if it has a prefix, such as http://prometheus:9090", u, ErrURL)
	}
	r := &Remote{url: strings.TrimRight(u.String(), "/"), transport: http.DefaultTransport.(*http.Transport).Clone()}
	client, err := api.NewClient(api.Config{Address: r.url, Client: &http.Client{
		Transport: &authorized{u, user, token, r.transport},
		// A redirect leads to a login page, and credentials are for nobody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.url, err)
	}
	r.api = v1.NewAPI(client)
	return r, nil
}

// URL is the address, without credentials.
func (r *Remote) URL() string { return r.url }

// Close ends the connections.
func (r *Remote) Close() error {
	r.transport.CloseIdleConnections()
	return nil
}

// Check asks for a constant, to learn whether there is anybody who answers.
func (r *Remote) Check(ctx context.Context) error {
	_, err := r.At(ctx, "vector(1)", time.Now())
	return err
}

// Range implements Source. A long one is asked for in pieces.
func (r *Remote) Range(ctx context.Context, expression string, start, end time.Time, step time.Duration) (promql.Matrix, error) {
	if err := CheckExpression(expression); err != nil {
		return nil, err
	}
	var all promql.Matrix
	for !start.After(end) {
		last := start.Add((answerSteps - 1) * step)
		if last.After(end) {
			last = end
		}
		answer, err := r.ask(ctx, expression, func(ctx context.Context) (model.Value, v1.Warnings, error) {
			return r.api.QueryRange(ctx, expression, v1.Range{Start: start, End: last, Step: step})
		})
		if err != nil {
			return nil, err
		}
		all = Join(all, answer)
		if n := values(all); n > answerValues {
			return nil, fmt.Errorf("%q gives %d values of %d series at %s, more than are kept: sum or max them", expression, n, len(all), r.url)
		}
		start = start.Add(answerSteps * step)
	}
	return all, nil
}

func values(series promql.Matrix) int {
	n := 0
	for _, s := range series {
		n += len(s.Floats)
	}
	return n
}

// At implements Source.
func (r *Remote) At(ctx context.Context, expression string, at time.Time) (promql.Matrix, error) {
	if err := CheckExpression(expression); err != nil {
		return nil, err
	}
	return r.ask(ctx, expression, func(ctx context.Context) (model.Value, v1.Warnings, error) {
		return r.api.Query(ctx, expression, at)
	})
}

// ask makes one request. Warnings of Prometheus, such as of a rate of a gauge,
// are left out: the engine of a run's own metrics has none either.
func (r *Remote) ask(ctx context.Context, expression string, request func(context.Context) (model.Value, v1.Warnings, error)) (promql.Matrix, error) {
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	answer, _, err := request(limited)
	if err != nil {
		return nil, r.explain(expression, err)
	}
	switch value := answer.(type) {
	case model.Matrix:
		return FromModel(value), nil
	case model.Vector:
		var series promql.Matrix
		for _, s := range value {
			if s.Histogram == nil {
				series = append(series, promql.Series{Metric: labelsOf(s.Metric), Floats: []promql.FPoint{{T: int64(s.Timestamp), F: float64(s.Value)}}})
			}
		}
		return series, nil
	case *model.Scalar:
		return promql.Matrix{{Floats: []promql.FPoint{{T: int64(value.Timestamp), F: float64(value.Value)}}}}, nil
	}
	return nil, fmt.Errorf("ask Prometheus %s: it answers %q with a %v, which is no number", r.url, expression, answer.Type())
}

// explain says what went wrong, and the way out.
func (r *Remote) explain(expression string, err error) error {
	var answered *v1.Error
	var unreachable net.Error
	var untrusted x509.UnknownAuthorityError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errToken):
		return fmt.Errorf("ask Prometheus %s: %w", r.url, cause(err))
	case errors.As(err, &untrusted):
		return fmt.Errorf("reach Prometheus %s: %w: name the file of its certificate authority in SSL_CERT_FILE", r.url, cause(err))
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("ask Prometheus %s: it did not answer %q within %v: ask for less, or look at its load", r.url, expression, answerLimit)
	case errors.As(err, &answered):
		return fmt.Errorf("ask Prometheus %s: it %s", r.url, inWords(expression, answered))
	case errors.As(err, &unreachable):
		return fmt.Errorf("reach Prometheus %s: %w: is it running, and is this its URL, as seen from here? (kubectl port-forward opens one inside a cluster)", r.url, cause(err))
	}
	return fmt.Errorf("ask Prometheus %s: it %s", r.url, otherwise) // the decoder's words are full of the answer
}

// cause leaves the request's own address out, which stands in the message already.
func cause(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

const otherwise = "answers, but not as a Prometheus does: is the URL that of a page, or of another program?"

// inWords puts an answer into words that is none to the question.
func inWords(expression string, answered *v1.Error) string {
	status := strings.TrimPrefix(strings.TrimPrefix(answered.Msg, "client error: "), "bad response code ")
	switch {
	case answered.Type == v1.ErrClient && (status == "401" || status == "403"):
		return "refuses the request (" + status + "): give a valid token with --prometheus-token-file, or in PLIMSOLL_PROMETHEUS_TOKEN"
	case answered.Type == v1.ErrClient && status == "404":
		return "has no query API there (404): the URL ends before /api/v1, and has the path prefix, if there is one"
	case answered.Type == v1.ErrBadResponse && strings.HasPrefix(status, "3"):
		return "answers with a redirect (" + status + "), which is not followed: give the final URL; behind a login, give a token with --prometheus-token-file"
	case answered.Type == v1.ErrBadResponse:
		return otherwise
	}
	return fmt.Sprintf("does not evaluate %q: %s (%s)", expression, answered.Msg, answered.Type)
}

// WhyNothing implements Source.
func (r *Remote) WhyNothing(ctx context.Context, expression string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	why, err := whyNothing(limited, remoteNames{r}, expression)
	if err != nil {
		return "", err
	}
	if why == emptyThen {
		why += "; a Prometheus that scrapes every 30s has two samples in a window of [1m] or more"
	}
	return why, nil
}

// remoteNames looks names up over HTTP.
type remoteNames struct{ *Remote }

func (r remoteNames) LabelValues(ctx context.Context, name string, matchers ...*labels.Matcher) ([]string, error) {
	found, _, err := r.api.LabelValues(ctx, name, selectors(matchers), time.Time{}, time.Time{})
	if err != nil {
		return nil, r.explain("the values of "+name, err)
	}
	var all []string
	for _, value := range found {
		all = append(all, string(value))
	}
	return all, nil
}

func (r remoteNames) LabelNames(ctx context.Context, matchers ...*labels.Matcher) ([]string, error) {
	found, _, err := r.api.LabelNames(ctx, selectors(matchers), time.Time{}, time.Time{})
	if err != nil {
		return nil, r.explain("the names of labels", err)
	}
	var all []string
	for _, name := range found {
		all = append(all, string(name))
	}
	return all, nil
}

// selectors writes matchers as the API takes them.
func selectors(matchers []*labels.Matcher) []string {
	if len(matchers) == 0 {
		return nil
	}
	var written []string
	for _, m := range matchers {
		written = append(written, m.String())
	}
	return []string{"{" + strings.Join(written, ",") + "}"}
}

// errToken is the error of a token that cannot be had.
var errToken = errors.New("no token")

// authorized adds credentials to requests to one server, and to no other.
type authorized struct {
	server *url.URL
	user   *url.Userinfo
	token  func() (string, error)
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a *authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	if request.URL.Scheme == a.server.Scheme && request.URL.Host == a.server.Host {
		if err := a.authorize(request); err != nil {
			return nil, err
		}
	}
	response, err := a.next.RoundTrip(request)
	if err == nil {
		response.Body = limitedBody{io.LimitReader(response.Body, answerBytes), response.Body}
	}
	return response, err
}

func (a *authorized) authorize(request *http.Request) error {
	if a.user != nil {
		password, _ := a.user.Password()
		request.SetBasicAuth(a.user.Username(), password)
	}
	if a.token == nil {
		return nil
	}
	token, err := a.token()
	if err != nil {
		return fmt.Errorf("%w: %w", errToken, err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// limitedBody cuts an answer that is too long, which then cannot be read.
type limitedBody struct {
	io.Reader
	io.Closer
}
