package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// compared is a scenario of two variants and two axes.
const compared = `apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: compared, title: Two variants}
spec:
  target: {local: {datastore: {etcd: {members: 1}}}}
  parameters: {objects: [10, 20], read: [latest, any], clients: 2}
  variants:
  - {name: plain, title: As it comes}
  - name: cacheless
    patch:
      target: {local: {kubeAPIServer: {flags: {watch-cache: "false"}}}}
  - name: three
    patch:
      target: {local: {datastore: {etcd: {members: 3}}}}
      parameters: {clients: 4}
      steps: [{name: list, phases: [{name: walks, load: {open: {rate: 5/s, duration: 2s}}}]}]
  repetitions: 4
  margin: 5%
  primary:
  - {measure: mean(walks.page.service)}
  - {measure: rate(walks.walk), margin: 2%}
  references:
  - {statement: faster, ratio: mean(walks.page.service), variant: three, when: {objects: 20}, value: 1.65..1.80, source: seeds/000}
  prepare:
  - fill: {resource: configmaps, namespace: ns, count: "${objects}"}
  steps:
  - name: list
    phases:
    - name: walks
      load: {closed: {clients: "${clients}", iterations: 3}}
      kube: {list: {resource: configmaps, namespace: ns, pageSize: 5, read: "${read}"}}
`

func TestCellsAreVariantsTimesParameters(t *testing.T) {
	e, err := Load("compared.yaml", []byte(compared), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, cell := range e.Cells {
		names = append(names, cell.Name)
	}
	want := []string{
		"plain-objects10-latest", "cacheless-objects10-latest", "three-objects10-latest",
		"plain-objects10-any", "cacheless-objects10-any", "three-objects10-any",
		"plain-objects20-latest", "cacheless-objects20-latest", "three-objects20-latest",
		"plain-objects20-any", "cacheless-objects20-any", "three-objects20-any",
	}
	if !slices.Equal(names, want) {
		t.Fatalf("cells are %v", names)
	}
	plain, cacheless, three := e.Cells[9].Scenario.Spec, e.Cells[10].Scenario.Spec, e.Cells[11].Scenario.Spec
	if plain.Prepare[0].Fill.Count != 20 || plain.Steps[0].Phases[0].Kube.List.Read != "any" {
		t.Errorf("the cell of 20 objects and read any has %d and %s", plain.Prepare[0].Fill.Count, plain.Steps[0].Phases[0].Kube.List.Read)
	}
	if flags := cacheless.Target.Local.KubeAPIServer.Flags; flags["watch-cache"] != "false" || plain.Target.Local.KubeAPIServer.Flags != nil {
		t.Errorf("cacheless has flags %v, plain %v", flags, plain.Target.Local.KubeAPIServer.Flags)
	}
	load := three.Steps[0].Phases[0].Load
	if three.Target.Local.Datastore.Etcd.Members != 3 || load.Closed != nil || load.Open == nil {
		t.Errorf("three has %+v and %+v", three.Target.Local.Datastore.Etcd, load)
	}
	if three.Steps[0].Phases[0].Kube == nil {
		t.Error("a phase that a patch names lost what the patch does not name")
	}
}

func TestTheDesignSaysWhatDiffers(t *testing.T) {
	e, err := Load("compared.yaml", []byte(compared), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := e.Design
	if got := strings.Join(d.Variants[2].Changes, "; "); got !=
		"parameters.clients: 4; steps[list].phases[walks].load.open.duration: 2s; steps[list].phases[walks].load.open.rate: 5/s; target.local.datastore.etcd.members: 3" {
		t.Errorf("three changes %s", got)
	}
	if d.Primary[0].Better != "lower" || d.Primary[0].Margin != 0.05 || d.Primary[1].Better != "higher" || d.Primary[1].Margin != 0.02 {
		t.Errorf("primary measures are %+v", d.Primary)
	}
	r := d.References[0]
	if r.Variant != "three" || r.Versus != "plain" || *r.Min != 1.65 || *r.Max != 1.8 || r.When["objects"] != "20" {
		t.Errorf("the reference is %+v", r)
	}
}

func TestRunsComeInBlocks(t *testing.T) {
	e, err := Load("compared.yaml", []byte(compared), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(e, Choice{})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := New(e, Choice{})
	if len(p.Runs) != 4*12 {
		t.Fatalf("%d runs, want four blocks of twelve cells", len(p.Runs))
	}
	place := map[string]int{} // of a cell, over two blocks
	for i, run := range p.Runs {
		if run.Name != again.Runs[i].Name {
			t.Fatal("the same seed gives another order")
		}
		if run.Block != i/12+1 || run.Seed != uint64(run.Block) {
			t.Errorf("run %d is of block %d with seed %d", i, run.Block, run.Seed)
		}
		if group := i / 3; run.Cell.Axes["objects"] != p.Runs[group*3].Cell.Axes["objects"] || run.Cell.Axes["read"] != p.Runs[group*3].Cell.Axes["read"] {
			t.Errorf("run %d breaks into a block of other values", i)
		}
		if run.Block <= 2 {
			place[run.Cell.Name] += i % 12
		}
	}
	for name, sum := range place {
		if sum != 11 {
			t.Errorf("cell %s stands at %d over two blocks: a drift would favour one variant", name, sum)
		}
	}
}

func TestOnlyChoosesCells(t *testing.T) {
	e, err := Load("compared.yaml", []byte(compared), nil)
	if err != nil {
		t.Fatal(err)
	}
	for only, want := range map[string]string{
		"three":                                "three-objects10-latest three-objects10-any three-objects20-latest three-objects20-any",
		"objcts=10":                            `did you mean "objects=10"?`,
		"three,plain,objects=20,read=any":      "plain-objects20-any three-objects20-any",
		"objects=10,objects=20,read=any,plain": "plain-objects10-any plain-objects20-any",
		"thre":                                 `no variant or value of an axis is called that; did you mean "three"?`,
		"read=exact":                           "there are plain, cacheless, three, objects=10, objects=20, read=latest, read=any",
		"objects=":                             "no variant or value",
	} {
		p, err := New(e, Choice{Only: strings.Split(only, ",")})
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("--only %s: %v, want %q", only, err, want)
			}
			continue
		}
		var names []string
		for _, cell := range p.Cells {
			names = append(names, cell.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("--only %s keeps %s", only, got)
		}
	}
}

func TestSetReplacesAnAxis(t *testing.T) {
	for set, cells := range map[string]int{"20": 6, "[1, 2, 3]": 18} {
		e, err := Load("compared.yaml", []byte(compared), map[string]string{"objects": set})
		if err != nil || len(e.Cells) != cells {
			t.Errorf("--set objects=%s: %v, want %d cells", set, err, cells)
		}
	}
}

func TestFaultsOfVariants(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"an unknown field, where it was written":            {"kubeAPIServer: {flags: {watch-cache: \"false\"}}", "kubeAPIserver: {}", `compared.yaml:11:24: spec.variants[1].patch.target.local.kubeAPIserver: unknown field; did you mean "kubeAPIServer"?`},
		"a wrong value, where it was written":               {"members: 3", "members: 2", `compared.yaml:14:43: spec.variants[2].patch.target.local.datastore.etcd.members: "2" is none of 1, 3`},
		"a fault in what is not patched, once":              {"pageSize: 5", "pageSize: -5", "compared.yaml:31:58: spec.steps[0].phases[0].kube.list.pageSize: is -5"},
		"two of a name":                                     {"name: three", "name: plain", `another variant is called "plain" too`},
		"what belongs to all":                               {"parameters: {clients: 4}", "repetitions: 4", "belongs to the experiment"},
		"an axis of one variant":                            {"parameters: {clients: 4}", "parameters: {objects: 4}", "is an axis"},
		"a list for one variant":                            {"parameters: {clients: 4}", "parameters: {clients: [4]}", "must be a single value"},
		"an empty axis":                                     {"objects: [10, 20]", "objects: []", "is an empty list"},
		"a value twice":                                     {"objects: [10, 20]", "objects: [10, 10]", "has the value 10 twice"},
		"too many cells":                                    {"objects: [10, 20]", "objects: [" + numbers(600) + "]", "come to 3600 cells"},
		"a primary measure of no phase":                     {"rate(walks.walk)", "rate(walk.walk)", `no phase is called "walk"`},
		"a reference to no variant":                         {"variant: three", "variant: tree", `no variant is called "tree"`},
		"a reference to no parameter":                       {"when: {objects: 20}", "when: {objcts: 20}", `neither a parameter nor a sweep is called "objcts"; did you mean "objects"?`},
		"a fault of one variant in what all have":           {"datastore: {etcd: {members: 3}}", "kubeAPIServer: {enabled: false}", "(in variant three)"},
		"a value of an axis that does not fit":              {"objects: [10, 20]", "objects: [10, lots]", "(${objects} is lots)"},
		"a reference in another unit":                       {"1.65..1.80", "1ms..2ms", "is in seconds, but ratio is in count"},
		"a range the wrong way":                             {"1.65..1.80", "1.8..1.65", "write the smaller end first"},
		"a margin without a unit":                           {"margin: 5%", "margin: 5", "expected a share, such as 5%"},
		"a parameter that only a variant refers to is used": {"count: \"${objects}\"", "count: 10", "is not used"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load("compared.yaml", []byte(strings.Replace(compared, test.old, test.new, 1)), nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error = %v, want %q", err, test.want)
			}
			if n := strings.Count(err.Error(), "\n") + 1; n > 2 {
				t.Errorf("one fault is told %d times:\n%v", n, err)
			}
		})
	}
}

func numbers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(i))
	}
	return strings.Join(all, ", ")
}

const searched = `apiVersion: plimsoll.dev/v1alpha1
kind: Scenario
metadata: {name: searched}
spec:
  target: {local: {}}
  parameters: {rate: 50/s}
  search: {parameter: rate, from: 50/s, to: 5000/s}
  prepare:
  - fill: {resource: configmaps, namespace: ns, count: 10}
  steps:
  - name: read
    phases:
    - name: gets
      load: {open: {rate: "${rate}", duration: 5s}}
      kube: {get: {resource: configmaps, namespace: ns, count: 10}}
  objectives:
  - {measure: p99(gets.get.response), max: 100ms}
`

func TestFaultsOfSearches(t *testing.T) {
	if _, err := Load("searched.yaml", []byte(searched), nil); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ old, new, want string }{
		"of no parameter":    {"parameter: rate,", "parameter: rat,", `no parameter "rat"`},
		"that falls":         {"to: 5000/s", "to: 5/s", "must rise"},
		"of two units":       {"to: 5000/s", "to: 5000/m", `from is in "/s", but to is in "/m"`},
		"of an axis":         {"{rate: 50/s}", "{rate: [50/s, 60/s]}", "is an axis"},
		"without objectives": {"  objectives:\n  - {measure: p99(gets.get.response), max: 100ms}\n", "", "declare objectives"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Load("searched.yaml", []byte(strings.Replace(searched, test.old, test.new, 1)), nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestPlanOfAComparison(t *testing.T) {
	e, err := Load("compared.yaml", []byte(compared), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(e, Choice{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := p.Print(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "compared.golden", out.String())
}

func TestAMeasureMayBeOfAComponentOfOneVariant(t *testing.T) {
	source := strings.Replace(compared, "  prepare:", "  objectives: [{measure: maxRSS(etcd-2), max: 1GiB}]\n  prepare:", 1)
	if _, err := Load("compared.yaml", []byte(source), nil); err != nil {
		t.Errorf("etcd-2 is of variant three: %v", err)
	}
	want := `no component is called "etcd-4"; did you mean "etcd-1"?; there are etcd, etcd-1, etcd-2, etcd-3, kube-apiserver, plimsoll`
	if _, err := Load("compared.yaml", []byte(strings.Replace(source, "etcd-2", "etcd-4", 1)), nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("etcd-4 is of none: error = %v", err)
	}
}
