package report

import (
	"bytes"
	"encoding/csv"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"plimsoll.dev/plimsoll/internal/analysis"
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
			t.Run(name+extension, func(t *testing.T) {
				var got bytes.Buffer
				if err := write(&got, result()); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", name+extension), withoutAssets(got.String()))
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
	return regexp.MustCompile(`sha256-[^&]+`).ReplaceAllString(page, "sha256-…")
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
	for name, result := range cases() {
		var out strings.Builder
		if err := Terminal(&out, result()); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > columns {
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
	var out strings.Builder
	if err := HTML(&out, hostile()); err != nil {
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
