package v1alpha1

// Variant is one alternative under comparison.
type Variant struct {
	// Name of the variant, unique in the scenario.
	Name Name `json:"name"`
	// What it is, for people. Default: its name.
	Title string `json:"title,omitempty"`
	// What differs from spec: fields given here replace those there, null removes one, lists whose items have names are merged by name, other lists are replaced, and where exactly one of several fields is allowed the one given here takes the place of the other.
	Patch map[string]any `json:"patch,omitempty"`
}

// PrimaryMeasure is a measure that variants are judged by.
type PrimaryMeasure struct {
	// What it means, for people. Default: the measure.
	Name string `json:"name,omitempty"`
	// The measure, such as mean(walks.page.service). Of a swept phase, it is judged at every point of the sweep.
	Measure string `json:"measure,omitempty"`
	// A PromQL expression over the metrics of the measured steps, instead of a measure; its largest value is what counts.
	PromQL string `json:"promql,omitempty"`
	// Which way is good: lower or higher. Default: lower for times and expressions, higher for rates and success.
	Better string `json:"better,omitempty" jsonschema:"enum=lower,enum=higher"`
	// A change that is smaller than this does not matter. Default: the margin of the spec.
	Margin Percent `json:"margin,omitempty"`
}

// Search looks for the load line: it raises a parameter, each time on a fresh
// target, until an objective breaks, and then halves the gap between the largest
// value that held and the smallest that did not.
type Search struct {
	// The parameter: a rate, a number of clients or of objects, a flag, ….
	Parameter string `json:"parameter" jsonschema:"pattern=^[a-zA-Z][a-zA-Z0-9]*$"`
	// First value, such as 100 or 50/s.
	From any `json:"from"`
	// Largest value that is tried.
	To any `json:"to"`
	// Each value is the last one times this, until an objective breaks. Default 2.
	Factor float64 `json:"factor,omitempty"`
	// The search ends when what held and what did not are this close. Default 10%.
	Within Percent `json:"within,omitempty" jsonschema:"default=10%"`
}

// Reference is a published figure or statement; exactly one of measure, ratio
// and growth says what it is about.
type Reference struct {
	// What was published, in words.
	Statement string `json:"statement"`
	// A measure of one variant, in its median over the runs.
	Measure string `json:"measure,omitempty"`
	// A measure, as the ratio of variant to versus.
	Ratio string `json:"ratio,omitempty"`
	// A measure of a swept phase, as the exponent of its growth along the sweep: 1 is linear.
	Growth string `json:"growth,omitempty"`
	// The variant that it is about. Default: the baseline; of a ratio, the second variant.
	Variant Name `json:"variant,omitempty"`
	// The variant that a ratio is held against. Default: the baseline.
	Versus Name `json:"versus,omitempty"`
	// Values of parameters that it is about, also that of a sweep. Default: all.
	When map[string]any `json:"when,omitempty"`
	// What was published: a figure (4.8, 1s) or a range (1.65..1.80, 1.1.., ..10ms). Ours agrees with a range when it lies in it.
	Value Range `json:"value"`
	// Where it was published.
	Source string `json:"source"`
}

// Panel is a figure over time, in which all variants stand on one axis.
type Panel struct {
	// What it shows, for people. Default: the expression.
	Title string `json:"title,omitempty"`
	// A PromQL expression over the run's own metrics, evaluated at each second. Each series that it gives has a figure of its own, named by its labels.
	PromQL string `json:"promql" jsonschema:"minLength=1"`
	// Unit of its values. Default: a plain number.
	Unit string `json:"unit,omitempty" jsonschema:"enum=CPUs,enum=bytes,enum=seconds,enum=per second,enum=fraction,enum=count"`
}
