package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

// CheckExpression says what is wrong with a PromQL expression, and where in it,
// or nil. One that gives no values over time (a string, or a range such as
// x[5m] by itself) is wrong too.
func CheckExpression(expression string) error {
	_, err := parse(expression)
	return err
}

func parse(expression string) (parser.Expr, error) {
	expr, err := newParser().ParseExpr(expression)
	if err != nil {
		return nil, faultsOf(expression, err)
	}
	switch expr.Type() {
	case parser.ValueTypeVector, parser.ValueTypeScalar:
		return expr, nil
	}
	return nil, fmt.Errorf("%q is not a PromQL expression with a value at each moment, but a %s: put it into a function, such as rate(…) or max_over_time(…)",
		expression, parser.DocumentedType(expr.Type()))
}

func newParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// faultsOf words all the faults that the parser found, not only the first.
func faultsOf(expression string, err error) error {
	var found parser.ParseErrors
	if !errors.As(err, &found) {
		return fmt.Errorf("%q is not PromQL: %w", expression, err)
	}
	var faults []string
	for _, fault := range found {
		faults = append(faults, position(expression, int(fault.PositionRange.Start))+": "+fault.Err.Error())
	}
	return fmt.Errorf("%q is not PromQL: %s", expression, strings.Join(slices.Compact(faults), "; "))
}

// position gives the place of a byte as people count.
func position(expression string, at int) string {
	before := expression[:min(max(at, 0), len(expression))]
	line := strings.Count(before, "\n") + 1
	character := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	if strings.Contains(expression, "\n") {
		return fmt.Sprintf("line %d, character %d", line, character)
	}
	return fmt.Sprintf("character %d", character)
}

// names looks up what metrics and labels there are.
type names interface {
	LabelValues(ctx context.Context, name string, matchers ...*labels.Matcher) ([]string, error)
	LabelNames(ctx context.Context, matchers ...*labels.Matcher) ([]string, error)
}

// localNames looks names up in a database.
type localNames struct{ storage.Querier }

func (l localNames) LabelValues(ctx context.Context, name string, matchers ...*labels.Matcher) ([]string, error) {
	found, _, err := l.Querier.LabelValues(ctx, name, nil, matchers...)
	return found, err
}

func (l localNames) LabelNames(ctx context.Context, matchers ...*labels.Matcher) ([]string, error) {
	found, _, err := l.Querier.LabelNames(ctx, nil, matchers...)
	return found, err
}

// WhyNothing says why an expression may have given no value: a metric or a
// label that the database does not have, with those that look like it.
func (r *Reader) WhyNothing(ctx context.Context, expression string) (string, error) {
	querier, err := r.db.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		return "", fmt.Errorf("look for metrics: %w", err)
	}
	defer querier.Close()
	return whyNothing(ctx, localNames{querier}, expression)
}

// emptyThen is the reason that is left when all of an expression's metrics are there.
const emptyThen = "its metrics are there, but have no value then, or too few for a window such as [5s] (a rate needs two samples in it), or none that the expression keeps"

func whyNothing(ctx context.Context, in names, expression string) (string, error) {
	expr, err := parse(expression)
	if err != nil {
		return "", err
	}
	metrics, err := in.LabelValues(ctx, model.MetricNameLabel)
	if err != nil {
		return "", fmt.Errorf("look for metrics: %w", err)
	}
	if len(metrics) == 0 {
		return "there are no metrics at all: none was sampled", nil
	}
	var reasons []string
	for _, selector := range parser.ExtractSelectors(expr) {
		reason, err := whyNot(ctx, in, metrics, selector)
		if err != nil {
			return "", fmt.Errorf("look for metrics: %w", err)
		}
		if reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if reasons == nil {
		return emptyThen, nil
	}
	return strings.Join(reasons, "; "), nil
}

// whyNot says why a selector finds no series; nothing, if it finds some.
func whyNot(ctx context.Context, in names, metrics []string, selector []*labels.Matcher) (string, error) {
	found, err := in.LabelValues(ctx, model.MetricNameLabel, selector...)
	if err != nil || len(found) > 0 {
		return "", err
	}
	metric := slices.IndexFunc(selector, func(m *labels.Matcher) bool { return m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual })
	if metric < 0 {
		return fmt.Sprintf("no series matches %s", written(selector)), nil
	}
	name := selector[metric]
	if !slices.Contains(metrics, name.Value) {
		return fmt.Sprintf("no metric is called %s%s", name.Value, like(name.Value, metrics)), nil
	}
	for _, matcher := range selector {
		if matcher.Type != labels.MatchEqual || matcher.Value == "" || matcher == name {
			continue
		}
		values, err := in.LabelValues(ctx, matcher.Name, name)
		if err != nil {
			return "", err
		}
		if len(values) == 0 {
			own, err := in.LabelNames(ctx, name)
			own = slices.DeleteFunc(own, func(l string) bool { return l == model.MetricNameLabel })
			return fmt.Sprintf("%s has no label %s; it has %s", name.Value, matcher.Name, few(own)), err
		}
		if !slices.Contains(values, matcher.Value) {
			slices.SortStableFunc(values, nearest(matcher.Value))
			return fmt.Sprintf("%s has no %s=%q; it has %s", name.Value, matcher.Name, matcher.Value, few(values)), nil
		}
	}
	return fmt.Sprintf("no series of %s matches %s", name.Value, written(selector)), nil
}

// written gives a selector's matchers, but for the name of the metric.
func written(selector []*labels.Matcher) string {
	var matchers []string
	for _, m := range selector {
		if m.Name != model.MetricNameLabel || m.Type != labels.MatchEqual {
			matchers = append(matchers, m.String())
		}
	}
	return "{" + strings.Join(matchers, ",") + "}"
}

// shown is how many near misses are named.
const shown = 8

func few(names []string) string {
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// like names the metrics that look like a name.
func like(name string, names []string) string {
	const alike = 0.5
	near := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return similarity(name, n) < alike })
	if len(near) == 0 {
		return ""
	}
	slices.SortStableFunc(near, nearest(name))
	return "; like it are " + few(near)
}

// nearest orders names by their similarity to one.
func nearest(name string) func(a, b string) int {
	return func(a, b string) int {
		switch x, y := similarity(name, a), similarity(name, b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	}
}

// similarity is the share of pairs of neighbouring letters that two names have
// in common. Names of metrics are long: what is missing of one, or stands
// elsewhere, must not count as a letter's difference each.
func similarity(a, b string) float64 {
	pairs := func(s string) map[string]bool {
		all := map[string]bool{}
		s = strings.ToLower(s)
		for i := range len(s) - 1 {
			all[s[i:i+2]] = true
		}
		return all
	}
	x, y := pairs(a), pairs(b)
	common := 0
	for pair := range x {
		if y[pair] {
			common++
		}
	}
	if len(x)+len(y) == 0 {
		return 0
	}
	return 2 * float64(common) / float64(len(x)+len(y))
}
