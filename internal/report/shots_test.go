package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestShots writes pages and pictures of them to $PLIMSOLL_SHOTS, to be looked at.
func TestShots(t *testing.T) {
	dir := os.Getenv("PLIMSOLL_SHOTS")
	if dir == "" {
		t.Skip("$PLIMSOLL_SHOTS is not set: no pictures are taken")
	}
	browser := findBrowser(t)
	for _, name := range []string{"compared", "swept", "axes", "growing"} {
		result := cases()[name]
		file := filepath.Join(dir, name+".html")
		if err := os.WriteFile(file, []byte(pageOf(t, result())), 0o644); err != nil {
			t.Fatal(err)
		}
		for look, flags := range map[string][]string{
			"light": {"--window-size=1280,5200"},
			"dark":  {"--window-size=1280,5200", "--blink-settings=preferredColorScheme=0"},
			"phone": {"--window-size=500,6000"},
		} {
			cmd := exec.CommandContext(t.Context(), browser, append(flags, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
				"--virtual-time-budget=3000", "--user-data-dir="+t.TempDir(), "--screenshot="+filepath.Join(dir, name+"-"+look+".png"), "file://"+file)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}
	}
}
