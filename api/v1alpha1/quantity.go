package v1alpha1

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"plimsoll.dev/plimsoll/internal/measure"
)

// Name is a name as Kubernetes has them for namespaces (RFC 1123 labels).
type Name string

// Bytes is a size with its unit: 4B, 10kB (10,000 bytes) or 10KiB (10,240 bytes).
type Bytes int64

// Duration is a length of time with its unit, as in Go: 1s, 500ms, 1m30s.
type Duration time.Duration

// Rate is a number of operations per second, written 50/s, 3000/m or 10/h.
type Rate float64

// Bound is the bound of an objective in base units (seconds, bytes, operations per second, or a
// fraction), written with its unit: 1s, 4GiB, 50/s, 99%, or a bare number for a count.
type Bound struct {
	Value float64
	Unit  measure.Unit
	Text  string
}

// Percent is a share, written 5%; its value is the fraction.
type Percent float64

// Range is a published figure (Min and Max are the same) or a range, in base units: 1.65..1.80,
// 100ms..2s, 1.1.. or ..5%. What is open on a side is an infinity there.
type Range struct {
	Min, Max float64
	Unit     measure.Unit
	Text     string
}

// Flags are a component's command-line flags without their dashes; null removes plimsoll's own.
type Flags map[string]any

const (
	namePattern     = `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	bytesPattern    = `^[0-9]+(\.[0-9]+)?(B|kB|KiB|MB|MiB|GB|GiB)$`
	durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	ratePattern     = `^[0-9]+(\.[0-9]+)?/(s|m|h)$`
	percentPattern  = `^[0-9]+(\.[0-9]+)?%$`
	boundPattern    = `^[0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|B|kB|KiB|MB|MiB|GB|GiB|%|/s|/m|/h)?$`
)

func byteUnits() map[string]float64 {
	return map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
}

func rateUnits() map[string]float64 {
	return map[string]float64{"/s": 1, "/m": 1.0 / 60, "/h": 1.0 / 3600}
}

// Units are the units that a quantity of the given schema type may have.
func Units(schemaType string) []string {
	bytes, rates, durations := keys(byteUnits()), keys(rateUnits()), []string{"ns", "us", "ms", "s", "m", "h"}
	switch schemaType {
	case "Bytes":
		return bytes
	case "Rate":
		return rates
	case "Duration":
		return durations
	case "Bound":
		return slices.Concat(durations, bytes, rates, []string{"%"})
	}
	return nil
}

// SplitUnit takes 50/s apart into 50 and /s; its error is of the number, and the
// unit that of any text.
func SplitUnit(s string) (number float64, unit string, err error) {
	end := strings.IndexFunc(s, func(c rune) bool { return c != '.' && (c < '0' || c > '9') })
	if end < 0 {
		end = len(s)
	}
	number, err = strconv.ParseFloat(s[:end], 64)
	return number, s[end:], err
}

// ParseBytes reads a size such as 10KiB.
func ParseBytes(s string) (Bytes, error) {
	n, unit, err := SplitUnit(s)
	factor, ok := byteUnits()[unit]
	switch {
	case err != nil || !ok:
		return 0, fmt.Errorf("%q is not a size: write a number with B, kB, KiB, MB, MiB, GB or GiB, such as 10KiB", s)
	case n*factor < 1 || n*factor > 1<<50:
		return 0, fmt.Errorf("%q is out of range: a size is at least 1B and at most a million GiB", s)
	}
	return Bytes(n * factor), nil
}

// ParseRate reads a rate such as 50/s.
func ParseRate(s string) (Rate, error) {
	n, unit, err := SplitUnit(s)
	factor, ok := rateUnits()[unit]
	switch {
	case err != nil || !ok:
		return 0, fmt.Errorf("%q is not a rate: write a number per s, m or h, such as 50/s", s)
	case n*factor < 1e-6 || n*factor > 1e9:
		return 0, fmt.Errorf("%q is out of range: a rate is at least one in eleven days and at most a thousand million a second", s)
	}
	return Rate(n * factor), nil
}

// ParseDuration reads a duration such as 1m30s.
func ParseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil && !regexp.MustCompile(durationPattern).MatchString(s):
		return 0, fmt.Errorf("%q is not a duration: write a number with ns, us, ms, s, m or h, such as 500ms or 1m30s", s)
	case err != nil || d <= 0 || d > 1000*time.Hour:
		return 0, fmt.Errorf("%q is out of range: a duration is more than 0 and at most 1000h", s)
	}
	return Duration(d), nil
}

// ParseBound reads a bound such as 1s, 4GiB, 50/s, 99% or 0.
func ParseBound(s string) (Bound, error) {
	n, unit, err := SplitUnit(s)
	if err != nil {
		return Bound{}, fmt.Errorf("%q is not a bound: write a number with a unit, such as 1s, 4GiB, 50/s or 99%%", s)
	}
	if factor, ok := byteUnits()[unit]; ok {
		return Bound{n * factor, measure.Bytes, s}, nil
	}
	if factor, ok := rateUnits()[unit]; ok {
		return Bound{n * factor, measure.PerSecond, s}, nil
	}
	switch unit {
	case "":
		return Bound{n, measure.Count, s}, nil
	case "%":
		return Bound{n / 100, measure.Fraction, s}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return Bound{}, fmt.Errorf("%q is not a bound: write a number with a unit, such as 1s, 4GiB, 50/s or 99%%", s)
	}
	return Bound{d.Seconds(), measure.Seconds, s}, nil
}

// ParsePercent reads a share such as 5%.
func ParsePercent(s string) (Percent, error) {
	b, err := ParseBound(s)
	switch {
	case err != nil || b.Unit != measure.Fraction:
		return 0, fmt.Errorf("%q is not a share: write a number with %%, such as 5%%", s)
	case b.Value <= 0 || b.Value > 10:
		return 0, fmt.Errorf("%q is out of range: a share is more than 0%% and at most 1000%%", s)
	}
	return Percent(b.Value), nil
}

// ParseRange reads a figure such as 1s, or a range such as 1.65..1.80.
func ParseRange(s string) (Range, error) {
	low, high, isRange := strings.Cut(s, "..")
	if !isRange {
		high = low
	}
	r := Range{Min: math.Inf(-1), Max: math.Inf(1), Text: s}
	for side, text := range map[*float64]string{&r.Min: low, &r.Max: high} {
		if text == "" && isRange {
			continue
		}
		b, err := ParseBound(text)
		if err != nil {
			return Range{}, fmt.Errorf("%q is not a figure or a range: write such as 1s, 1.65..1.80, 1.1.. or ..5%%", s)
		}
		*side = b.Value
		if r.Unit != "" && r.Unit != b.Unit {
			return Range{}, fmt.Errorf("%q is in %s and in %s: write both ends with a unit of one kind", s, r.Unit, b.Unit)
		}
		r.Unit = b.Unit
	}
	if r.Unit == "" || r.Min > r.Max {
		return Range{}, fmt.Errorf("%q is not a range: write the smaller end first, such as 1.65..1.80", s)
	}
	return r, nil
}

// UnmarshalJSON also reads a bare number.
func (r *Range) UnmarshalJSON(data []byte) (err error) {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		text = string(data)
	}
	*r, err = ParseRange(text)
	return err
}

func (p *Percent) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePercent(string(text))
	return
}
func (b *Bytes) UnmarshalText(text []byte) (err error) { *b, err = ParseBytes(string(text)); return }
func (d *Duration) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDuration(string(text))
	return
}
func (r *Rate) UnmarshalText(text []byte) (err error)  { *r, err = ParseRate(string(text)); return }
func (b *Bound) UnmarshalText(text []byte) (err error) { *b, err = ParseBound(string(text)); return }

// UnmarshalJSON also reads a bare number, which is a count.
func (b *Bound) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		text = string(data)
	}
	return b.UnmarshalText([]byte(text))
}

func (b Bytes) MarshalText() ([]byte, error)    { return []byte(b.String()), nil }
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }
func (r Rate) MarshalText() ([]byte, error)     { return []byte(r.String()), nil }
func (p Percent) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(p)*100, 'g', -1, 64) + "%"), nil
}
func (r Range) MarshalText() ([]byte, error) { return []byte(r.Text), nil }
func (b Bound) MarshalText() ([]byte, error) { return []byte(b.Text), nil }

// String gives the size in the largest unit that divides it.
func (b Bytes) String() string {
	for _, unit := range []string{"GiB", "MiB", "KiB", "GB", "MB", "kB"} {
		if f := int64(byteUnits()[unit]); b != 0 && int64(b)%f == 0 {
			return fmt.Sprintf("%d%s", int64(b)/f, unit)
		}
	}
	return fmt.Sprintf("%dB", int64(b))
}

// String gives the rate per second.
func (r Rate) String() string { return strconv.FormatFloat(float64(r), 'g', -1, 64) + "/s" }

// JSONSchema describes how a name is written.
func (Name) JSONSchema() *jsonschema.Schema {
	return text(namePattern, "", "a name: up to 63 lower-case letters, digits and dashes")
}

// JSONSchema describes how a size is written.
func (Bytes) JSONSchema() *jsonschema.Schema {
	return text(bytesPattern, "size", "a size, such as 10KiB")
}

// JSONSchema describes how a duration is written.
func (Duration) JSONSchema() *jsonschema.Schema {
	return text(durationPattern, "duration", "a duration, such as 500ms or 1m30s")
}

// JSONSchema describes how a rate is written.
func (Rate) JSONSchema() *jsonschema.Schema { return text(ratePattern, "rate", "a rate, such as 50/s") }

// JSONSchema describes how a bound is written.
func (Bound) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Title: "a bound with its unit, such as 1s, 4GiB, 50/s or 99%",
		AnyOf: []*jsonschema.Schema{{Type: "string", Pattern: boundPattern}, {Type: "number", Minimum: "0"}},
	}
}

// JSONSchema describes how a share is written.
func (Percent) JSONSchema() *jsonschema.Schema {
	return text(percentPattern, "share", "a share, such as 5%")
}

// JSONSchema describes how a range is written.
func (Range) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Title: "a figure or a range, such as 1s, 1.65..1.80, 1.1.. or ..5%",
		AnyOf: []*jsonschema.Schema{{Type: "string", Format: "range"}, {Type: "number", Minimum: "0"}},
	}
}

// JSONSchema describes flags: scalars, or null to remove.
func (Flags) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object",
		AdditionalProperties: &jsonschema.Schema{
			Title: "a flag's value, or null to remove the flag",
			AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}, {Type: "null"}},
		},
	}
}

// text is the schema of a string with a pattern, which editors check, and a
// format, which plimsoll does; its title is what an error message says was expected.
func text(pattern, format, title string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: pattern, Format: format, Title: title}
}

// Formats are the formats of the schema, with what a pattern cannot say: that a
// quantity is positive, and not too large.
func Formats() map[string]func(string) error {
	return map[string]func(string) error{
		"size":     func(s string) error { _, err := ParseBytes(s); return err },
		"duration": func(s string) error { _, err := ParseDuration(s); return err },
		"share":    func(s string) error { _, err := ParsePercent(s); return err },
		"range":    func(s string) error { _, err := ParseRange(s); return err },
		"rate":     func(s string) error { _, err := ParseRate(s); return err },
	}
}
