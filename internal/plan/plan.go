package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/design"
)

// Plan is what would happen: the content of plan.json.
type Plan struct {
	SchemaVersion int           `json:"schemaVersion"`
	Name          string        `json:"name"` // of the scenario
	Title         string        `json:"title,omitempty"`
	Design        design.Design `json:"design"`
	// Set are the parameters that were given from outside.
	Set      map[string]string `json:"set,omitempty"`
	Cells    []*Cell           `json:"cells"`
	Runs     []Run             `json:"runs"`
	Estimate Estimate          `json:"estimate"` // of all runs together
}

// Run is one execution of a cell.
type Run struct {
	Index int    `json:"index"` // from 1, in order of execution
	Name  string `json:"name"`
	Cell  *Cell  `json:"-"`
	// CellName is that of Cell, by which a plan that was read finds it.
	CellName string `json:"cell"`
	Block    int    `json:"block"` // from 1
	Seed     uint64 `json:"seed"`
	// Probe is the value that a search tries.
	Probe *v1.Point `json:"probe,omitempty"`
}

// Read reads a plan that was written as JSON.
func Read(data []byte) (*Plan, error) {
	p := &Plan{}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	for i := range p.Runs {
		run := &p.Runs[i]
		at := slices.IndexFunc(p.Cells, func(c *Cell) bool { return c.Name == run.CellName })
		if at < 0 || p.Cells[at].Scenario == nil {
			return nil, fmt.Errorf("read the plan: run %d is of cell %q, which it does not have", run.Index, run.CellName)
		}
		run.Cell = p.Cells[at]
	}
	if len(p.Runs) == 0 {
		return nil, errors.New("read the plan: it has no runs")
	}
	return p, nil
}

// Choice is what a user chooses of an experiment; the zero value takes all of
// it, as it is written.
type Choice struct {
	// Set are the parameters that Load was given, for the record.
	Set map[string]string
	// Only keeps the cells that every selector allows: VARIANT, or PARAMETER=VALUE. Several for the
	// same thing allow either.
	Only []string
	// Repetitions, if above 0, is the number of blocks.
	Repetitions int
	// Seed, if not nil, is that of every random choice.
	Seed *uint64
}

// SchemaVersion is the version of plan.json.
const SchemaVersion = 1

// New plans an experiment that Load has made.
func New(e *Experiment, choice Choice) (*Plan, error) {
	first := e.Scenario()
	p := &Plan{
		SchemaVersion: SchemaVersion, Name: string(first.Metadata.Name), Title: first.Metadata.Title, Design: e.Design, Set: choice.Set,
	}
	if choice.Repetitions > 0 {
		p.Design.Blocks = choice.Repetitions
	}
	if choice.Seed != nil {
		p.Design.Seed = *choice.Seed
	}
	var err error
	if p.Cells, err = chosen(e, choice.Only); err != nil {
		return nil, err
	}
	p.Design.Variants = slices.DeleteFunc(slices.Clone(p.Design.Variants), func(v design.Variant) bool {
		return !slices.ContainsFunc(p.Cells, func(c *Cell) bool { return c.Variant == v.Name })
	})
	p.order()
	for _, run := range p.Runs {
		p.Estimate = p.Estimate.with(estimate(&run.Cell.Scenario.Spec))
	}
	return p, nil
}

// chosen keeps the cells that the selectors allow.
func chosen(e *Experiment, only []string) ([]*Cell, error) {
	allowed := map[string][]string{} // values by axis; variants by ""
	for _, selector := range only {
		axis, value, isAxis := strings.Cut(selector, "=")
		if !isAxis {
			axis, value = "", selector
		}
		var known []string
		for _, cell := range e.Cells {
			known = append(known, cell.value(axis))
		}
		known = slices.Compact(slices.Sorted(slices.Values(known)))
		if !slices.Contains(known, value) || value == "" {
			return nil, fmt.Errorf("--only %s: no variant or value of an axis is called that%s; %s", selector, v1.NearMiss(selector, e.Choices()), choicesInWords(e))
		}
		allowed[axis] = append(allowed[axis], value)
	}
	return slices.DeleteFunc(slices.Clone(e.Cells), func(c *Cell) bool {
		for axis, values := range allowed {
			if !slices.Contains(values, c.value(axis)) {
				return true
			}
		}
		return false
	}), nil
}

// value is the cell's on an axis, or its variant.
func (c *Cell) value(axis string) string {
	if axis == "" {
		return c.Variant
	}
	return c.Axes[axis]
}

func choicesInWords(e *Experiment) string {
	words := e.Choices()
	if len(words) == 0 {
		return "the scenario has neither variants nor parameters with several values"
	}
	return "there are " + strings.Join(words, ", ")
}

// Choices lists what Choice.Only may name: the variants, and each value of each axis.
func (e *Experiment) Choices() []string {
	var words []string
	for _, v := range e.Design.Variants {
		if v.Name != "" {
			words = append(words, v.Name)
		}
	}
	for _, axis := range e.Design.Axes {
		for _, value := range axis.Values {
			words = append(words, axis.Parameter+"="+value)
		}
	}
	return words
}

// order lays the runs out: in each block every cell once, the variants of the
// same values back to back and, like the values, in random order. Each second
// block goes backwards, so that over two of them every variant stands as early
// as it stands late, and a steady drift hits all alike.
func (p *Plan) order() {
	groups := map[string][]*Cell{}
	var keys []string
	for _, cell := range p.Cells {
		key := design.Cell{Axes: cell.Axes}.Key()
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], cell)
	}
	random := rand.New(rand.NewPCG(p.Design.Seed, 0))
	for block := 1; block <= p.Design.Blocks; block++ {
		if block%2 == 1 {
			random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		} else {
			slices.Reverse(keys)
		}
		for _, key := range keys {
			cells := groups[key]
			if block%2 == 1 {
				random.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
			} else {
				slices.Reverse(cells)
			}
			for _, cell := range cells {
				p.add(cell, block)
			}
		}
	}
}

func (p *Plan) add(cell *Cell, block int) {
	name := cell.Name
	if p.Design.Blocks > 1 && len(p.Cells) > 1 {
		name = fmt.Sprintf("block%d-%s", block, name)
	}
	p.Runs = append(p.Runs, Run{
		Index: len(p.Runs) + 1, Name: name, Cell: cell, CellName: cell.Name, Block: block, Seed: p.Design.Seed + uint64(block-1),
	})
}

// Print writes the plan for people: what all cells have in common as the first
// one has it, then what differs, and the order.
func (p *Plan) Print(w io.Writer) error {
	first := p.Cells[0].Scenario
	fmt.Fprintf(w, "%s: %s\n\n", p.Name, p.Title)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "target\t%s\n", targetInWords(first.Spec.Target))
	p.printParameters(table)
	for _, preparation := range first.Spec.Prepare {
		fmt.Fprintf(table, "prepare\t%s\n", preparation.InWords())
	}
	if observed := first.Spec.Observe; len(observed) > 0 {
		fmt.Fprintf(table, "observe\t%s, counted every second\n", v1.ResourcesInWords(observed))
	}
	if guard := first.Spec.Guard; guard != nil && *guard != (v1.Guard{}) {
		fmt.Fprintf(table, "guard\t%s\n", guard.InWords())
	}
	for i, step := range first.Spec.Steps {
		printStep(table, i+1, step)
	}
	for _, o := range first.Spec.Objectives {
		stop := ""
		if o.StopAfter > 0 {
			stop = fmt.Sprintf("; broken for %v, it ends the load", time.Duration(o.StopAfter))
		}
		fmt.Fprintf(table, "objective\t%s%s %s%s\n", o.Measure, o.PromQL, o.BoundInWords(), stop)
	}
	p.printDesign(table)
	e := p.Estimate
	fmt.Fprintf(table, "roughly\t%s in all; %d objects prepared, %d requests, %.1f MB moved, %.1f GB of disk at a time\n",
		time.Duration(e.Duration).Round(time.Second), e.Objects, e.Requests, float64(e.Bytes)/1e6, float64(e.Disk)/1e9)
	return table.Flush()
}

func (p *Plan) printParameters(w io.Writer) {
	axes := map[string]bool{}
	for _, axis := range p.Design.Axes {
		axes[axis.Parameter] = true
	}
	var parameters []string
	for name, value := range p.Cells[0].Parameters {
		if !axes[name] {
			parameters = append(parameters, name+"="+value)
		}
	}
	if slices.Sort(parameters); len(parameters) > 0 {
		fmt.Fprintf(w, "parameters\t%s\n", strings.Join(parameters, " "))
	}
}

func printStep(w io.Writer, number int, step v1.Step) {
	fmt.Fprintf(w, "step %d\t%s\n", number, stepInWords(step))
	for _, preparation := range step.Prepare {
		fmt.Fprintf(w, "\t  first: %s\n", preparation.InWords())
	}
	if step.Fault != nil {
		fmt.Fprintf(w, "\t  meanwhile: %s\n", step.Fault.InWords())
	}
	if step.Profile != nil {
		fmt.Fprintf(w, "\t  meanwhile: %s\n", step.Profile.InWords())
	}
	for _, phase := range step.Phases {
		background := ""
		if phase.Background {
			background = ", as long as the others"
		}
		fmt.Fprintf(w, "\t  %s: %s; %s%s\n", phase.Name, phase.LoadInWords(), phase.InWords(), background)
	}
}

// shownRuns is how many runs a printed plan lists one by one.
const shownRuns = 12

func (p *Plan) printDesign(w io.Writer) {
	for i, v := range p.Design.Variants {
		if v.Name == "" {
			continue
		}
		what := "as above"
		if len(v.Changes) > 0 {
			what = strings.Join(v.Changes, ", ")
		}
		if i == 0 {
			what += " (baseline)"
		}
		fmt.Fprintf(w, "variant\t%s: %s\n", v.Name, what)
	}
	for _, axis := range p.Design.Axes {
		fmt.Fprintf(w, "axis\t%s: %s\n", axis.Parameter, strings.Join(axis.Values, ", "))
	}
	for _, m := range p.Design.Primary {
		fmt.Fprintf(w, "judged by\t%s\n", m.Name)
	}
	if s := p.Design.Search; s != nil {
		fmt.Fprintf(w, "search\t%s from %s to %s, until what holds and what breaks are within %g%%; each value on a fresh target\n",
			s.Parameter, s.From, s.To, s.Within*100)
		return
	}
	var order []string
	for _, run := range p.Runs[:min(len(p.Runs), shownRuns)] {
		order = append(order, strconv.Itoa(run.Index)+" "+run.Name)
	}
	if more := len(p.Runs) - len(order); more > 0 {
		order = append(order, fmt.Sprintf("and %d more", more))
	}
	fmt.Fprintf(w, "runs\t%s, each on a fresh target\n", strings.Join(order, ", "))
}

func stepInWords(step v1.Step) string {
	words := string(step.Name)
	if step.Point != nil {
		words += fmt.Sprintf(" (%s = %s)", step.Point.Parameter, step.Point.Text)
	}
	if !*step.Measured {
		words += " (not measured)"
	}
	return words
}

func targetInWords(t v1.Target) string {
	switch {
	case t.Borrowed != nil && t.Borrowed.Etcd != nil:
		return "borrowed: an etcd that runs already, under a prefix of plimsoll's own"
	case t.Borrowed != nil:
		return "borrowed: a cluster that runs already, in namespaces of plimsoll's own"
	case t.Directory != nil:
		return "a folder " + t.Directory.InWords()
	case t.Null != nil:
		return "a server that answers at once and stores nothing"
	}
	return "local: " + t.Local.InWords()
}
