// Package plan turns a scenario document into what would happen: runs in
// order, and rough sizes. It is pure: it starts nothing and touches no file.
package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/santhosh-tekuri/jsonschema/v6"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/metrics"
)

// Problem is a fault at a place of a document.
type Problem struct {
	Line, Column int // from 1; 0 where the fault has no place
	Path         string
	Message      string
}

// Problems are all the faults of a document.
type Problems struct {
	Name string // of the document
	List []Problem
}

func (p *Problems) Error() string {
	var b strings.Builder
	for i, problem := range p.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Name)
		if problem.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", problem.Line, problem.Column)
		}
		b.WriteString(": ")
		if problem.Path != "" {
			b.WriteString(problem.Path + ": ")
		}
		b.WriteString(problem.Message)
	}
	return b.String()
}

// document is a scenario on its way from text to types. Places are kept by
// path, so that every later fault can be shown where it was written.
type document struct {
	name   string
	tree   any
	places map[string]place
	faults []Problem
	found  int               // faults, those told already with them
	set    map[string]string // parameters from outside

	// Of the cell that is looked at:
	variant string              // its name, unless it is the baseline
	bound   map[string]any      // its parameters
	origin  map[string]string   // of values, by path: the parameter that they come from
	points  []point             // of the steps, swept ones once for each value
	patched map[string][]string // of what a variant changed, by path: the path in its patch

	schema *jsonschema.Schema    // compiled when it is first needed
	types  map[string]schemaType // of the schema, by name
}

type place struct{ line, column int }

// Load reads a scenario document, with parameters replaced by those in set, and
// makes a scenario for each of its cells. Its error, if the document has faults,
// is *Problems with all of them.
func Load(name string, source []byte, set map[string]string) (*Experiment, error) {
	d := &document{name: name, places: map[string]place{}, set: set, types: schemaTypes()}
	if err := d.parse(source); err != nil {
		return nil, err
	}
	parameters := d.parameters()
	d.replaceParameters(parameters)
	axes, values := d.axes(parameters)
	variants, choices := d.variants(), combinations(values)
	if n := len(variants) * len(choices); n > maxCells {
		d.fault([]string{"spec", "parameters"}, "the variants and parameters come to %d cells: at most %d can be run", n, maxCells)
		return nil, d.problems()
	}
	e := &Experiment{}
	used, written := map[string]bool{}, d.tree
	for _, choice := range choices {
		for _, v := range variants {
			d.tree = clone(written)
			bound := maps.Clone(parameters)
			for i, axis := range axes {
				bound[axis] = choice[i]
			}
			if d.variant = v.name; v.name == variants[0].name {
				d.variant = ""
			}
			if cell := d.cell(v, bound, used); cell != nil {
				cell.identify(v.name, axes, choice)
				e.Cells = append(e.Cells, cell)
			}
		}
	}
	d.tree, d.variant = written, ""
	d.checkUse(parameters, used)
	if len(d.faults) == 0 {
		d.checkComponents(e)
		d.design(e, variants, axes, values)
	}
	if len(d.faults) > 0 {
		return nil, d.problems()
	}
	return e, nil
}

// cell makes the scenario of a variant with its parameters bound; nil, if it has faults.
func (d *document) cell(v variant, parameters map[string]any, used map[string]bool) *Cell {
	before := d.found
	d.origin, d.points, d.patched, d.bound = map[string]string{}, nil, nil, parameters
	if spec := d.spec(); spec["parameters"] != nil {
		spec["parameters"] = parameters
	}
	d.apply(v)
	d.bind(parameters, used)
	d.checkSchema()
	if d.found > before {
		return nil
	}
	scenario := &v1.Scenario{}
	if err := d.decode(scenario); err != nil {
		d.fault(nil, "%v", err)
		return nil
	}
	d.markPoints(scenario)
	scenario.Default()
	for _, fault := range scenario.Validate() {
		d.fault(strings.Split(fault.Path, "."), "%s", fault.Message)
	}
	d.checkExpressions(scenario)
	d.checkTemplates(&scenario.Spec)
	if d.found > before {
		return nil
	}
	scenario.Spec.LeaveOut()
	cell := &Cell{Scenario: scenario, Parameters: map[string]string{}}
	for name, value := range parameters {
		cell.Parameters[name] = fmt.Sprint(value)
	}
	return cell
}

// checkExpressions holds PromQL against the parser of the engine that will evaluate it.
func (d *document) checkExpressions(s *v1.Scenario) {
	for i, o := range s.Spec.Objectives {
		if o.PromQL == "" {
			continue
		}
		if err := metrics.CheckExpression(o.PromQL); err != nil {
			d.fault([]string{"spec", "objectives", strconv.Itoa(i), "promql"}, "%v", err)
		}
	}
}

// A document is small, and so must be what it stands for once its aliases are
// followed: a kilobyte of aliases of aliases can stand for gigabytes.
const (
	maxSource = 1 << 20
	maxNodes  = 100_000
)

func (d *document) parse(source []byte) error {
	if len(source) > maxSource {
		d.fault(nil, "holds %d bytes: a scenario has at most %d", len(source), maxSource)
		return d.problems()
	}
	file, err := parser.ParseBytes(source, 0)
	if err != nil {
		return d.syntax(err, source)
	}
	docs := slices.DeleteFunc(file.Docs, func(doc *ast.DocumentNode) bool { return doc.Body == nil })
	switch {
	case len(docs) == 0:
		d.fault(nil, "the document is empty")
		return d.problems()
	case len(docs) > 1:
		d.fault(nil, "holds %d documents: write one scenario per file", len(docs))
		return d.problems()
	}
	if size(docs[0].Body, map[string]int{}) > maxNodes {
		d.fault(nil, "stands for more than %d values: its aliases are too many, or go in circles", maxNodes)
		return d.problems()
	}
	d.locate(docs[0].Body, nil)
	if err := yaml.NodeToValue(docs[0].Body, &d.tree); err != nil {
		return d.syntax(err, source)
	}
	return nil
}

// size counts the values that a node stands for once aliases are followed, up
// to somewhat over maxNodes. anchors has the sizes of those met so far.
func size(node ast.Node, anchors map[string]int) int {
	total := 1
	add := func(n ast.Node) {
		if n != nil && total <= maxNodes {
			total += size(n, anchors)
		}
	}
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, value := range n.Values {
			add(value)
		}
	case *ast.MappingValueNode:
		add(n.Key)
		add(n.Value)
	case *ast.SequenceNode:
		for _, value := range n.Values {
			add(value)
		}
	case *ast.TagNode:
		add(n.Value)
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		anchors[name] = maxNodes + 1 // within itself it has no end
		add(n.Value)
		anchors[name] = total
	case *ast.AliasNode:
		total += anchors[n.Value.GetToken().Value]
	}
	return total
}

// syntax turns the YAML library's error into ours.
func (d *document) syntax(err error, source []byte) error {
	problem := Problem{Message: err.Error()}
	var located yaml.Error
	if errors.As(err, &located) {
		problem.Message = located.GetMessage()
		if token := located.GetToken(); token != nil {
			problem.Line, problem.Column = token.Position.Line, token.Position.Column
		}
	}
	if lines := strings.Split(string(source), "\n"); problem.Line > 0 && problem.Line <= len(lines) &&
		regexp.MustCompile(`[^"']\$\{`).MatchString(lines[problem.Line-1]) {
		problem.Message += `; write "${name}" in quotes within { } and [ ]`
	}
	return &Problems{Name: d.name, List: []Problem{problem}}
}

// locate keeps where every value stands: a key's own place for what is in a
// mapping, the value's for what is in a sequence.
func (d *document) locate(node ast.Node, path []string) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, value := range n.Values {
			d.locateValue(value, path)
		}
	case *ast.MappingValueNode:
		d.locateValue(n, path)
	case *ast.SequenceNode:
		for i, value := range n.Values {
			at := append(slices.Clone(path), strconv.Itoa(i))
			d.note(at, value)
			d.locate(value, at)
		}
	case *ast.AnchorNode:
		d.locate(n.Value, path)
	case *ast.TagNode:
		d.locate(n.Value, path)
	}
}

func (d *document) locateValue(value *ast.MappingValueNode, path []string) {
	at := append(slices.Clone(path), strings.Trim(value.Key.GetToken().Value, `"'`))
	d.note(at, value.Key)
	d.locate(value.Value, at)
}

func (d *document) note(path []string, node ast.Node) {
	if token := node.GetToken(); token != nil {
		d.places[strings.Join(path, ".")] = place{token.Position.Line, token.Position.Column}
	}
}

// fault adds a problem at the place of the path, or of the nearest thing around
// it. What was already found faulty is left at that: an unknown parameter is
// not also a wrong type.
func (d *document) fault(path []string, format string, args ...any) {
	d.found++
	path = d.asWritten(path)
	parameter := d.origin[strings.Join(path, ".")]
	path = d.fromPatch(path)
	known := func(p Problem) bool {
		return p.Path != "" && (p.Path == pretty(path) || parameter != "" && p.Path == "spec.parameters."+parameter)
	}
	if slices.ContainsFunc(d.faults, known) {
		return
	}
	problem := Problem{Path: pretty(path), Message: fmt.Sprintf(format, args...)}
	if value, ok := d.set[parameter]; ok {
		problem.Message += fmt.Sprintf(" (from --set %s=%s)", parameter, value)
	} else if parameter != "" {
		problem.Message += fmt.Sprintf(" (${%s} is %v)", parameter, d.bound[parameter])
	}
	if d.variant != "" && !slices.Contains(path, "variants") {
		problem.Message += " (in variant " + d.variant + ")" // those before it have no fault there
	}
	for i := len(path); i >= 0; i-- {
		if at, ok := d.places[strings.Join(path[:i], ".")]; ok {
			problem.Line, problem.Column = at.line, at.column
			break
		}
	}
	d.faults = append(d.faults, problem)
}

func (d *document) problems() error {
	slices.SortStableFunc(d.faults, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return &Problems{Name: d.name, List: slices.Compact(d.faults)}
}

// pretty writes a path as people do: spec.steps[0].name.
func pretty(path []string) string {
	var b strings.Builder
	for _, part := range path {
		if _, err := strconv.Atoi(part); err == nil {
			b.WriteString("[" + part + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(part)
	}
	return b.String()
}

// replaceParameters puts the values from outside into the parameters.
func (d *document) replaceParameters(parameters map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(d.set)) {
		if _, ok := parameters[name]; !ok {
			d.fault([]string{"spec", "parameters"}, "--set %s: the scenario has no parameter %q%s", name, name,
				v1.NearMiss(name, slices.Sorted(maps.Keys(parameters))))
			continue
		}
		var value any
		if err := yaml.Unmarshal([]byte(d.set[name]), &value); err != nil {
			value = d.set[name]
		}
		parameters[name] = value
	}
}

// bind replaces ${name} by the value of the parameter.
func (d *document) bind(parameters map[string]any, used map[string]bool) {
	d.sweep(parameters, used)
	d.tree = d.replace(d.tree, nil, parameters, used)
}

// checkUse finds parameters that nothing refers to.
func (d *document) checkUse(parameters map[string]any, used map[string]bool) {
	for name := range parameters {
		if !used[name] {
			d.fault([]string{"spec", "parameters", name}, "is not used: write ${%s} where its value belongs, or remove it", name)
		}
	}
}

// parameters gives the document's own, or none if they are malformed: the schema says so later.
func (d *document) parameters() map[string]any {
	if parameters, ok := d.spec()["parameters"].(map[string]any); ok {
		return parameters
	}
	return map[string]any{}
}

// spec is the document's; none, if it is malformed.
func (d *document) spec() map[string]any {
	root, _ := d.tree.(map[string]any)
	spec, _ := root["spec"].(map[string]any)
	return spec
}

func (d *document) replace(value any, path []string, parameters map[string]any, used map[string]bool) any {
	at := func(part string) []string { return append(slices.Clone(path), part) }
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if len(path) == 1 && path[0] == "spec" && (key == "parameters" || key == "variants" || key == "references") {
				continue // bound in cells, or not at all
			}
			v[key] = d.replace(inner, at(key), parameters, used)
		}
	case []any:
		for i, inner := range v {
			v[i] = d.replace(inner, at(strconv.Itoa(i)), parameters, used)
		}
	case string:
		reference := regexp.MustCompile(`\$\{([^}]*)\}`).FindStringSubmatch(v)
		if reference == nil {
			return v
		}
		name := reference[1]
		bound, ok := parameters[name]
		switch {
		case !ok:
			d.fault(path, "%s: the scenario has no parameter %q%s", v, name, v1.NearMiss(name, slices.Sorted(maps.Keys(parameters))))
			return v
		case reference[0] != v:
			d.fault(path, "%q: ${%s} stands for a whole value, not for a part of one", v, name)
		}
		used[name] = true
		d.origin[strings.Join(path, ".")] = name
		return bound
	}
	return value
}

// decode reads the tree, which the schema has passed, into types.
func (d *document) decode(scenario *v1.Scenario) error {
	data, err := json.Marshal(d.tree)
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(scenario); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	return nil
}
