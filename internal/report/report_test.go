package report

import (
	"bytes"
	"encoding/csv"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/design"
)

var update = flag.Bool("update", false, "write the golden files anew")

// cases are the results that every form of report is tried on.
func cases() map[string]func() *analysis.Result {
	return map[string]func() *analysis.Result{
		"quickstart":        quickstart,
		"interrupted":       interrupted,
		"overloaded":        overloaded,
		"nothing-succeeded": nothingSucceeded,
		"hostile":           hostile,
		"repeated":          repeated,
		"compared":          compared,
		"dropped":           dropped,
		"axes":              axes,
		"growing":           growing,
		"swept":             swept,
		"few-blocks":        fewBlocks,
		"repetitions":       repetitions,
		"empty":             func() *analysis.Result { return &analysis.Result{Scenario: "empty"} },
		"killed-at-once": func() *analysis.Result {
			return &analysis.Result{Scenario: "killed", Runs: []*analysis.Run{{Name: "killed", Index: 1, Status: analysis.Incomplete}}}
		},
	}
}

func TestGolden(t *testing.T) {
	forms := map[string]func(io.Writer, *analysis.Result) error{".txt": Terminal, ".csv": Summary, ".html": HTML}
	for name, result := range cases() {
		for extension, write := range forms {
			if extension == ".html" && slices.Contains([]string{"axes", "few-blocks", "repetitions"}, name) {
				continue // much like the others; they are opened in a browser
			}
			t.Run(name+extension, func(t *testing.T) {
				var got bytes.Buffer
				if err := write(&got, result()); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", name+extension), withoutRuns(withoutAssets(got.String())))
			})
		}
	}
}

// withoutAssets takes out of a page what is in files of its own.
func withoutAssets(page string) string {
	for _, name := range []string{"uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE", "style.css", "charts.js"} {
		content, _ := assets.ReadFile("assets/" + name)
		page = strings.Replace(page, string(content), "["+name+"]", 1)
	}
	return regexp.MustCompile(`sha256-(?:[^&]|&#43;)+`).ReplaceAllString(page, "sha256-…")
}

// withoutRuns takes the runs one by one out of the page of an experiment: they
// are like those of other pages.
func withoutRuns(page string) string {
	before, runs, found := strings.Cut(page, `<details class="run stay">`)
	if !found {
		return page
	}
	_, after, _ := strings.Cut(runs, "<footer>")
	return before + "[runs]\n<footer>" + after
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with go test ./internal/report -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); if that is meant, go test ./internal/report -update\n%s", file, diff)
	}
}

func TestTerminalIsNarrowAndPlain(t *testing.T) {
	all := cases()
	all["hostile experiment"] = hostileExperiment
	for name, result := range all {
		var out strings.Builder
		if err := Terminal(&out, result()); err != nil {
			t.Fatal(err)
		}
		log := false
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			log = strings.HasPrefix(line, "What components wrote") || log && strings.HasPrefix(line, "  ")
			limit := choose(log, 160, columns) // lines of a log are not broken
			if n := utf8.RuneCountInString(line); n > limit {
				t.Errorf("%s: a line is %d columns wide: %s", name, n, line)
			}
			if plain(line) != line {
				t.Errorf("%s: control characters in %q", name, line)
			}
		}
	}
}

func TestColoursAreOnlyShownWhenAskedFor(t *testing.T) {
	var plainly, coloured strings.Builder
	if err := Terminal(&plainly, overloaded()); err != nil {
		t.Fatal(err)
	}
	if err := TerminalInColour(&coloured, overloaded()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(coloured.String(), "\x1b[31mFAIL\x1b[0m") {
		t.Error("a missed objective is not red")
	}
	if got := regexp.MustCompile(`\x1b\[[0-9]+m`).ReplaceAllString(coloured.String(), ""); got != plainly.String() {
		t.Errorf("colours change more than colour:\n%s", cmp.Diff(plainly.String(), got))
	}
}

func TestSummaryIsRectangular(t *testing.T) {
	for name, result := range cases() {
		var out bytes.Buffer
		if err := Summary(&out, result()); err != nil {
			t.Fatal(err)
		}
		// The reader refuses rows of unequal length.
		if _, err := csv.NewReader(&out).ReadAll(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPageIsSelfContained(t *testing.T) {
	fetches := regexp.MustCompile(`(?i)(src|href|action|data)\s*=\s*["']?\s*(https?:)?//|url\(|@import`)
	for name, result := range cases() {
		var out strings.Builder
		if err := HTML(&out, result()); err != nil {
			t.Fatal(err)
		}
		if found := fetches.FindString(withoutAssets(out.String())); found != "" {
			t.Errorf("%s: the page fetches something: %s", name, found)
		}
	}
}

func TestPageEscapesWhatItWasTold(t *testing.T) {
	for _, result := range []*analysis.Result{hostile(), hostileExperiment()} {
		checkEscaped(t, result)
	}
}

// hostileExperiment is one in which every text tries to be more than text.
func hostileExperiment() *analysis.Result {
	const attack = `"></svg></script><script>document.title="owned"</script><img src=x onerror=alert(1)>`
	result := swept()
	result.References = references()
	result.Design.Variants[1] = design.Variant{Name: attack, Title: attack, Changes: []string{attack}}
	for _, cell := range result.Cells {
		cell.Axes = map[string]string{attack: attack}
	}
	for _, c := range result.Comparisons {
		c.Name, c.Variant, c.Warnings = attack, attack, []string{attack}
	}
	for _, g := range result.Growth {
		g.Name, g.Parameter, g.InWords, g.Cell.Variant = attack, attack, attack, attack
	}
	for _, l := range result.LoadLines {
		l.Parameter, l.Cell.Variant, l.Log = attack, attack, []analysis.LogLine{{Component: attack, Text: attack}}
	}
	for _, r := range result.References {
		r.Statement, r.Text, r.Source = attack, attack, attack
	}
	result.Excluded = []analysis.Exclusion{{Run: 1, Name: attack, Rule: attack}}
	for _, run := range result.Runs {
		run.Figures.CPU[0].Component = attack
		run.Figures.Heatmaps[0].Phase = attack
	}
	return result
}

func checkEscaped(t *testing.T, result *analysis.Result) {
	t.Helper()
	var out strings.Builder
	if err := HTML(&out, result); err != nil {
		t.Fatal(err)
	}
	page := withoutAssets(out.String())
	for _, raw := range []string{"<script>document", "<img", "</script><script>d"} {
		if at := strings.Index(page, raw); at >= 0 {
			t.Errorf("not escaped: …%s…", page[max(0, at-80):at+40])
		}
	}
}

func TestShellWordsAreQuoted(t *testing.T) {
	run := &analysis.Run{Parameters: map[string]string{"objects": "2000", "name": "a b'; rm -rf ~"}}
	want := `plimsoll run scenario.yaml --set 'name=a b'\''; rm -rf ~' --set objects=2000`
	if got := reproduce(run); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
