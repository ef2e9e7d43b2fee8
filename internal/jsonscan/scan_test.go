package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func newScanner() *ListScanner { return &ListScanner{Shape: Kubernetes} }

const bufferSize = 64 << 10

func TestScan(t *testing.T) {
	for _, row := range []struct {
		name, body string
		want       List
	}{
		{"a page in the order of the API server", `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"42","continue":"abc","remainingItemCount":7},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`, List{2, "abc", "42"}},
		{"items before metadata", `{"items":[{},{},{}],"metadata":{"continue":"c"}}`, List{3, "c", ""}},
		{"the last page", `{"metadata":{"resourceVersion":"1"},"items":[{}]}`, List{1, "", "1"}},
		{"no items", `{"metadata":{"resourceVersion":"9"},"items":[]}`, List{0, "", "9"}},
		{"items null, as Go servers write it", `{"metadata":{},"items":null}`, List{}},
		{"no metadata", `{"items":[{}]}`, List{1, "", ""}},
		{"items with metadata, items and continue of their own", `{"items":[{"metadata":{"continue":"no","resourceVersion":"no"},"items":[{},{}],"data":{"items":"[{}]"}}],"metadata":{"continue":"yes"}}`, List{1, "yes", ""}},
		{"metadata with objects of its own", `{"metadata":{"labels":{"continue":"no"},"owners":[{"continue":"no"}],"continue":"yes"},"items":[]}`, List{0, "yes", ""}},
		{"values that look like keys", `{"kind":"items","note":"metadata","metadata":{"name":"continue","continue":"t"},"items":[{}]}`, List{1, "t", ""}},
		{"braces, quotes and backslashes in payloads", `{"items":[{"data":{"a":"}]}\\","b":"{\"items\":[{}]","c":"\\\\\""}},{}],"metadata":{"continue":"\\\"}"}}`, List{2, `\"}`, ""}},
		{"escapes in keys and tokens", `{"\u0069tems":[{}],"metad\u0061ta":{"continu\u0065":"\u00e9\ud83d\ude00\/"}}`, List{1, "é😀/", ""}},
		{"unicode", `{"items":[{"data":"日本\"語"}],"metadata":{"continue":"日本"}}`, List{1, "日本", ""}},
		{"white space everywhere", "\n { \"items\" : [ { } , { } ] , \"metadata\" : { \"continue\" : \"x\" } } \r\n", List{2, "x", ""}},
		{"keys twice: the last counts", `{"metadata":{"continue":"a","resourceVersion":"1"},"items":[{},{}],"metadata":{"continue":"b"},"items":[{}]}`, List{1, "b", ""}},
		{"a continue that is no string", `{"metadata":{"continue":null,"resourceVersion":5},"items":[]}`, List{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for size := 1; size <= len(row.body)+1; size++ { // a boundary between any two bytes
				s := newScanner()
				n, err := s.Read(strings.NewReader(row.body), make([]byte, size))
				if err != nil || n != int64(len(row.body)) || s.Found() != row.want {
					t.Fatalf("in chunks of %d: %+v after %d bytes, %v; want %+v", size, s.Found(), n, err, row.want)
				}
			}
		})
	}
}

func TestScanOfSomethingElse(t *testing.T) {
	for _, row := range []struct{ name, body string }{
		{"nothing", ""},
		{"white space", " \n"},
		{"a page of HTML with status 200", "<html><body>log in</body></html>"},
		{"a string", `"items"`},
		{"a number", "7"},
		{"null", "null"},
		{"an array", `["items",[{}]]`},
		{"an object without items", `{"kind":"Status","metadata":{}}`},
		{"items further down only", `{"spec":{"items":[]}}`},
		{"two lists", `{"items":[]}{"items":[]}`},
		{"an object that ends before it begins", `}{"items":[]`},
		{"a token too long to keep", `{"items":[],"metadata":{"continue":"` + strings.Repeat("x", MaxText) + `"}}`},
		{"a token with a broken escape", `{"items":[],"metadata":{"continue":"\x"}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newScanner()
			if _, err := s.Read(strings.NewReader(row.body), make([]byte, 16)); !errors.Is(err, ErrList) {
				t.Errorf("found %+v, %v; want %v", s.Found(), err, ErrList)
			}
		})
	}
}

func TestScanOfATruncatedBodyIsAnError(t *testing.T) {
	const body = `{"metadata":{"continue":"a\"b","resourceVersion":"1"},"items":[{"data":{"a":"\\"}},{}]}`
	for end := range len(body) {
		s := newScanner()
		if _, err := s.Read(strings.NewReader(body[:end]), make([]byte, 7)); !errors.Is(err, ErrList) {
			t.Errorf("cut after %q: %v; want %v", body[:end], err, ErrList)
		}
	}
	broken := errors.New("broken")
	n, err := newScanner().Read(io.MultiReader(strings.NewReader(body[:20]), iotest.ErrReader(broken)), make([]byte, 8))
	if n != 20 || !errors.Is(err, broken) {
		t.Errorf("a body that breaks off after 20 bytes: %d bytes, %v; want its own error", n, err)
	}
}

// TestScanAgreesWithDecoder compares random documents, in random chunks, with encoding/json.
func TestScanAgreesWithDecoder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		g := generator{random: random}
		g.document()
		checkAgreement(t, g.Bytes(), random)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"metadata":{"continue":"a\"b","resourceVersion":"1"},"items":[{"data":{"a":"\\"}},{}]}`))
	f.Add([]byte(`{"items":[],"items":[[]],"metadata":5}`))
	f.Add([]byte(`}}{"items":["\`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) < MaxText { // or a key alone may be too long to keep
			checkAgreement(t, body, rand.New(rand.NewPCG(0, uint64(len(body)))))
		}
	})
}

// checkAgreement scans body in random chunks: where encoding/json finds a list, the scanner finds the same.
func checkAgreement(t *testing.T, body []byte, random *rand.Rand) {
	t.Helper()
	s := newScanner()
	n, err := s.Read(bytes.NewReader(body), make([]byte, 1+random.IntN(40)))
	want, ok := decoded(body)
	switch {
	case n != int64(len(body)):
		t.Fatalf("read %d of %d bytes of %q", n, len(body), body)
	case ok && err != nil:
		t.Fatalf("%q: %v; encoding/json finds %+v", body, err, want)
	case ok && s.Found() != want:
		t.Fatalf("%q: found %+v; encoding/json finds %+v", body, s.Found(), want)
	case json.Valid(body) && !ok && err == nil:
		t.Fatalf("%q: found %+v; encoding/json finds no list", body, s.Found())
	}
}

// decoded is what encoding/json makes of a list.
func decoded(body []byte) (found List, ok bool) {
	var outermost, metadata map[string]json.RawMessage
	if json.Unmarshal(body, &outermost) != nil {
		return List{}, false
	}
	raw, ok := outermost["items"]
	if !ok {
		return List{}, false
	}
	var items []json.RawMessage
	_ = json.Unmarshal(raw, &items) // what is no array has no items
	for _, item := range items {
		if item[0] == '{' || item[0] == '[' {
			found.Items++
		}
	}
	if json.Unmarshal(outermost["metadata"], &metadata) == nil {
		_ = json.Unmarshal(metadata["continue"], &found.Token) // what is no string is no token
		_ = json.Unmarshal(metadata["resourceVersion"], &found.Version)
	}
	return found, true
}

// generator writes random JSON that is full of the names that the scanner looks for.
type generator struct {
	bytes.Buffer
	random *rand.Rand
}

func (g *generator) document() {
	if g.random.IntN(20) == 0 {
		g.value(0)
		return
	}
	g.object(0)
}

func (g *generator) value(depth int) {
	g.space()
	kind := g.random.IntN(8)
	if depth > 5 {
		kind = 4 + g.random.IntN(4)
	}
	switch kind {
	case 0, 1:
		g.object(depth)
	case 2, 3:
		g.WriteByte('[')
		for i := range g.random.IntN(4) {
			g.comma(i)
			g.value(depth + 1)
		}
		g.WriteByte(']')
	case 4:
		fmt.Fprint(g, g.pick("0", "-1.5e+3", "true", "false", "null"))
	default:
		g.text()
	}
	g.space()
}

func (g *generator) object(depth int) {
	g.WriteByte('{')
	for i := range g.random.IntN(5) {
		g.comma(i)
		g.space()
		if g.random.IntN(4) > 0 {
			g.quoted(g.pick("items", "metadata", "continue", "resourceVersion"))
		} else {
			g.text()
		}
		g.space()
		g.WriteByte(':')
		g.value(depth + 1)
	}
	g.WriteByte('}')
}

func (g *generator) text() {
	var text strings.Builder
	for range g.random.IntN(6) {
		text.WriteString(g.pick("items", "metadata", "continue", "{", "}", "[", "]", ",", ":", `"`, `\`, `\"`, `\\`, "\n", "é", "😀", "\u2028", "a"))
	}
	g.quoted(text.String())
}

// quoted writes a string in one of the many ways that JSON has for it.
func (g *generator) quoted(text string) {
	g.WriteByte('"')
	for _, r := range text {
		switch {
		case r < 0x10000 && g.random.IntN(4) == 0:
			fmt.Fprintf(g, `\u%04x`, r)
		case r == '"' || r == '\\':
			g.WriteByte('\\')
			g.WriteRune(r)
		case r == '\n':
			g.WriteString(`\n`)
		default:
			g.WriteRune(r)
		}
	}
	g.WriteByte('"')
}

func (g *generator) comma(i int) {
	if i > 0 {
		g.WriteByte(',')
	}
}

func (g *generator) space() { g.WriteString(g.pick("", "", "", " ", "\n\t")) }

func (g *generator) pick(choices ...string) string { return choices[g.random.IntN(len(choices))] }

func BenchmarkScan(b *testing.B) {
	for _, row := range []struct{ name, payload string }{
		{"10KiB of base64", strings.Repeat("YWFh", 13656/4)},
		{"10KiB of YAML in JSON", strings.Repeat(`  key: \"value\"\n`, 13656/17)},
		{"4 bytes", "YWFhYQ=="},
	} {
		b.Run(row.name, func(b *testing.B) {
			body := pageOf(100, row.payload)
			buffer := make([]byte, bufferSize)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				s := newScanner()
				if _, err := s.Read(bytes.NewReader(body), buffer); err != nil || s.Found().Items != 100 {
					b.Fatal(s.Found().Items, err)
				}
			}
		})
	}
}

// pageOf gives a page as an API server writes it.
func pageOf(items int, payload string) []byte {
	var page bytes.Buffer
	page.WriteString(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"2104","continue":"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjEwNCwic3RhcnQiOiJwbGltc29sbC0wMDAwOTlcdTAwMDAifQ","remainingItemCount":1900},"items":[`)
	for i := range items {
		if i > 0 {
			page.WriteByte(',')
		}
		fmt.Fprintf(&page, `{"metadata":{"name":"plimsoll-%06d","namespace":"quickstart","uid":"0b1a4c62-7d5e-4f0e-9d5b-2f6f0b7a%04d","resourceVersion":"%d","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"plimsoll.dev/run":"20260101-000000-1"},"managedFields":[{"manager":"plimsoll","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:data":{}},"f:metadata":{"f:labels":{".":{},"f:plimsoll.dev/run":{}}}}}]},"data":{"data":"%s"}}`, i, i, i, payload)
	}
	page.WriteString(`]}`)
	return page.Bytes()
}

func TestReadVersion(t *testing.T) {
	for body, want := range map[string]string{
		`{"kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"42"},"data":{"resourceVersion":"1"}}`: "42",
		`{"metadata":{"labels":{"resourceVersion":"1"}}}`:                                                    "",
		"gone": "", "": "", `{"metadata":{"resourceVersion":"42"}`: "",
	} {
		got, n, err := ReadVersion(strings.NewReader(body))
		if got != want || n != int64(len(body)) || err != nil {
			t.Errorf("%s: version %q after %d bytes, %v; want %q", body, got, n, err, want)
		}
	}
}
