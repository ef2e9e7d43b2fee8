package protoscan

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"plimsoll.dev/plimsoll/internal/jsonscan"
)

// newEvents gives a scanner of the same events in JSON.
func newEvents() *jsonscan.EventScanner {
	return &jsonscan.EventScanner{EventShape: jsonscan.KubernetesEvent}
}

// serializer is the one that client-go decodes answers with.
func serializer(t testing.TB) *protobuf.Serializer {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return protobuf.NewSerializer(scheme, scheme)
}

// anyText is a text full of what may confuse a scanner.
func anyText(random *rand.Rand) string {
	pieces := []string{"name", "namespace", "metadata", "object", "type", "annotations", jsonscan.InitialEventsEnd, "true", `"`, `\`, `{`, `}`, "\n", "日本", "k8s\x00", ":", ","}
	text := ""
	for range random.IntN(5) {
		text += pieces[random.IntN(len(pieces))]
	}
	return text
}

func anyObject(random *rand.Rand) metav1.PartialObjectMetadata {
	o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: anyText(random), Namespace: anyText(random), ResourceVersion: anyText(random), UID: "uid", Generation: random.Int64(),
		Labels: map[string]string{anyText(random): anyText(random)}, Annotations: map[string]string{anyText(random): anyText(random)},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: anyText(random), FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:name":{}}}`)}},
		Finalizers:    []string{anyText(random), "name"},
	}}
	o.Kind, o.APIVersion = "PartialObjectMetadata", "meta.k8s.io/v1"
	if random.IntN(3) == 0 {
		o.Annotations[jsonscan.InitialEventsEnd] = []string{"true", "false"}[random.IntN(2)]
	}
	return o
}

func anyList(random *rand.Rand) *metav1.PartialObjectMetadataList {
	l := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: anyText(random), Continue: anyText(random)}}
	l.Kind, l.APIVersion = "PartialObjectMetadataList", "meta.k8s.io/v1"
	if random.IntN(2) == 0 {
		remaining := random.Int64()
		l.RemainingItemCount = &remaining
	}
	for range random.IntN(5) {
		l.Items = append(l.Items, anyObject(random))
	}
	return l
}

func encode(t testing.TB, s *protobuf.Serializer, o runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Encode(o, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestProtobufListAgreesWithItsDecoder(t *testing.T) {
	random, s := rand.New(rand.NewPCG(1, 2)), serializer(t)
	for range 2000 {
		l := anyList(random)
		b := encode(t, s, l)
		checkProtobufList(t, s, b)
		want := jsonscan.List{Items: int64(len(l.Items)), Token: l.Continue, Version: l.ResourceVersion}
		if got, n, err := ReadList(bytes.NewReader(b), bufio.NewReaderSize(nil, 16)); err != nil || got != want || n != int64(len(b)) {
			t.Fatalf("found %+v in %d bytes, %v; want %+v in %d", got, n, err, want, len(b))
		}
	}
}

func TestTornProtobufListIsAnError(t *testing.T) {
	s := serializer(t)
	l := anyList(rand.New(rand.NewPCG(3, 4)))
	l.Items = append(l.Items, metav1.PartialObjectMetadata{})
	whole := encode(t, s, l)
	// Behind raw there are two empty fields; without them nothing is missing.
	for end := range len(whole) - 4 {
		found, _, err := ReadList(bytes.NewReader(whole[:end]), bufio.NewReaderSize(nil, 16))
		if err != nil && !errors.Is(err, jsonscan.ErrList) {
			t.Errorf("cut after %d of %d bytes: %v", end, len(whole), err)
		}
		if err == nil && end > 4 {
			if _, _, err := s.Decode(whole[:end], nil, new(metav1.PartialObjectMetadataList)); err == nil {
				continue // a decoder has no more to say than we
			}
			t.Errorf("cut after %d of %d bytes: %+v, no error", end, len(whole), found)
		}
	}
}

func FuzzProtobufList(f *testing.F) {
	s := serializer(f)
	f.Add(encode(f, s, anyList(rand.New(rand.NewPCG(1, 2)))))
	f.Add([]byte("k8s\x00\x12\x02\x12\x00"))
	f.Fuzz(func(t *testing.T, b []byte) { checkProtobufList(t, s, b) })
}

// checkProtobufList scans b: where client-go's decoder finds a list, we find
// the same, but for groups, which Kubernetes has none of.
func checkProtobufList(t *testing.T, s *protobuf.Serializer, b []byte) {
	t.Helper()
	got, n, err := ReadList(bytes.NewReader(b), bufio.NewReaderSize(nil, 16))
	if n > int64(len(b)) || err == nil && n != int64(len(b)) {
		t.Fatalf("read %d of %d bytes, %v", n, len(b), err)
	}
	var want metav1.PartialObjectMetadataList
	if _, kind, decodeErr := s.Decode(b, nil, &want); decodeErr != nil || kind.Kind != "PartialObjectMetadataList" || err != nil {
		return
	}
	if got.Items != int64(len(want.Items)) || got.Token != want.Continue || got.Version != want.ResourceVersion {
		t.Fatalf("%q: found %+v; the decoder finds %d items, %+v", b, got, len(want.Items), want.ListMeta)
	}
}

// anyEvents gives events, as JSON and as protobuf.
func anyEvents(t *testing.T, random *rand.Rand, s *protobuf.Serializer) (want []jsonscan.Event, inJSON, inProtobuf []byte) {
	for range random.IntN(5) {
		o := anyObject(random)
		kind := []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}[random.IntN(4)]
		want = append(want, jsonscan.Event{Kind: kind, Name: o.Name, Namespace: o.Namespace, Version: o.ResourceVersion, InitialEnd: o.Annotations[jsonscan.InitialEventsEnd] == "true"})
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		inJSON = fmt.Appendf(inJSON, "{\"type\":%q,\"object\":%s}\n", kind, text)
		frame, err := (&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: encode(t, s, &o)}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		inProtobuf = append(binary.BigEndian.AppendUint32(inProtobuf, uint32(len(frame))), frame...)
	}
	return want, inJSON, inProtobuf
}

func TestEventsAgreeWithTheirEncoder(t *testing.T) {
	random, s := rand.New(rand.NewPCG(1, 2)), serializer(t)
	for range 3000 {
		want, inJSON, inProtobuf := anyEvents(t, random, s)
		var got []jsonscan.Event
		take := func(e jsonscan.Event) bool {
			got = append(got, e)
			return true
		}
		n, err := newEvents().Read(bytes.NewReader(inJSON), make([]byte, 1+random.IntN(60)), take)
		if err != nil || n != int64(len(inJSON)) || !slices.Equal(got, want) {
			t.Fatalf("%s: %+v, %v; want %+v", inJSON, got, err, want)
		}
		got = nil
		n, err = ReadEvents(bytes.NewReader(inProtobuf), bufio.NewReaderSize(nil, 16), take)
		if err != nil || n != int64(len(inProtobuf)) || !slices.Equal(got, want) {
			t.Fatalf("%q: %+v, %v; want %+v", inProtobuf, got, err, want)
		}
	}
}

// FuzzEvents has any bytes read: whole and byte by byte they give the same.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"name":"a\"b","annotations":{"k8s.io/initial-events-end":"true"}}}}`))
	f.Add([]byte(`[}{"type":"ERROR","object":{"reason":"Expired"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		read := func(size int) (all []jsonscan.Event, err error) {
			_, err = newEvents().Read(bytes.NewReader(b), make([]byte, size), func(e jsonscan.Event) bool {
				all = append(all, e)
				return true
			})
			return all, err
		}
		whole, errWhole := read(len(b) + 1)
		pieces, errPieces := read(1)
		if !slices.Equal(whole, pieces) || (errWhole == nil) != (errPieces == nil) {
			t.Fatalf("%q: %+v, %v; byte by byte %+v, %v", b, whole, errWhole, pieces, errPieces)
		}
		_, _ = ReadEvents(bytes.NewReader(b), bufio.NewReaderSize(nil, 16), func(jsonscan.Event) bool { return true })
	})
}

func BenchmarkProtobufList(b *testing.B) {
	l := new(metav1.PartialObjectMetadataList)
	l.Kind, l.APIVersion = "PartialObjectMetadataList", "meta.k8s.io/v1"
	for range 100 {
		o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "plimsoll-000000", Annotations: map[string]string{"data": strings.Repeat("YWFh", 3414)}}}
		l.Items = append(l.Items, o)
	}
	body, buffer := encode(b, serializer(b), l), bufio.NewReaderSize(nil, 64<<10)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if found, _, err := ReadList(bytes.NewReader(body), buffer); err != nil || found.Items != 100 {
			b.Fatal(found, err)
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	body := []byte(strings.Repeat(`{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"name":"plimsoll-000000","namespace":"space","resourceVersion":"42"},"data":{"data":"`+strings.Repeat("YWFh", 3414)+"\"}}}\n", 100))
	buffer := make([]byte, 64<<10)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newEvents().Read(bytes.NewReader(body), buffer, func(jsonscan.Event) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}
