package plan

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/scenarios"
)

var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; -update rewrites it\n%s", path, diff)
	}
}

// loadOne gives the scenario of a document's first cell.
func loadOne(name string, source []byte, set map[string]string) (*v1.Scenario, error) {
	e, err := Load(name, source, set)
	if err != nil {
		return nil, err
	}
	return e.Scenario(), nil
}

// minimal is a whole scenario; tests change parts of it.
const minimal = `apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: minimal}
spec:
  target: {local: {}}
  prepare:
  - fill: {resource: configmaps, namespace: ns, count: 10}
  steps:
  - name: read
    phases:
    - name: gets
      load: {closed: {clients: 1, iterations: 1}}
      kube: {get: {resource: configmaps, namespace: ns, count: 10}}
`

func TestEveryBuiltInScenarioIsSound(t *testing.T) {
	names, err := fs.Glob(scenarios.Files, "*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no built-in scenarios: %v", err)
	}
	for _, name := range names {
		source, err := scenarios.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := loadOne(name, source, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if string(s.Metadata.Name)+".yaml" != name || s.Metadata.Title == "" || s.Metadata.Description == "" {
			t.Errorf("%s: is called %q, and needs title and description", name, s.Metadata.Name)
		}
	}
}

func TestDefaults(t *testing.T) {
	s, err := loadOne("minimal.yaml", []byte(minimal), nil)
	if err != nil {
		t.Fatal(err)
	}
	phase := s.Spec.Steps[0].Phases[0]
	if s.Spec.Target.Local.Datastore.Etcd.Members != 1 || s.Spec.Repetitions != 1 || !*s.Spec.Steps[0].Measured ||
		phase.Connections != 1 || time.Duration(phase.Timeout) != time.Minute || s.Spec.Prepare[0].Fill.Payload != 4 {
		t.Errorf("defaults are missing: %+v", s.Spec)
	}
}

func TestAllFaultsAreFoundAtOnceWithTheirPlaces(t *testing.T) {
	source, err := os.ReadFile("testdata/faults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = loadOne("faults.yaml", source, nil)
	var problems *Problems
	if !errors.As(err, &problems) {
		t.Fatalf("Load = %v, want problems", err)
	}
	golden(t, "faults.golden", err.Error()+"\n")
}

func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		old, new string
		want     []string // in the error
	}{
		"an empty document":              {minimal, "", []string{"faults.yaml: the document is empty"}},
		"two documents":                  {"kind: Scenario", "kind: Scenario\n---\nkind: Scenario", []string{"holds 2 documents"}},
		"not YAML":                       {"metadata: {name", "metadata: {{name", []string{"faults.yaml:3:"}},
		"a key twice":                    {"kind: Scenario", "kind: Scenario\nkind: Scenario", []string{"faults.yaml:3:1", "already defined"}},
		"a list for a mapping":           {"metadata: {name: minimal}", "metadata: [1]", []string{"faults.yaml:3:1", "is of type array, expected a value of type object"}},
		"a later version":                {"v1alpha1", "v1alpha2", []string{`faults.yaml:1:1: apiVersion: "plimsoll.dev/v1alpha2" is none of plimsoll.dev/v1alpha1`}},
		"no steps":                       {minimal[strings.Index(minimal, "  steps"):], "  steps: []\n", []string{"spec.steps: is empty: it needs at least 1"}},
		"steps left out":                 {minimal[strings.Index(minimal, "  steps"):], "", []string{"the field steps is missing"}},
		"a phase without a workload":     {"      kube: {get: {resource: configmaps, namespace: ns, count: 10}}\n", "", []string{"spec.steps[0].phases[0]: has no workload"}},
		"a loop without an end":          {"iterations: 1", "think: 1s", []string{"needs one of iterations, iterationsPerClient and duration"}},
		"two ends":                       {"iterations: 1", "iterations: 1, duration: 1s", []string{"has more than one of"}},
		"only background":                {"    - name: gets\n", "    - name: gets\n      background: true\n", []string{"every phase is a background phase", "a background phase ends with its step"}},
		"more connections than clients":  {"    - name: gets\n", "    - name: gets\n      connections: 2\n", []string{"is more than the 1 clients"}},
		"objects that nobody makes":      {"count: 10}}", "count: 11}}", []string{"is 11, but only 10 configmaps in namespace ns are made"}},
		"an open loop without an end":    {"{closed: {clients: 1, iterations: 1}}", "{open: {rate: 5/s}}", []string{"needs a duration"}},
		"a rate of nothing":              {"{closed: {clients: 1, iterations: 1}}", "{open: {rate: 0/s, duration: 1s}}", []string{`"0/s" is out of range`}},
		"an objective of no phase":       {"  steps:", "  objectives: [{measure: p99(get.get.service), max: 1s}]\n  steps:", []string{`no phase is called "get"; did you mean "gets"?`}},
		"an objective of no operation":   {"  steps:", "  objectives: [{measure: p99(gets.list.service), max: 1s}]\n  steps:", []string{`phase gets has no operation "list"; it has get`}},
		"response time in a closed loop": {"  steps:", "  objectives: [{measure: p99(gets.get.response), max: 1s}]\n  steps:", []string{"only whole operations of an open loop have response times"}},
		"a bound in the wrong unit":      {"  steps:", "  objectives: [{measure: p99(gets.get.service), max: 1MiB}]\n  steps:", []string{"1MiB is in bytes, but p99(gets.get.service) is in seconds"}},
		"an objective of no component":   {"  steps:", "  objectives: [{measure: endRSS(stev), max: 1GiB}]\n  steps:", []string{`faults.yaml:8:17: spec.objectives[0].measure: no component is called "stev"; there are etcd, kube-apiserver, plimsoll`}},
		"a primary of a mistyped one":    {"  steps:", "  primary: [{measure: maxCPU(kube-apiservr)}]\n  steps:", []string{`no component is called "kube-apiservr"; did you mean "kube-apiserver"?`}},
		"a reference to none":            {"  steps:", "  references: [{statement: linear, growth: maxRSS(etdc), value: 0.9..1.1, source: s}]\n  steps:", []string{`spec.references[0].growth: no component is called "etdc"; did you mean "etcd"?`}},
		"an objective without a bound":   {"  steps:", "  objectives: [{measure: p99(gets.get.service)}]\n  steps:", []string{"needs a bound: max or min"}},
		"PromQL that does not parse":     {"  steps:", "  objectives: [{promql: 'rate(puts_total', max: 1}]\n  steps:", []string{"faults.yaml:8:17: spec.objectives[0].promql:"}},
		"measure and PromQL":             {"  steps:", "  objectives: [{promql: up, measure: success(gets), max: 1}]\n  steps:", []string{"needs exactly one of measure and promql"}},
		"half a reference":               {"count: 10}\n", "count: '1${n}'}\n", []string{"the scenario has no parameter"}},
		"a reference without quotes":     {"count: 10}\n", "count: ${n}}\n", []string{"faults.yaml:7:", `write "${name}" in quotes within { }`}},
		"aliases of aliases of aliases":  {"metadata: {name: minimal}", "metadata: {name: minimal}\n" + aliasBomb(), []string{"stands for more than 100000 values"}},
		"an alias of itself":             {"metadata: {name: minimal}", "metadata: {name: minimal}\na: &a [*a]", []string{"stands for more than 100000 values"}},
		"a duration without end":         {"iterations: 1", "duration: 9999999h", []string{`faults.yaml:12:35: spec.steps[0].phases[0].load.closed.duration: "9999999h" is out of range`}},
		"a negative duration":            {"iterations: 1", "duration: -1s", []string{`"-1s" is out of range: a duration is more than 0`}},
		"no time at all":                 {"iterations: 1", "duration: 0s", []string{`"0s" is out of range`}},
		"a payload of nothing":           {"count: 10}\n", "count: 10, payload: 0B}\n", []string{`"0B" is out of range`}},
		"the same fill twice":            {"  steps:", "  - fill: {resource: configmaps, namespace: ns, count: 5}\n  steps:", []string{"an earlier fill has made 10 configmaps in namespace ns already"}},
		"more deletions than objects":    {"{closed: {clients: 1, iterations: 1}}\n      kube: {get: ", "{open: {rate: 50/s, duration: 1s}}\n      kube: {delete: ", []string{"is 10, but about 50 deletions would arrive"}},
		"a namespace with a slash":       {"namespace: ns, count: 10}\n", "namespace: a/b, count: 10}\n", []string{`"a/b" is not a name`}},
		"a negative count":               {"count: 10}\n", "count: -1}\n", []string{"is -1, but must be at least 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			source := strings.Replace(minimal, test.old, test.new, 1)
			if source == minimal {
				t.Fatal("the test changes nothing")
			}
			_, err := loadOne("faults.yaml", []byte(source), nil)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

// swept is a scenario whose only step is repeated as its objects grow.
const swept = `apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: swept}
spec:
  target: {local: {}}
  parameters: {largest: 8000}
  steps:
  - name: before
    phases:
    - {name: creates, load: {closed: {clients: 1, iterations: 1}}, kube: {create: {resource: secrets, namespace: other}}}
  - name: grow
    sweep: {parameter: objects, from: 1000, to: "${largest}"}
    prepare:
    - fill: {resource: configmaps, namespace: ns, count: "${objects}"}
    - settle: {}
    phases:
    - name: walks
      load: {closed: {clients: 1, iterations: 5}}
      kube: {list: {resource: configmaps, namespace: ns, pageSize: 500}}
  objectives:
  - {measure: p99(walks.walk.service), max: 1s}
`

func TestASweepRepeatsItsStep(t *testing.T) {
	s, err := loadOne("swept.yaml", []byte(swept), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, step := range s.Spec.Steps[1:] {
		got = append(got, fmt.Sprintf("%s, %s=%v: %s fills to %d", step.Name, step.Point.Parameter, step.Point.Value, step.Phases[0].Name, step.Prepare[0].Fill.Count))
	}
	want := []string{
		"grow@1000, objects=1000: walks@1000 fills to 1000", "grow@2000, objects=2000: walks@2000 fills to 2000",
		"grow@4000, objects=4000: walks@4000 fills to 4000", "grow@8000, objects=8000: walks@8000 fills to 8000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s, err = loadOne("swept.yaml", []byte(swept), map[string]string{"largest": "3000"}); err != nil || len(s.Spec.Steps) != 3 {
		t.Errorf("up to 3000: %v steps, %v, want one and two points", len(s.Spec.Steps), err)
	}
}

func TestSweepsOfQuantities(t *testing.T) {
	source := strings.NewReplacer(`parameter: objects, from: 1000, to: "${largest}"`, "parameter: rate, values: [10/s, 20.5/s]",
		"parameters: {largest: 8000}", "parameters: {n: 5}", "${objects}", "${n}", "{closed: {clients: 1, iterations: 5}}",
		`{open: {rate: "${rate}", duration: 5s}}`).Replace(swept)
	s, err := loadOne("swept.yaml", []byte(source), nil)
	if err != nil {
		t.Fatal(err)
	}
	last := s.Spec.Steps[2]
	if last.Point.Value != 20.5 || last.Phases[0].Load.Open.Rate != 20.5 || last.Phases[0].Name != "walks@20_5" {
		t.Errorf("the last point is %+v with phase %s at %v", last.Point, last.Phases[0].Name, last.Phases[0].Load.Open.Rate)
	}
}

func TestFaultsOfSweeps(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"no values":                        {`, from: 1000, to: "${largest}"`, "", "swept.yaml:12:5: spec.steps[1].sweep: needs values, or from and to"},
		"both":                             {"from: 1000", "values: [1], from: 1000", "has both values and a geometric series"},
		"falling":                          {"from: 1000", "from: 9000", "must rise"},
		"without end":                      {"from: 1000", "factor: 1.0001, from: 1000", "more than 100 values"},
		"no parameter":                     {"parameter: objects, ", "", "the field parameter is missing"},
		"a fault in the step, told once":   {"pageSize: 500", "pageSize: -1", "swept.yaml:19:58: spec.steps[1].phases[0].kube.list.pageSize: is -1"},
		"a fault behind, in its own place": {"max: 1s", "max: 1MiB", "swept.yaml:21:40: spec.objectives[0].max"},
		"another name":                     {"${objects}", "${object}", `no parameter "object"; did you mean "objects"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadOne("swept.yaml", []byte(strings.Replace(swept, test.old, test.new, 1)), nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error = %v, want %q", err, test.want)
			}
			if n := strings.Count(err.Error(), "\n") + 1; n > 2 {
				t.Errorf("one fault is told %d times:\n%v", n, err)
			}
		})
	}
}

// aliasBomb is a kilobyte that stands for a thousand million values.
func aliasBomb() string {
	lines := []string{"a0: &a0 [x, x, x, x, x, x, x, x, x]"}
	for i := range 9 {
		alias := fmt.Sprintf("*a%d", i)
		lines = append(lines, fmt.Sprintf("a%d: &a%d [%s]", i+1, i+1, strings.Join(slices.Repeat([]string{alias}, 9), ", ")))
	}
	return strings.Join(lines, "\n")
}

func TestParameters(t *testing.T) {
	source := strings.NewReplacer("spec:\n", "spec:\n  parameters: {objects: 10, load: 1}\n", "count: 10", `count: "${objects}"`,
		"iterations: 1", `iterations: "${load}"`).Replace(minimal)
	s, err := loadOne("p.yaml", []byte(source), map[string]string{"objects": "25"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Spec.Prepare[0].Fill.Count; got != 25 {
		t.Errorf("count = %d, want 25 from --set", got)
	}
	for set, want := range map[string]string{
		"object=5":      `--set object: the scenario has no parameter "object"; did you mean "objects"?`,
		"objects=a lot": "is of type string, expected a value of type integer (from --set objects=a lot)",
		"load={a: 1}":   "must be a single value",
	} {
		name, value, _ := strings.Cut(set, "=")
		if _, err := loadOne("p.yaml", []byte(source), map[string]string{name: value}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--set %s: error = %v, want %q", set, err, want)
		}
	}
	unused := strings.Replace(source, `"${load}"`, "1", 1)
	if _, err := loadOne("p.yaml", []byte(unused), nil); err == nil || !strings.Contains(err.Error(), "spec.parameters.load: is not used") {
		t.Errorf("unused parameter: error = %v", err)
	}
}

func TestPlanOfQuickstart(t *testing.T) {
	source, err := scenarios.Files.ReadFile("quickstart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, err := Load("quickstart.yaml", source, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(e, Choice{Repetitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := p.Print(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "quickstart.golden", out.String())
}

func TestTheEstimateCountsWhatTheStepsDo(t *testing.T) {
	experiment, err := Load("minimal.yaml", []byte(strings.NewReplacer(
		"count: 10", "count: 1000", "{get: {resource: configmaps, namespace: ns, count: 1000}}", "",
		"get: {resource: configmaps, namespace: ns, count: 10}", "list: {resource: configmaps, namespace: ns, pageSize: 100}",
		"clients: 1, iterations: 1", "clients: 4, iterationsPerClient: 5").Replace(minimal)), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(experiment, Choice{})
	if err != nil {
		t.Fatal(err)
	}
	e := p.Estimate
	if e.Objects != 1000 || e.Requests != 4*5*10 {
		t.Errorf("estimate = %d objects, %d requests, want 1000 and 200 (20 walks of 10 pages)", e.Objects, e.Requests)
	}
	if size := v1.Bytes(e.Bytes); size < 20*1000*300 || size > 20*1000*500 {
		t.Errorf("estimate = %d bytes for 20 walks over 1000 small objects", e.Bytes)
	}
}

func TestTheEstimateOfALoopThatIsBoundByTime(t *testing.T) {
	for _, row := range []struct {
		load, operation string
		want            int64
	}{
		{"closed: {clients: 4, duration: 10s}", "get: {resource: configmaps, namespace: ns, count: 10}", 10 * requestsPerSecond},
		{"closed: {clients: 4, duration: 10s, think: 1s}", "get: {resource: configmaps, namespace: ns, count: 10}", 40},
		{"closed: {clients: 4, duration: 10s}", "watch: {resource: configmaps, namespace: ns}", 4},
		{"open: {rate: 1/m, duration: 30s}", "get: {resource: configmaps, namespace: ns, count: 10}", 0}, // too few to come to one
	} {
		experiment, err := Load("minimal.yaml", []byte(strings.NewReplacer(
			"closed: {clients: 1, iterations: 1}", row.load, "get: {resource: configmaps, namespace: ns, count: 10}", row.operation).Replace(minimal)), nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(experiment, Choice{})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Estimate.Requests; got != row.want {
			t.Errorf("%s, %s: %d requests; want %d", row.load, row.operation, got, row.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("spec: {parameters: {a: ${a}}}"))
	if faults, err := os.ReadFile("testdata/faults.yaml"); err == nil {
		f.Add(faults)
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		late := time.AfterFunc(10*time.Second, func() { panic(fmt.Sprintf("no end with %q", source)) })
		defer late.Stop()
		if e, err := Load("fuzz.yaml", source, nil); err == nil {
			if _, err := New(e, Choice{}); err != nil {
				t.Error(err)
			}
		}
	})
}
