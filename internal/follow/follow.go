// Package follow keeps track of the objects of a resource: the state of each,
// by one list and one watch, over a connection of its own and as admin, so that
// it shares no limit with load and is never rejected with it. It keeps a key and
// a byte of each object, and reads protobuf, of which a server that has other
// watchers makes no copy for us; where no state is asked for, metadata alone.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/jsonscan"
	"plimsoll.dev/plimsoll/internal/protoscan"
	"plimsoll.dev/plimsoll/internal/target"
	"plimsoll.dev/plimsoll/internal/workload"
	"plimsoll.dev/plimsoll/internal/workload/httpconn"
)

const (
	// UserAgent is what followers call themselves.
	UserAgent = "plimsoll/follow"

	pageSize    = 1000
	pageTimeout = time.Minute
	// Again after a failure: at once, then later and later.
	leastPause, mostPause = 100 * time.Millisecond, 5 * time.Second
	// bufferSize is how much of a body is read at once.
	bufferSize = 32 << 10

	metadataType = protoscan.MediaType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	listType     = protoscan.MediaType + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Change is one of an object's state.
type Change struct {
	Namespace, Name string
	From, To        State
	At              time.Time // of receipt
}

// Listener is told of changes. It is called with the follower locked, so it is
// quick and asks the follower nothing.
type Listener func(Change)

// Follower follows the objects of one resource, in all namespaces.
type Follower struct {
	resource   v1.Resource
	path       string
	connection *httpconn.Connection
	close      func() error
	failed     func(error)

	mu        sync.Mutex
	objects   map[string]State
	counts    [states]int
	current   bool // what is known is what there is
	listeners []*Listener
}

// New gives a follower that Run sets going. failed is told when the server is
// lost, once each time; it is found again by itself.
func New(ctx context.Context, api target.KubeAPI, resource v1.Resource, failed func(error)) (*Follower, error) {
	info, ok := resource.Info()
	if !ok {
		return nil, fmt.Errorf("follow %s: no such resource", resource)
	}
	connections, err := httpconn.ConnectAPI(ctx, api, target.Admin, httpconn.Options{Connections: 1, UserAgent: UserAgent})
	if err != nil {
		return nil, fmt.Errorf("follow %s: %w", resource, err)
	}
	return &Follower{
		resource: resource, path: info.Collection(""), connection: connections[0], close: connections.Close, failed: failed,
		objects: map[string]State{},
	}, nil
}

// Run follows until ctx is done.
func (f *Follower) Run(ctx context.Context) {
	defer f.close()
	for pause := leastPause; ctx.Err() == nil; pause = min(2*pause, mostPause) {
		began := time.Now()
		err := f.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		f.lost()
		if time.Since(began) > mostPause {
			pause = leastPause
		}
		if err != nil && pause == leastPause {
			f.failed(fmt.Errorf("follow %s: %w", f.resource, err))
		}
		workload.Sleep(ctx, pause)
	}
}

// Listen has a listener told of every object that there is, as a change from
// Gone, and then of every change, until the function it returns is called.
func (f *Follower) Listen(l Listener) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	for key, state := range f.objects {
		namespace, name := split(key)
		l(Change{namespace, name, Gone, state, now})
	}
	f.listeners = append(f.listeners, &l)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.listeners = slices.DeleteFunc(f.listeners, func(one *Listener) bool { return one == &l })
	}
}

// Counts are how many objects are in each state; false says that the server is
// lost at the moment, or not yet found.
func (f *Follower) Counts() (map[State]int, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := map[State]int{}
	for _, state := range StatesOf(f.resource) {
		counts[state] = f.counts[state]
	}
	return counts, f.current
}

// Current says whether what is known is what there is.
func (f *Follower) Current() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current
}

// Each calls take with the objects that there are, in no order, until it returns
// false. Like a listener, take asks the follower nothing.
func (f *Follower) Each(take func(namespace, name string, state State) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, state := range f.objects {
		namespace, name := split(key)
		if !take(namespace, name, state) {
			return
		}
	}
}

// State is that of an object, by namespace/name, or its name if it is in no namespace.
func (f *Follower) State(key string) State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.objects[key]
}

// split gives the namespace, if there is one, and the name in a key.
func split(key string) (namespace, name string) {
	namespace, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		return "", key
	}
	return namespace, name
}

func (f *Follower) lost() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current = false
}

// follow lists, and then watches from there until the watch ends. A watch that
// the server ends in order goes on from where it was, unless it was a short one.
func (f *Follower) follow(ctx context.Context) error {
	version, err := f.list(ctx)
	for lasted := mostPause; err == nil && lasted >= mostPause; {
		began := time.Now()
		version, err = f.watch(ctx, version)
		lasted = time.Since(began)
	}
	var status *statusError
	if errors.As(err, &status) && status.code == http.StatusGone {
		return nil // what we have is too old to go on from, which is nobody's fault
	}
	return err
}

// list reads all objects, page by page, and gives their version.
func (f *Follower) list(ctx context.Context) (version string, err error) {
	seen := map[string]struct{}{}
	for token := ""; ; {
		objects, page, err := f.page(ctx, token)
		if err != nil {
			return "", err
		}
		f.mu.Lock()
		now := time.Now()
		for _, o := range objects {
			seen[o.key()] = struct{}{}
			f.set(o.key(), o.state(f.resource), now)
		}
		f.mu.Unlock()
		if token = page.Token; token == "" {
			f.keep(seen)
			return page.Version, nil
		}
	}
}

// page asks for a page of the list.
func (f *Follower) page(ctx context.Context, token string) (objects []object, page jsonscan.List, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	query := url.Values{"limit": {fmt.Sprint(pageSize)}}
	if token != "" {
		query.Set("continue", token)
	}
	accept := protoscan.MediaType
	if ReadyState(f.resource) == Gone {
		accept = listType
	}
	body, err := f.get(ctx, query, accept)
	if err != nil {
		return nil, page, err
	}
	defer body.Close()
	return readPage(f.resource, body)
}

// keep ends a list: what was not on it is gone.
func (f *Follower) keep(seen map[string]struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	for key := range f.objects {
		if _, there := seen[key]; !there {
			f.set(key, Gone, now)
		}
	}
	f.current = true
}

// watch takes in events until the watch ends. Without an error, it ended in
// order, and may go on from the version that it gives.
func (f *Follower) watch(ctx context.Context, version string) (string, error) {
	accept := protoscan.MediaType
	if ReadyState(f.resource) == Gone {
		accept = metadataType
	}
	body, err := f.get(ctx, url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {version}}, accept)
	if err != nil {
		return version, err
	}
	defer body.Close()
	err = readEvents(f.resource, body, func(kind string, o object) {
		version = o.version
		f.take(kind, o, time.Now())
	})
	return version, err
}

func (f *Follower) take(kind string, o object, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch kind {
	case "BOOKMARK":
	case "DELETED":
		f.set(o.key(), Gone, now)
	default:
		f.set(o.key(), o.state(f.resource), now)
	}
}

// set gives an object its state; f.mu is held.
func (f *Follower) set(key string, to State, now time.Time) {
	from := f.objects[key]
	if from == to {
		return
	}
	f.counts[from]--
	f.counts[to]++
	if to == Gone {
		delete(f.objects, key)
	} else {
		f.objects[key] = to
	}
	namespace, name := split(key)
	for _, l := range f.listeners {
		(*l)(Change{namespace, name, from, to, now})
	}
}

// get asks for the collection.
func (f *Follower) get(ctx context.Context, query url.Values, accept string) (io.ReadCloser, error) {
	response, err := f.connection.Exchange(ctx, httpconn.Request{Method: http.MethodGet, Path: f.path + "?" + query.Encode(), Accept: accept})
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusGone {
		return nil, &statusError{"Expired", http.StatusGone}
	}
	return nil, fmt.Errorf("the server answers %s (%s)", response.Status, f.connection.Refusal(response).Reason)
}
