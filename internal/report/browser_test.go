package report

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll.dev/plimsoll/internal/analysis"
)

// TestPageInABrowser opens pages in a real browser: as they are, to hear what
// the console says; and with a probe, to see what was drawn on a wide screen
// and on a phone.
func TestPageInABrowser(t *testing.T) {
	browser := findBrowser(t)
	pages := cases()
	pages["long"] = long
	_, console := browse(t, browser, pageOf(t, quickstart()))
	var asTheyAre, probed strings.Builder
	for name, result := range pages {
		page := pageOf(t, result())
		asTheyAre.WriteString(frame(name, 1200, page))
		for _, width := range browserWidths {
			probed.WriteString(frame(name, width, withProbe(page)))
		}
	}
	_, more := browse(t, browser, "<!DOCTYPE html><body>"+asTheyAre.String()+"</body>")
	if console += more; console != "" {
		t.Errorf("the console says:\n%s", console)
	}
	document, _ := browse(t, browser, "<!DOCTYPE html><body>"+probed.String()+"</body>")
	for name := range pages {
		for _, width := range browserWidths {
			t.Run(fmt.Sprintf("%s at %d px", name, width), func(t *testing.T) { checkDrawn(t, document, name, width) })
		}
	}
}

// browserWidths are those of a wide screen and of two phones.
var browserWidths = []int{1200, 390, 375}

// drawn is what the probe saw.
type drawn struct {
	Panels, Canvases, Empty, Width, Scroll int
	P99                                    int // right edge of the column
	ClosedOnPaper, ClosedAfter             int // details
	Title                                  string
	Figures, Unmarked                      int        // figures in SVG, and those without a mark or a name
	Small                                  []string   // texts below 11 px
	Covered                                []string   // texts that stand on each other
	Numbers                                [][]string // ratio, baseline and variant of each comparison: value and text
}

// probe looks for charts without a coloured line; axes, grid and bands are grey.
const probe = `<script>
addEventListener("load", () => setTimeout(() => {
  const shown = Array.from(document.querySelectorAll(".panel")).filter((p) => p.clientWidth > 0);
  const canvases = shown.flatMap((p) => Array.from(p.querySelectorAll("canvas")));
  const empty = canvases.filter((c) => {
    const pixels = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    let coloured = 0;
    for (let i = 0; i < pixels.length; i += 4) {
      const least = Math.min(pixels[i], pixels[i + 1], pixels[i + 2]);
      const most = Math.max(pixels[i], pixels[i + 1], pixels[i + 2]);
      if (pixels[i + 3] > 200 && most - least > 60) coloured++;
    }
    return coloured < 10;
  });
  const p99 = Array.from(document.querySelectorAll(".results thead th")).find((th) => th.textContent === "p99");
  const plots = Array.from(document.querySelectorAll("svg.plot, svg.curve")).filter((p) => p.clientWidth > 0);
  const unmarked = plots.filter((p) => !p.getAttribute("aria-label") || p.dataset.marks === "0" || !Array.from(p.querySelectorAll("path, circle, rect:not(.margin)")).some((m) => m.getBBox().width + m.getBBox().height > 0));
  const texts = plots.map((p) => Array.from(p.querySelectorAll("text"), (t) => ({ words: t.textContent, size: parseFloat(getComputedStyle(t).fontSize) * p.clientWidth / p.viewBox.baseVal.width, box: t.getBoundingClientRect(), plot: p.getBoundingClientRect() })));
  const small = texts.flat().filter((t) => t.size < 10.95 || t.box.left < t.plot.left - 1 || t.box.right > t.plot.right + 1).map((t) => t.words + " " + t.size.toFixed(1));
  const covered = texts.flatMap((all) => all.flatMap((a, i) => all.slice(i + 1).filter((b) =>
    a.box.left < b.box.right - 1 && b.box.left < a.box.right - 1 && a.box.top < b.box.bottom - 4 && b.box.top < a.box.bottom - 4).map((b) => a.words + " | " + b.words)));
  const numbers = Array.from(document.querySelectorAll("tr[data-measure]"), (row) => [row.dataset.measure, ...["ratio", "base", "head"].flatMap((c) => {
    const cell = row.querySelector("data." + c);
    return [cell.value, cell.textContent];
  })]);
  const scroll = document.documentElement.scrollWidth;
  const closed = () => document.querySelectorAll("details:not([open]):not(.stay)").length;
  dispatchEvent(new Event("beforeprint"));
  const closedOnPaper = closed();
  dispatchEvent(new Event("afterprint"));
  frameElement.dataset.probe = JSON.stringify({
    Panels: shown.length, Canvases: canvases.length, Empty: empty.length, Title: document.title,
    Width: innerWidth, Scroll: scroll, P99: p99 ? Math.ceil(p99.getBoundingClientRect().right) : 0,
    Figures: plots.length, Unmarked: unmarked.length, Small: small.slice(0, 5), Covered: covered.slice(0, 5), Numbers: numbers,
    ClosedOnPaper: closedOnPaper, ClosedAfter: closed(),
  });
}, 100));
</script></body>`

// withProbe adds the probe to a page, and takes away the policy that would not let it run.
func withProbe(page string) string {
	page = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).ReplaceAllString(page, "")
	return strings.Replace(page, "</body>", probe, 1)
}

// frame holds a page at a width: a window cannot be as narrow as a phone.
func frame(name string, width int, page string) string {
	return fmt.Sprintf(`<iframe title="%s-%d" width="%d" height="900" srcdoc="%s"></iframe>`, name, width, width, html.EscapeString(page))
}

func checkDrawn(t *testing.T, document, name string, width int) {
	found := regexp.MustCompile(fmt.Sprintf(`title="%s-%d"[^>]* data-probe="([^"]*)"`, name, width)).FindStringSubmatch(document)
	if found == nil {
		t.Fatal("the probe did not report")
	}
	var saw drawn
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &saw); err != nil {
		t.Fatal(err)
	}
	if name == "quickstart" && (saw.Panels != 5 || saw.ClosedAfter != 2) {
		t.Errorf("%d panels and %d closed details, want 5 and 2", saw.Panels, saw.ClosedAfter)
	}
	if saw.ClosedOnPaper > 0 {
		t.Errorf("%d details stay closed on paper", saw.ClosedOnPaper)
	}
	if name != "hostile" && saw.P99 > width {
		t.Errorf("p99 ends at %d px: it is out of view", saw.P99)
	}
	if saw.Canvases != saw.Panels || saw.Empty > 0 {
		t.Errorf("%d panels, %d of them drawn, %d without a line", saw.Panels, saw.Canvases, saw.Empty)
	}
	if saw.Unmarked > 0 {
		t.Errorf("%d of %d figures show nothing, or do not say what", saw.Unmarked, saw.Figures)
	}
	if len(saw.Small)+len(saw.Covered) > 0 && name != "hostile" {
		t.Errorf("texts in figures are too small or outside %q, or stand on each other %q", saw.Small, saw.Covered)
	}
	checkNumbers(t, saw, name)
	if saw.Width != width || saw.Scroll > width {
		t.Errorf("the frame is %d px wide and its page %d: it scrolls sideways", saw.Width, saw.Scroll)
	}
	if !strings.HasSuffix(saw.Title, "· plimsoll") {
		t.Errorf("the page's title became %q", saw.Title)
	}
}

// checkNumbers holds the page's table of comparisons against the result that it was made from.
func checkNumbers(t *testing.T, saw drawn, name string) {
	make := cases()[name]
	if make == nil {
		return
	}
	result := make()
	if len(saw.Numbers) != len(result.Comparisons) {
		t.Fatalf("the page has %d comparisons, the result %d", len(saw.Numbers), len(result.Comparisons))
	}
	found := map[string]bool{}
	for _, row := range saw.Numbers {
		found[strings.Join(row, "|")] = true
	}
	for _, c := range result.Comparisons {
		want := strings.Join([]string{c.Name, known(c.Ratio), ratio(*c.Ratio), known(c.Base.Median), centre(c.Base, c.Subject), known(c.Head.Median), centre(c.Head, c.Subject)}, "|")
		if !found[want] {
			t.Errorf("the page does not have %s", want)
		}
	}
}

func pageOf(t *testing.T, result *analysis.Result) string {
	t.Helper()
	var page strings.Builder
	if err := HTML(&page, result); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func findBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium on PATH: the page was not tried in a browser; apt-get install chromium")
	return ""
}

// browse opens a page and gives its document as it is in the end and what the console said.
func browse(t *testing.T, browser, page string) (document, console string) {
	t.Helper()
	// Not t.TempDir: the browser's helpers may still write while it is removed.
	dir, err := os.MkdirTemp("", "plimsoll-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--enable-logging=stderr", "--virtual-time-budget=3000", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--window-size=1300,900", "--dump-dom", "file://"+file)
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("run %s: %v\n%s", browser, err, log.String())
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "CONSOLE") {
			console += line
		}
	}
	return out.String(), console
}
