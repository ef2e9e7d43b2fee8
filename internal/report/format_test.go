package report

import (
	"math"
	"testing"
)

func TestNumbersReadWell(t *testing.T) {
	tests := []struct {
		is   string
		got  string
		want string
	}{
		{"no time at all", seconds(0), "0 s"},
		{"a quarter of a microsecond", seconds(250e-9), "250 ns"},
		{"a time under a millisecond", seconds(0.0000871), "87.1 µs"},
		{"a time under a second", seconds(0.01234), "12.3 ms"},
		{"a time that rounds up to the next unit", seconds(0.9996), "1.00 s"},
		{"a second and some", seconds(1.9449), "1.94 s"},
		{"minutes that are still told in seconds", seconds(599), "599 s"},
		{"minutes that are not", seconds(600), "10.0 min"},
		{"hours", seconds(3 * 3600), "3.00 h"},
		{"a time that is not a number", seconds(math.NaN()), "–"},
		{"a percentile that was left out", optionalSeconds(nil), "–"},

		{"a few bytes", traffic(999), "999 B"},
		{"a kilobyte", traffic(1000), "1.00 kB"},
		{"traffic", traffic(13_700_000), "13.7 MB"},
		{"bytes that round up to the next unit", traffic(999_999), "1.00 MB"},
		{"a kibibyte", memory(1024), "1.00 KiB"},
		{"memory", memory(512 << 20), "512 MiB"},
		{"memory just under a unit", memory(1023.9 * (1 << 20)), "1.00 GiB"},

		{"a slow rate", rate(0.0521), "0.0521/s"},
		{"a rate", rate(205.61), "206/s"},
		{"a fast rate", rate(12345.6), "12,346/s"},
		{"a count", count(1234567), "1,234,567"},
		{"a count below a thousand", count(999), "999"},
		{"a count below nothing", count(-1234), "-1,234"},

		{"all", percent(1), "100 %"},
		{"none", percent(0), "0 %"},
		{"nearly all is not all", percent(0.99999), "> 99.99 %"},
		{"nearly none is not none", percent(0.00001), "< 0.01 %"},
		{"most", percent(0.9858), "98.58 %"},
		{"half", percent(0.5), "50 %"},
		{"a share of nothing", share(0, 0), "–"},

		{"CPUs", cpus(1.418), "1.42"},
		{"a bound as people write it", brief("1.00 s"), "1 s"},
		{"a rate as people write it", brief("50.0/s"), "50/s"},
		{"a share as people write it", brief("99 %"), "99 %"},
		{"bytes of a bound in KiB", quantity(4<<30, "bytes", "≤ 4GiB"), "4.00 GiB"},
		{"bytes of a bound in kB", quantity(4e9, "bytes", "≤ 4GB"), "4.00 GB"},
		{"a value without a unit", quantity(0.12345, "", "≤ 1"), "0.123"},

		{"a name that fits", shorten("walks", 5), "walks"},
		{"a name that does not", shorten("list-with-watch-cache", 11), "list-…cache"},
		{"a log that rings the bell", plain("a\x1b[31m\ab\r\nc\td"), "a[31mb\nc d"},
		{"a moment in the first minute", clockTime(2.5), "2.5 s"},
		{"a moment later on", clockTime(150), "2:30 min"},
		{"a moment in the second hour", clockTime(4200), "1:10 h"},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", test.is, test.got, test.want)
		}
	}
}
