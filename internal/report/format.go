package report

import (
	"math"
	"strconv"
	"strings"
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
