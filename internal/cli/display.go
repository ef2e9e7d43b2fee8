package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"plimsoll.dev/plimsoll/internal/assets"
	"plimsoll.dev/plimsoll/internal/engine"
)

// display shows how a run goes: on a terminal as a few lines that are redrawn
// once a second, elsewhere as plain lines, fewer of them.
type display struct {
	out   io.Writer
	width func() int

	mu     sync.Mutex
	drawn  int       // lines of the live block that stand on the terminal
	plain  time.Time // of the last plain line
	stages map[string]assets.Phase
}

var _ engine.Watcher = (*display)(nil)

func newDisplay(env Environment) *display {
	return &display{out: env.Stderr, width: env.Width, stages: map[string]assets.Phase{}}
}

// plainInterval is the time between lines of progress where there is no terminal.
const plainInterval = 5 * time.Second

// Say implements engine.Watcher.
func (d *display) Say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	fmt.Fprintf(d.out, format+"\n", args...)
}

// Show implements engine.Watcher.
func (d *display) Show(p engine.Progress) {
	var lines []string
	head := p.Step
	if p.Runs > 1 {
		head = fmt.Sprintf("run %d/%d  %s", p.Run, p.Runs, head)
	}
	for _, phase := range p.Phases {
		lines = append(lines, fmt.Sprintf("%s  %s", head, phaseLine(phase)))
		head = strings.Repeat(" ", len(head))
	}
	d.draw(lines)
}

// phaseLine is done/total, rate, times, errors and what remains.
func phaseLine(p engine.PhaseProgress) string {
	done := fmt.Sprint(p.Done)
	if p.Total > 0 {
		done += fmt.Sprintf("/%d", p.Total)
	}
	line := fmt.Sprintf("%-12s %12s", p.Name, done)
	if p.Rate > 0 {
		line += fmt.Sprintf("  %s %d/s", p.Op, p.Rate)
	}
	if p.Rate > 0 && p.Clock != "" {
		line += fmt.Sprintf("  %s p50 %s p99 %s", p.Clock, milliseconds(p.P50), milliseconds(p.P99))
	}
	if p.Unsuccessful > 0 {
		line += fmt.Sprintf("  errors %d", p.Unsuccessful)
	}
	if p.Remaining > 0 {
		line += fmt.Sprintf("  %v left", p.Remaining.Round(time.Second))
	}
	return line
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// build shows how the build of a part goes.
func (d *display) build(e assets.Event) {
	share := ""
	if e.Total > 0 {
		share = fmt.Sprintf(" %d/%d", e.Done, e.Total)
	} else if e.Done > 0 {
		share = fmt.Sprintf(" %d", e.Done)
	}
	unit := map[assets.Phase]string{assets.Downloading: " modules", assets.Compiling: " packages"}[e.Phase]
	line := fmt.Sprintf("building %s %s (once): %s%s%s, %v of about %v", e.Part, e.Version, e.Phase, share, unit,
		e.Elapsed.Round(time.Second), e.Expected.Round(time.Second))
	switch e.Phase {
	case assets.Waiting:
		line = fmt.Sprintf("%s %s: waiting for another plimsoll that builds it, %v", e.Part, e.Version, e.Elapsed.Round(time.Second))
	case assets.Ready:
		d.Say("built %s %s in %v", e.Part, e.Version, e.Elapsed.Round(time.Second))
		return
	}
	d.mu.Lock()
	news := d.stages[e.Part] != e.Phase
	d.stages[e.Part] = e.Phase
	if news {
		d.plain = time.Time{} // a new stage is worth a plain line at once
	}
	d.mu.Unlock()
	d.draw([]string{line})
}

// draw replaces the live block.
func (d *display) draw(lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	width := d.width()
	if width == 0 {
		if time.Since(d.plain) >= plainInterval {
			d.plain = time.Now()
			fmt.Fprintln(d.out, strings.Join(lines, "\n"))
		}
		return
	}
	d.clear()
	for _, line := range lines {
		if runes := []rune(line); len(runes) > width-1 {
			line = string(runes[:width-1])
		}
		fmt.Fprintln(d.out, line)
	}
	d.drawn = len(lines)
}

// clear removes the live block; d.mu is held.
func (d *display) clear() {
	if d.drawn > 0 {
		fmt.Fprintf(d.out, "\x1b[%dA\x1b[J", d.drawn)
		d.drawn = 0
	}
}
