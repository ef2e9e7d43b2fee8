package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"

	"plimsoll.dev/plimsoll/internal/analysis"
	"plimsoll.dev/plimsoll/internal/measure"
	"plimsoll.dev/plimsoll/internal/stats"
)

// absent stands where there is no number.
const absent = "–"

// seconds writes a time with three significant digits in the unit that suits it.
func seconds(s float64) string {
	s = rounded(s)
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return absent
	case s == 0:
		return "0 s"
	case s < 1e-6:
		return significant(s*1e9) + " ns"
	case s < 1e-3:
		return significant(s*1e6) + " µs"
	case s < 1:
		return significant(s*1e3) + " ms"
	case s < 600:
		return significant(s) + " s"
	case s < 7200:
		return significant(s/60) + " min"
	}
	return significant(s/3600) + " h"
}

// optional writes a number that there may be none of.
func optional(v *float64, write func(float64) string) string {
	if v == nil {
		return absent
	}
	return write(*v)
}

// optionalSeconds writes a time that may have been left out.
func optionalSeconds(s *float64) string { return optional(s, seconds) }

// traffic writes bytes that were moved, in powers of 1000.
func traffic(b float64) string {
	return scaled(b, 1000, []string{" B", " kB", " MB", " GB", " TB"})
}

// memory writes bytes that were held, in powers of 1024.
func memory(b float64) string {
	return scaled(b, 1024, []string{" B", " KiB", " MiB", " GiB", " TiB"})
}

func scaled(v, base float64, units []string) string {
	if math.IsNaN(v) {
		return absent
	}
	unit := 0
	for rounded(v) >= base && unit < len(units)-1 {
		v /= base
		unit++
	}
	if unit == 0 {
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64) + units[0]
	}
	return significant(v) + units[unit]
}

// rate writes a number per second.
func rate(perSecond float64) string {
	if math.IsNaN(perSecond) {
		return absent
	}
	return significant(perSecond) + "/s"
}

// count writes a whole number.
func count(n int64) string { return grouped(strconv.FormatInt(n, 10)) }

// percent writes a fraction. It never rounds to all or nothing what is not quite.
func percent(fraction float64) string {
	switch {
	case math.IsNaN(fraction):
		return absent
	case fraction == 0:
		return "0 %"
	case fraction == 1:
		return "100 %"
	case fraction < 0.0001:
		return "< 0.01 %"
	case fraction > 0.9999 && fraction < 1:
		return "> 99.99 %"
	}
	return trimmed(strconv.FormatFloat(fraction*100, 'f', 2, 64)) + " %"
}

// cpus writes an amount of CPU.
func cpus(n float64) string {
	if math.IsNaN(n) {
		return absent
	}
	return strconv.FormatFloat(n, 'f', 2, 64)
}

// significant writes a number with three significant digits, or as many as its
// whole part has.
func significant(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	v = rounded(v)
	decimals := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	return grouped(strconv.FormatFloat(v, 'f', decimals, 64))
}

// rounded keeps three significant digits, and the whole part of larger numbers.
func rounded(v float64) float64 {
	if math.Abs(v) >= 1000 {
		return math.Round(v)
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return r
}

// grouped sets commas between the thousands of a number's whole part.
func grouped(number string) string {
	whole, fraction, _ := strings.Cut(number, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

// trimmed takes the zeros off the end of a decimal fraction.
func trimmed(number string) string {
	if !strings.Contains(number, ".") {
		return number
	}
	return strings.TrimRight(strings.TrimRight(number, "0"), ".")
}

// quantity writes a value of a measure in the measure's unit. Bytes follow the
// bound as it was written.
func quantity(v float64, unit, bound string) string {
	switch unit {
	case "seconds":
		return seconds(v)
	case "fraction":
		return percent(v)
	case "per second":
		return rate(v)
	case "bytes":
		if strings.Contains(bound, "iB") {
			return memory(v)
		}
		return traffic(v)
	case "count":
		return count(int64(v))
	}
	return significant(v)
}

// brief takes the zeros off a quantity's fraction, as people write bounds: 1 s, not 1.00 s.
func brief(quantity string) string {
	number, unit, found := strings.Cut(quantity, " ")
	if !found {
		number, unit, found = strings.Cut(quantity, "/")
		if !found {
			return trimmed(number)
		}
		return trimmed(number) + "/" + unit
	}
	return trimmed(number) + " " + unit
}

// shorten keeps both ends of a name that is longer than width.
func shorten(name string, width int) string {
	letters := []rune(name)
	if len(letters) <= width {
		return name
	}
	tail := (width - 1) / 2
	head := max(0, width-1-tail)
	return string(letters[:head]) + "…" + string(letters[len(letters)-tail:])
}

// plain takes control characters out of a text that goes to a terminal, where
// they could do more than be read. Line ends stay.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, text)
}

func rangeCell(m *analysis.CellMeasure) string {
	if m.Summary.Min == nil || m.Summary.Max == nil {
		return absent
	}
	return amount(*m.Summary.Min, m.Subject) + " … " + amount(*m.Summary.Max, m.Subject)
}

// findingValue writes our figure as the published one is: a ratio, an exponent, or a measure in its unit.
func findingValue(r *analysis.Reference, f analysis.Finding) string {
	if f.Value == nil {
		return absent
	}
	write := ratio // also of exponents
	if m, err := measure.Parse(r.Measure); r.Ratio == "" && r.Growth == "" && err == nil {
		write = func(v float64) string { return quantity(v, string(m.Unit()), r.Text) }
	}
	words := write(*f.Value)
	if f.Lo != nil && f.Hi != nil {
		words += " [" + write(*f.Lo) + ", " + write(*f.Hi) + "]"
	}
	return words
}

// objectsText is a number of objects that may not be known.
func objectsText(n *float64) string {
	return optional(n, func(v float64) string { return count(int64(v)) })
}

// pValue writes a p value as far as it matters.
func pValue(c *analysis.Comparison) string {
	p := cmp.Or(c.AdjustedP, c.P)
	switch {
	case p == nil:
		return absent
	case *p < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", *p)
}

func objectiveValue(o analysis.Objective) string {
	return optional(o.Value, func(v float64) string { return quantity(v, o.Unit, o.Text) })
}

// unbroken keeps numbers and their units on one line.
func unbroken(text string) string {
	return regexp.MustCompile(`([0-9]) (ns|µs|ms|s|min|h|%)([^a-z]|$)`).ReplaceAllString(text, "$1\u00a0$2$3")
}

// breakable lets a measure go on in a new line after a dot or a parenthesis.
func breakable(measure string) template.HTML {
	return template.HTML(regexp.MustCompile(`[.(]`).ReplaceAllString(template.HTMLEscapeString(measure), "$0<wbr>"))
}

// afterFirst is what follows the first line of a reason: a log's last lines.
func afterFirst(text string) string {
	_, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return rest
}

// share is the part of n that k is; nothing of nothing is no number.
func share(k, n int64) string {
	if n == 0 {
		return absent
	}
	return percent(float64(k) / float64(n))
}

// clockTime writes a moment of a run: 40 s, 2:30 min, 1:10 h.
func clockTime(s float64) string {
	whole := int(math.Round(s))
	switch {
	case s < 60:
		return trimmed(fmt.Sprintf("%.1f", s)) + " s"
	case s < 3600:
		return fmt.Sprintf("%d:%02d min", whole/60, whole%60)
	}
	return fmt.Sprintf("%d:%02d h", whole/3600, whole/60%60)
}

// ratio writes a ratio with two decimals, or as many as tell it from 1.
func ratio(r float64) string {
	switch {
	case math.IsNaN(r) || math.IsInf(r, 0):
		return absent
	case r >= 100:
		return significant(r)
	case r < 0.1 && r > 0:
		return trimmed(fmt.Sprintf("%.2g", r))
	case r != 1 && math.Abs(r-1) < 0.005:
		return fmt.Sprintf("%.3f", r)
	}
	return fmt.Sprintf("%.2f", r)
}

// spread writes the half width of an interval as a share of its centre.
func spread(s stats.Summary) string {
	if half, known := s.Spread(); known {
		return "± " + wholePercent(half)
	}
	return "± ?"
}

// wholePercent writes a share without decimals unless it is small.
func wholePercent(share float64) string {
	switch {
	case share >= 0.0995:
		return fmt.Sprintf("%.0f %%", share*100)
	case share > 0 && share < 0.0005:
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", share*100)
}

// amount writes a value of a subject in its unit; numbers without one are
// shortened: 638 M.
func amount(v float64, s analysis.Subject) string {
	if s.Unit != "" {
		return quantity(v, s.Unit, "")
	}
	for _, scale := range []struct {
		from   float64
		suffix string
	}{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e5, " k"}} {
		if math.Abs(v) >= scale.from {
			return significant(v/choose(scale.from == 1e5, 1e3, scale.from)) + scale.suffix
		}
	}
	if v != 0 && math.Abs(v) < 1e-3 {
		return fmt.Sprintf("%.3g", v)
	}
	return significant(v)
}

// centre writes a summary's median and how sure it is.
func centre(s stats.Summary, subject analysis.Subject) string {
	if s.Median == nil {
		return absent
	}
	return amount(*s.Median, subject) + " " + spread(s)
}

func intervalWords(s stats.Summary, subject analysis.Subject) string {
	if s.Lo == nil || s.Hi == nil {
		return ""
	}
	return fmt.Sprintf(" (%s interval %s … %s)", levelWords(s.Confidence), amount(*s.Lo, subject), amount(*s.Hi, subject))
}
