package v1alpha1

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheSchemaAndTheReferenceAreOfTheseTypes(t *testing.T) {
	dir := t.TempDir()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources { // comments are read from the folder that the generator runs in
		data, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, source), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	generator := filepath.Join(dir, "schemagen")
	if output, err := exec.Command("go", "build", "-o", generator, "./schemagen").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	command := exec.Command(generator, "scenario.md")
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("generate: %v\n%s", err, output)
	}
	for made, kept := range map[string]string{"scenario.schema.json": "scenario.schema.json", "scenario.md": "../../docs/scenario.md"} {
		fresh, err := os.ReadFile(filepath.Join(dir, made))
		if err != nil {
			t.Fatal(err)
		}
		current, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(current), string(fresh)); diff != "" {
			t.Errorf("%s is stale: run go generate ./api/...\n%s", kept, diff)
		}
	}
}

func TestQuantities(t *testing.T) {
	for text, want := range map[string]Bytes{"4B": 4, "10kB": 10_000, "10KiB": 10_240, "1.5MiB": 3 << 19} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]Rate{"50/s": 50, "3000/m": 50, "1800/h": 0.5} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]float64{"1s": 1, "500ms": 0.5, "99%": 0.99, "4GiB": 4 << 30, "50/s": 50, "0": 0} {
		if got, err := ParseBound(text); err != nil || got.Value != want {
			t.Errorf("ParseBound(%q) = %v, %v, want %v", text, got.Value, err, want)
		}
	}
	for document, want := range map[string]float64{`{"max": 7}`: 7, `{"max": "7"}`: 7, `{"max": "50ms"}`: 0.05} {
		var o Objective
		if err := json.Unmarshal([]byte(document), &o); err != nil || o.Max.Value != want {
			t.Errorf("%s = %v, %v, want %v", document, o.Max, err, want)
		}
	}
	for _, wrong := range []string{"", "10", "10kb", "KiB", "-1B", "10 potatoes"} {
		if _, err := ParseBytes(wrong); err == nil {
			t.Errorf("ParseBytes(%q) gave no error", wrong)
		}
	}
}
