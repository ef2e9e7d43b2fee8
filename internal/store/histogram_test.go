package store

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll.dev/plimsoll/internal/record"
)

func histogram(values ...int64) *hdrhistogram.Histogram {
	h := record.NewHistogram()
	for _, v := range values {
		_ = h.RecordValue(v)
	}
	return h
}

// responses gives a histogram such as a second of operations leaves.
func responses(n int) *hdrhistogram.Histogram {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	h := record.NewHistogram()
	for range n {
		_ = h.RecordValue(int64(3e6 * math.Exp(random.NormFloat64()*0.6)))
	}
	return h
}

func histograms() map[string]*hdrhistogram.Histogram {
	every := record.NewHistogram()
	for index := range bucketCount() {
		_ = every.RecordValues(valueOf(index), int64(index%7+1))
	}
	many := record.NewHistogram()
	_ = many.RecordValues(5e6, 1<<40)
	return map[string]*hdrhistogram.Histogram{
		"one value":             histogram(1e6),
		"zero":                  histogram(0),
		"neighbours":            histogram(0, 1, 2, 4, 5, 8),
		"ends of the first":     histogram(2046, 2047, 2048, 2049, 2050),
		"the longest time":      histogram(int64(record.HighestTime)),
		"a thousand operations": responses(1000),
		"a trillion":            many,
		"every bucket":          every,
	}
}

func TestHistogramsAreThoseOfTheLibrary(t *testing.T) {
	encoder, decoder := newEncoder(), newDecoder()
	for name, h := range histograms() {
		t.Run(name, func(t *testing.T) {
			encoder.load(h)
			ours := encoder.append(nil)
			theirs, err := hdrhistogram.Decode(ours)
			if err != nil || !theirs.Equals(h) {
				t.Errorf("the library reads another histogram than was written: %v", err)
			}
			if encoder.highest() != h.Max() {
				t.Errorf("highest = %d, want %d", encoder.highest(), h.Max())
			}
			text, err := h.EncodeV2()
			if err != nil {
				t.Fatal(err)
			}
			for writer, text := range map[string][]byte{"us": ours, "the library": text} {
				again := record.NewHistogram()
				if err := decoder.decode(text); err != nil {
					t.Errorf("what %s wrote: %v", writer, err)
				} else if err := decoder.addTo(again); err != nil || !again.Equals(h) {
					t.Errorf("what %s wrote is read as another histogram: %v", writer, err)
				}
			}
			if len(ours) > longestLine/2 {
				t.Errorf("%d bytes are more than a line may have", len(ours))
			}
		})
	}
}

// envelope makes the text of a histogram of whatever plain bytes.
func envelope(plain []byte) []byte {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(plain)
	_ = z.Close()
	head := binary.BigEndian.AppendUint32(nil, packedCookie)
	head = binary.BigEndian.AppendUint32(head, uint32(packed.Len()))
	return base64.StdEncoding.AppendEncode(nil, append(head, packed.Bytes()...))
}

// counts makes the text of a histogram of whatever counts.
func counts(list ...int64) []byte {
	var payload []byte
	for _, n := range list {
		payload = binary.AppendVarint(payload, n)
	}
	return envelope(append(appendHeader(nil, len(payload)), payload...))
}

func TestAHostileHistogramIsRefusedWithoutMuchMemory(t *testing.T) {
	wide := appendHeader(nil, 0)
	binary.BigEndian.PutUint32(wide[12:], 5)
	binary.BigEndian.PutUint64(wide[24:], math.MaxInt64)
	good := counts(1)
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"nothing":                {nil, "not a compressed"},
		"not base64":             {[]byte("***"), "not base64"},
		"another format":         {[]byte(base64.StdEncoding.EncodeToString(make([]byte, 100))), "not a compressed"},
		"half of it":             {good[:len(good)/8*4], "not as long"},
		"not compressed":         {base64.StdEncoding.AppendEncode(nil, binary.BigEndian.AppendUint64(nil, packedCookie<<32)), "cannot be decompressed"},
		"no header":              {envelope([]byte("short")), "header"},
		"a wide range":           {envelope(wide), "header"},
		"a bomb":                 {envelope(make([]byte, 1<<24)), "too long"},
		"a length that is wrong": {envelope(append(appendHeader(nil, 9), 2)), "header"},
		"a count cut short":      {envelope(append(appendHeader(nil, 1), 0x80)), "cut short"},
		"a count of 70 bits":     {envelope(append(appendHeader(nil, 10), bytes.Repeat([]byte{0xff}, 10)...)), "too large"},
		"a skip past the end":    {counts(math.MinInt64), "skips more"},
		"skips past the end":     {counts(-int64(bucketCount()), 1), "too many buckets"},
	} {
		t.Run(name, func(t *testing.T) {
			decoder := newDecoder()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := decoder.decode(c.text)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want one with %q", err, c.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
				t.Errorf("it took %d bytes of memory", used)
			}
		})
	}
	t.Run("more than can be counted", func(t *testing.T) {
		decoder := newDecoder()
		if err := decoder.decode(counts(math.MaxInt64, math.MaxInt64)); err != nil {
			t.Fatal(err)
		}
		if err := decoder.addTo(record.NewHistogram()); err == nil {
			t.Error("the sum was wrong without an error")
		}
	})
}

func TestADecoderRecoversFromAHostileHistogram(t *testing.T) {
	decoder := newDecoder()
	_ = decoder.decode(envelope(make([]byte, 1<<20)))
	want := responses(100)
	text, _ := want.EncodeV2()
	got := record.NewHistogram()
	if err := decoder.decode(text); err != nil {
		t.Fatal(err)
	}
	if err := decoder.addTo(got); err != nil || !got.Equals(want) {
		t.Errorf("the next histogram is read wrong: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, h := range []*hdrhistogram.Histogram{histogram(0), histogram(1, 2, 4, 2048, 5e9), responses(50)} {
		text, _ := h.EncodeV2()
		packed, _ := base64.StdEncoding.DecodeString(string(text))
		z, _ := zlib.NewReader(bytes.NewReader(packed[envelopeSize:]))
		var plain bytes.Buffer
		_, _ = plain.ReadFrom(z)
		f.Add(text, plain.Bytes()[headerSize:])
	}
	f.Fuzz(func(t *testing.T, text, payload []byte) {
		if len(payload) > 1<<16 {
			return
		}
		decoder := newDecoder()
		for _, text := range [][]byte{text, envelope(append(appendHeader(nil, len(payload)), payload...))} {
			got := record.NewHistogram()
			if decoder.decode(text) != nil || decoder.addTo(got) != nil {
				continue
			}
			// Skips that end beyond the last bucket, with no count after them, are an error there and none here.
			if want, err := hdrhistogram.Decode(text); err == nil && !got.Equals(want) {
				t.Errorf("%s is read as another histogram than the library's", text)
			}
		}
	})
}

func BenchmarkHistogram(b *testing.B) {
	h := responses(1000)
	text, _ := h.EncodeV2()
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		encoder := newEncoder()
		var line []byte
		for b.Loop() {
			encoder.load(h)
			line = encoder.append(line[:0])
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		decoder, into := newDecoder(), record.NewHistogram()
		for b.Loop() {
			if err := decoder.decode(text); err != nil {
				b.Fatal(err)
			}
			if err := decoder.addTo(into); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWriteInterval(b *testing.B) {
	results, err := Create(b.TempDir(), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	w, err := results.CreateRun(RunInfo{Index: 1, Name: "bench", Started: time.Now()})
	if err != nil {
		b.Fatal(err)
	}
	h := responses(1000)
	i := record.Interval{Phase: "gets", Op: "get", Timing: record.Open, Count: 1000, Service: h, Response: h, Lag: h}
	b.ReportAllocs()
	for b.Loop() {
		if err := w.WriteInterval(i); err != nil {
			b.Fatal(err)
		}
	}
}
