package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/store"
)

// fewestBlocks is how many a p value takes, and an interval that assumes nothing.
const fewestBlocks = 6

// warnOfDesign says what the experiment is too small for.
func (e *Experiment) warnOfDesign(groups []*group) {
	if len(e.Design.Variants) < 2 {
		return
	}
	fewest := -1
	for _, g := range groups {
		if n := len(g.runs); !g.searched() && (fewest < 0 || n < fewest) {
			fewest = n
		}
	}
	for _, g := range groups {
		if len(g.runs) == 0 {
			e.Warnings.add(g.name(), "no run of it is left to compare", "see the excluded runs", "run it again with plimsoll run --resume DIR, or mend what failed")
		}
	}
	for _, v := range e.Design.Variants {
		if !slices.ContainsFunc(groups, func(g *group) bool { return g.Variant == v.Name }) {
			e.Warnings.add(cmp.Or(v.Name, v.Title), "was never run", "the experiment ended before", "go on with plimsoll run --resume DIR")
		}
	}
	if fewest >= 0 && fewest < fewestBlocks {
		mend := "run again with --repetitions 10"
		if fewest < e.Design.Blocks {
			mend = fmt.Sprintf("go on with plimsoll run --resume DIR: %d of %d planned blocks are whole", fewest, e.Design.Blocks)
			if e.Design.Blocks < fewestBlocks {
				mend += "; or run again with --repetitions 10"
			}
		}
		e.Warnings.add("design", fmt.Sprintf("of %d blocks that are needed there are %d", fewestBlocks, fewest),
			"with fewer there is no p value, and intervals are wide and take the noise to be normal; of one block nothing is known but what it measured",
			mend)
	}
}

// name is a cell in words.
func (g *group) name() string {
	return cmp.Or(strings.TrimSpace(g.Key()), "the scenario")
}

// facts are what should be the same in all runs that are compared, by name.
type facts map[string]string

// machineOf are the facts of the machine that a run ran on.
func machineOf(h store.Host) facts {
	return facts{
		"the processor": h.CPUModel, "CPUs": fmt.Sprint(h.CPUs), "the CPU limit": fmt.Sprint(h.CPULimit),
		"memory": fmt.Sprint(h.MemoryBytes), "the memory limit": fmt.Sprint(h.MemoryLimit), "the kernel": h.Kernel,
		"the file system": h.FileSystem, "the disk": h.Device,
	}
}

// versionsOf are the components that a run ran with.
func versionsOf(run *Run) facts {
	f := facts{}
	for _, c := range run.Environment.Components {
		f[c.Name] = strings.TrimSpace(c.Version + " " + c.SHA256[:min(len(c.SHA256), 12)])
	}
	return f
}

// differing gives the names of facts of which there are several values, with
// these. What is not known differs from nothing.
func differing(all []facts) []string {
	values := map[string][]string{}
	for _, f := range all {
		for name, value := range f {
			if value != "" && value != "0" && !slices.Contains(values[name], value) {
				values[name] = append(values[name], value)
			}
		}
	}
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(values[name]) > 1 {
			differ = append(differ, name+": "+strings.Join(values[name], ", "))
		}
	}
	return differ
}

// warnOfResidue names what differs between runs beside what the design varies.
func (e *Experiment) warnOfResidue(groups []*group) {
	var machines, tools []facts
	disks := e.variesTheDisk()
	for _, g := range groups {
		for _, run := range g.runs {
			machine := machineOf(run.Environment.Host)
			if disks { // what else differs is by accident
				delete(machine, "the file system")
				delete(machine, "the disk")
			}
			machines = append(machines, machine)
			if run.stored != nil {
				tools = append(tools, facts{"plimsoll": run.stored.Info.Tool})
			}
		}
	}
	const why, mend = "what differs by accident cannot be told from what the variants change", "run the experiment again, all on one machine and with the same binaries"
	for _, what := range differing(machines) {
		e.Warnings.add("machine", "runs differ in "+what, why, mend)
	}
	for _, what := range differing(tools) {
		e.Warnings.add("tool", "runs were made by several versions of "+what, why, mend)
	}
	var all []facts
	reported := map[string]bool{}
	for _, alike := range GroupBy(groups, func(g *group) string { return g.Variant }) {
		var versions []facts
		for _, g := range alike {
			for _, run := range g.runs {
				versions = append(versions, versionsOf(run))
			}
		}
		for _, what := range differing(versions) {
			reported[what] = true
			e.Warnings.add("components", "runs of the same variant differ in "+what, why, mend)
		}
		all = append(all, versions...)
	}
	for _, what := range differing(all) {
		component, _, _ := strings.Cut(what, ":")
		if !reported[what] && !e.changes(component) {
			e.Warnings.add("components", "variants differ in "+what+", which no variant asks for", why, mend)
		}
	}
}

// variesTheDisk says whether a variant has its data elsewhere than others.
func (e *Experiment) variesTheDisk() bool {
	return slices.ContainsFunc(e.Design.Variants, func(v design.Variant) bool {
		return slices.ContainsFunc(v.Changes, func(change string) bool {
			path, _, _ := strings.Cut(change, ": ")
			return strings.HasSuffix(path, ".dataDir") || path == "target.directory.path"
		})
	})
}

// changes says whether a variant says that it changes a component, or which
// binaries are used.
func (e *Experiment) changes(component string) bool {
	plain := func(text string) string {
		return strings.ToLower(strings.NewReplacer("-", "", ".", "", "_", "").Replace(text))
	}
	for _, v := range e.Design.Variants {
		for _, change := range v.Changes {
			path, _, _ := strings.Cut(change, ": ")
			for _, word := range []string{component, "version", "binar", "assets", "datastore"} {
				if strings.Contains(plain(change[:min(len(change), len(path)+200)]), plain(word)) {
					return true
				}
			}
		}
	}
	return false
}
