package analysis

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plimsoll.dev/plimsoll/internal/design"
	"plimsoll.dev/plimsoll/internal/store"
)

// FuzzAnalyze damages a file of an experiment. Whatever is left gives a result
// that JSON can say, or an error, and never a panic.
func FuzzAnalyze(f *testing.F) {
	laid := twoVariants(1, "p50(gets.get.response)", "mean(walks.walk.service)")
	laid.Axes = []design.Axis{{Parameter: "size", Values: []string{"1", "2"}}}
	laid.References = []design.Reference{{Growth: "mean(walks.walk.service)", Variant: "old", When: map[string]string{"objects": "1000"}}}
	w := worldIn(f, f.TempDir(), laid)
	w.info = func(info *store.RunInfo) {
		info.Objectives = []store.ObjectiveInfo{bound("p50(walks.walk.service)", 0.5, 0)}
	}
	w.run("old", map[string]string{"size": "1"}, 1, outcome{took: 5 * ms, points: sizes()})
	w.run("new", map[string]string{"size": "1"}, 1, outcome{took: 5 * ms, points: sizes()})
	files := []string{"plan.json", "runs/0001-old1/run.json", "runs/0002-new1/events.jsonl", "runs/0002-new1/counters.jsonl", "runs/0001-old1/environment.json"}
	for i := range files {
		f.Add(uint8(i), uint16(0), []byte("{}"))
		f.Add(uint8(i), uint16(30), []byte(`"block":-1,"variants":[],"at":1e9,`))
	}
	f.Add(uint8(0), uint16(0), []byte(`{"schemaVersion":1,"design":{"variants":[{"name":"x"}],"primary":[{"measure":"p50(","promql":"("},{}],"references":[{"ratio":"x"},{"growth":"p50(walks.walk.service)"},{}],"axes":[{"parameter":"size","values":["NaN","1","1"]}]}}`))
	f.Add(uint8(1), uint16(0), []byte(`{"schemaVersion":1,"index":1,"probe":{"parameter":"rate","value":0},"steps":[{"measured":true,"point":{},"phases":[{"name":"@"},{}]}],"objectives":[{},{"measure":"p50(@.x.service)"}]}`))
	f.Fuzz(func(t *testing.T, which uint8, at uint16, damage []byte) {
		path := filepath.Join(w.results.Dir, files[int(which)%len(files)])
		whole, err := os.ReadFile(path)
		must(t, err)
		defer func() { must(t, os.WriteFile(path, whole, 0o644)) }()
		must(t, os.WriteFile(path, append(slices.Clone(whole[:min(int(at), len(whole))]), damage...), 0o644))
		result, err := Analyze(t.Context(), w.results)
		if err != nil {
			return
		}
		if _, err := json.Marshal(result); err != nil {
			t.Errorf("the result cannot be written: %v", err)
		}
	})
}
