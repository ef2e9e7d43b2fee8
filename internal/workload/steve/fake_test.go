package steve

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/client-go/rest"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/workload"
)

// token is what every request must come with, those of watches too.
const token = "geheim"

// requestTimeout is what no request takes.
const requestTimeout = 30 * time.Second

// eventually waits for what the other side of a connection sees.
func eventually(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !isSo(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}

// fake answers as Steve v0.10.2 was seen to do.
type fake struct {
	server  *httptest.Server
	objects []string         // NAMESPACE/NAME
	cached  bool             // with the SQL cache
	answer  http.HandlerFunc // in place of lists, unless nil
	speak   func(*websocket.Conn, string)

	mu       sync.Mutex
	requests []string
}

func serve(t *testing.T, f *fake) *fake {
	t.Helper()
	f.server = httptest.NewUnstartedServer(f)
	f.server.EnableHTTP2 = true
	f.server.StartTLS()
	t.Cleanup(f.server.Close)
	return f
}

func (f *fake) Steve() (*rest.Config, error) {
	return &rest.Config{Host: f.server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, BearerToken: token}, nil
}

func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+token {
		http.Error(w, "who is that?", http.StatusUnauthorized)
		return
	}
	if r.URL.Path == proof {
		return
	}
	f.mu.Lock()
	f.requests = append(f.requests, r.URL.String())
	f.mu.Unlock()
	switch {
	case r.URL.Path == subscribed:
		f.subscribe(w, r)
	case f.answer != nil:
		f.answer(w, r)
	default:
		f.list(w, r)
	}
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	number := func(key string) int { n, _ := strconv.Atoi(q.Get(key)); return n }
	from, size := 0, len(f.objects)
	more := ""
	switch {
	case q.Has("pagesize"):
		size = number("pagesize")
		from = size * (number("page") - 1)
		if to := from + size; f.cached && to < len(f.objects) {
			more = fmt.Sprintf(`"continue":"%d",`, to)
		}
	case !f.cached:
		size = number("limit")
		from, _ = strconv.Atoi(strings.TrimPrefix(q.Get("continue"), "a+b="))
		if to := from + size; to < len(f.objects) {
			more = fmt.Sprintf(`"continue":"a+b=%d",`, to)
		}
	}
	from = min(from, len(f.objects))
	var items []string
	for _, id := range f.objects[from:min(from+size, len(f.objects))] {
		namespace, name, _ := strings.Cut(id, "/")
		twice := ""
		if f.cached {
			twice = `"_id":"` + id + `","id":"` + id + `",`
		}
		items = append(items, fmt.Sprintf(`{"id":%q,"type":"configmap",%s"data":{"metadata":"{\"name\":\"no\"}"},"metadata":{"labels":{"name":"no"},"name":%q,"namespace":%q,"relationships":null}}`, id, twice, name, namespace))
	}
	fmt.Fprintf(w, "{\"type\":\"collection\",\"links\":{\"self\":\"x\"},\"actions\":{},\"pagination\":{\"continue\":\"no\"},\"revision\":\"7\",%s\"count\":%d,\"data\":[%s]}\n", more, len(f.objects), strings.Join(items, ","))
}

func (f *fake) subscribe(w http.ResponseWriter, r *http.Request) {
	conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	if _, message, err := conn.ReadMessage(); err == nil {
		f.speak(conn, string(message))
	}
}

// names gives those that a fill gives its objects.
func names(namespace string, indices ...int) []string {
	var all []string
	for _, i := range indices {
		all = append(all, fmt.Sprintf("%s/plimsoll-%06d", namespace, i))
	}
	return all
}

func first(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

// client gives a client of the fake.
func (f *fake) client(t *testing.T, o Options) workload.Client {
	t.Helper()
	o.Steve, o.Connections, o.Phase = f, 1, "phase"
	if o.Timeout == 0 {
		o.Timeout = requestTimeout
	}
	return dial(t, o, 1)[0]
}

func dial(t *testing.T, o Options, clients int) (all []workload.Client) {
	t.Helper()
	w := New(o)
	if err := w.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for i := range clients {
		c, err := w.Dial(t.Context(), i, rand.New(rand.NewPCG(1, uint64(i))))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// part is a part of an operation as the timer saw it.
type part struct {
	kind string
	took time.Duration
	workload.Result
}

// parts is a timer that takes notes, but for first bytes, which all walks have.
type parts struct {
	mu  sync.Mutex
	all []part
}

func (p *parts) Part(ctx context.Context, kind string, do func(context.Context) workload.Result) workload.Result {
	begun := time.Now()
	result := do(ctx)
	p.Took(kind, time.Since(begun), result)
	return result
}

func (p *parts) Took(kind string, took time.Duration, result workload.Result) {
	if kind == "first-byte" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, part{kind, took, result})
}

func (p *parts) of(kind string) (all []part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.all {
		if one.kind == kind {
			all = append(all, one)
		}
	}
	return all
}

func perform(t *testing.T, c workload.Client) (workload.Result, *parts) {
	t.Helper()
	op, ok := c.Next()
	if !ok {
		t.Fatal("there is no operation")
	}
	timed := new(parts)
	return op.Do(t.Context(), timed), timed
}

func list(l v1.SteveList) v1.SteveWorkload {
	l.Resource = v1.ConfigMaps
	return v1.SteveWorkload{List: &l}
}
