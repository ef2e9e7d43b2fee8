// Package architecture holds the rules that no single package can keep.
package architecture

import (
	"os/exec"
	"strings"
	"testing"
)

const module = "plimsoll.dev/plimsoll/"

// rules say what a folder must not come to import, directly or by others: data
// flows from scenario to plan to engine to run directory to analysis to report.
func rules() map[string][]string {
	doing := []string{"internal/engine", "internal/target", "internal/workload", "internal/loop", "internal/sampler", "internal/process", "internal/assets", "internal/cli"}
	return map[string][]string{
		"internal/analysis": append(doing, "internal/plan", "internal/report"),
		"internal/report":   append(doing, "internal/plan"),
		"internal/store":    append(doing, "internal/plan", "internal/analysis", "internal/report"),
		"internal/plan":     append(doing, "internal/store", "internal/analysis", "internal/report"),
		"internal/record":   append(doing, "internal/plan", "internal/store", "internal/analysis", "internal/report"),
		"internal/metrics":  append(doing, "internal/plan", "internal/store", "internal/analysis", "internal/report"),
		"internal/loop":     {"internal/engine", "internal/target", "internal/workload/", "internal/sampler", "internal/store", "internal/analysis", "internal/report", "internal/cli"},
		"internal/workload": {"internal/engine", "internal/loop", "internal/target/local", "internal/store", "internal/analysis", "internal/report", "internal/cli"},
		"internal/target":   {"internal/engine", "internal/loop", "internal/workload", "internal/store", "internal/analysis", "internal/report", "internal/cli"},
		"internal/object":   append(doing, "internal/plan", "internal/store", "internal/analysis", "internal/report"),
		"internal/fill":     {"internal/engine", "internal/loop", "internal/workload", "internal/target/local", "internal/store", "internal/analysis", "internal/report", "internal/cli"},
		"internal/engine":   {"internal/target/local", "internal/analysis", "internal/report", "internal/cli"},
		"internal/mount":    append(doing, "internal/plan", "internal/store", "internal/analysis", "internal/report"),
		"internal/stats":    append(doing, "internal/plan", "internal/store", "internal/analysis", "internal/report"),
		"internal/design":   append(doing, "internal/plan", "internal/store", "internal/analysis", "internal/report"),
		"api":               append(doing, "internal/plan", "internal/store", "internal/analysis", "internal/report"),
	}
}

func TestImportsFollowTheWayOfTheData(t *testing.T) {
	output, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		importer := strings.TrimPrefix(fields[0], module)
		for folder, forbidden := range rules() {
			if !within(importer, folder) {
				continue
			}
			seen[folder] = true
			for _, dependency := range fields[1:] {
				name, ours := strings.CutPrefix(dependency, module)
				for _, f := range forbidden {
					if ours && within(name, f) {
						t.Errorf("%s imports %s, against the way of the data", importer, name)
					}
				}
			}
		}
	}
	for folder := range rules() {
		if !seen[folder] {
			t.Errorf("there is no folder %s any more: mend the rules", folder)
		}
	}
}

// within says whether a package is a folder's, or below it; "folder/" means only below it.
func within(pkg, folder string) bool {
	return pkg == folder || strings.HasPrefix(pkg, strings.TrimSuffix(folder, "/")+"/")
}
