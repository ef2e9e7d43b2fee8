package etcd

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
	"plimsoll.dev/plimsoll/internal/record"
	"plimsoll.dev/plimsoll/internal/workload"
)

func TestEveryKindOnARealEtcd(t *testing.T) {
	s := startEtcd(t)
	const n = 50
	keys := v1.EtcdKeys{KeySpace: n}
	for _, row := range []struct {
		name string
		do   v1.EtcdWorkload
	}{
		{"put", v1.EtcdWorkload{Put: &keys}},
		{"put to the leader", v1.EtcdWorkload{Put: &v1.EtcdKeys{To: "leader", Order: "zipfian"}}},
		{"range", v1.EtcdWorkload{Range: &v1.EtcdRange{EtcdKeys: keys}}},
		{"serializable range", v1.EtcdWorkload{Range: &v1.EtcdRange{EtcdKeys: v1.EtcdKeys{KeySpace: 200, Order: "uniform"}, Serializable: true}}},
		{"txn", v1.EtcdWorkload{Txn: &v1.EtcdTxn{Puts: 3}}},
		{"delete", v1.EtcdWorkload{Delete: &v1.EtcdKeys{KeySpace: n, Order: "uniform"}}},
		{"lease", v1.EtcdWorkload{Lease: &v1.EtcdLease{}}},
		{"kubeCreate", v1.EtcdWorkload{KubeCreate: &v1.EtcdKeys{}}},
		{"kubeUpdate", v1.EtcdWorkload{KubeUpdate: &v1.EtcdUpdate{EtcdKeys: v1.EtcdKeys{KeySpace: 7}}}},
		{"kubeDelete", v1.EtcdWorkload{KubeDelete: &v1.EtcdKeys{}}},
		{"kubeList", v1.EtcdWorkload{KubeList: &v1.EtcdList{Keys: 101, PageSize: 25}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := options(s, scenario(row.do, n))
			o.Phase = strings.ReplaceAll(row.name, " ", "-")
			w := prepared(t, o)
			seen := newParts()
			results := perform(t, dialled(t, w, 0), n, seen)
			allFine(t, results, n)
			if row.do.KubeList != nil && (results[0].Items != 101 || len(seen.kinds["page"]) != 5*n) {
				t.Errorf("a walk gives %d items; there are %d pages", results[0].Items, len(seen.kinds["page"]))
			}
		})
	}
}

func TestKeysAreDeletedOnceByAllClientsTogether(t *testing.T) {
	s := startEtcd(t)
	w := prepared(t, options(s, scenario(v1.EtcdWorkload{KubeDelete: &v1.EtcdKeys{KeySpace: 10}}, 10)))
	one, other := dialled(t, w, 0), dialled(t, w, 1)
	allFine(t, perform(t, one, 6, newParts()), 6)
	allFine(t, perform(t, other, 6, newParts()), 4)
	if left := count(t, s, kubeRoot); left != 0 {
		t.Errorf("%d keys are left", left)
	}
}

// count counts the keys under a prefix.
func count(t *testing.T, s server, prefix string) int64 {
	t.Helper()
	c, err := dial(s.endpoint, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var response pb.RangeResponse
	key := []byte(prefix)
	if prefix == "" {
		key = []byte{0}
	}
	if err := c.call(t.Context(), rangeMethod, &pb.RangeRequest{Key: key, RangeEnd: end(prefix), CountOnly: true}, &response); err != nil {
		t.Fatal(err)
	}
	return response.Count
}

// Who got the requests is asked of the members themselves.
func TestOfThreeMembersTheLeaderOrAllAreSpokenTo(t *testing.T) {
	three := startCluster(t, 3)
	endpoints, _ := three.Etcd()
	leader, err := findLeader(t.Context(), endpoints, nil)
	if err != nil {
		t.Fatal(err)
	}
	const clients, each = 6, 5
	for _, row := range []struct {
		to   string
		want func(endpoint string) float64 // puts that the member gets from clients
	}{
		{"leader", func(endpoint string) float64 {
			if endpoint == leader {
				return clients * each
			}
			return 0
		}},
		{"any", func(string) float64 { return clients * each / 3 }},
	} {
		t.Run(row.to, func(t *testing.T) {
			o := options(three, scenario(v1.EtcdWorkload{Put: &v1.EtcdKeys{To: row.to}}, clients*each))
			o.Connections = clients
			w := prepared(t, o)
			before := map[string]float64{}
			for _, endpoint := range endpoints {
				before[endpoint] = putsOf(t, endpoint)
			}
			for i := range clients {
				allFine(t, perform(t, dialled(t, w, i), each, newParts()), each)
			}
			for _, endpoint := range endpoints {
				if got := putsOf(t, endpoint) - before[endpoint]; got != row.want(endpoint) {
					t.Errorf("%s, which leads: %v, got %v puts instead of %v", endpoint, endpoint == leader, got, row.want(endpoint))
				}
			}
		})
	}
}

func TestALeaderThatIsGoneIsSucceeded(t *testing.T) {
	three := startCluster(t, 3, "--heartbeat-interval=50", "--election-timeout=500")
	endpoints, _ := three.Etcd()
	leader, err := findLeader(t.Context(), endpoints, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(endpoints, leader)
	three[at].signal(t, "KILL")
	<-three[at].process.Exited()
	rest := slices.Delete(slices.Clone(three), at, at+1)
	left, _ := rest.Etcd()
	eventually(t, "another member leads", func() bool {
		next, err := findLeader(t.Context(), left, nil)
		if err == nil && next == leader {
			t.Errorf("%s leads, and is dead", next)
		}
		return err == nil
	})
	w := prepared(t, options(rest, scenario(v1.EtcdWorkload{Put: &v1.EtcdKeys{To: "leader"}}, 5)))
	allFine(t, perform(t, dialled(t, w, 0), 5, newParts()), 5)
}

// putsOf is how many puts a member has answered to clients, as it says itself.
func putsOf(t *testing.T, endpoint string) float64 {
	t.Helper()
	response, err := http.Get(endpoint + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), `grpc_server_handled_total{grpc_code="OK",grpc_method="Put",`) {
			_, value, _ := strings.Cut(lines.Text(), "} ")
			puts, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return puts
		}
	}
	return 0
}

func TestASharedServerGetsKeysUnderThePrefixOfTheRun(t *testing.T) {
	s := startEtcd(t)
	for _, o := range []v1.EtcdWorkload{{Put: &v1.EtcdKeys{}}, {KubeCreate: &v1.EtcdKeys{}}} {
		with := options(s, scenario(o, 5))
		with.Shared = true
		allFine(t, perform(t, dialled(t, prepared(t, with), 0), 5, newParts()), 5)
	}
	if ours, all := count(t, s, "/plimsoll/run/"), count(t, s, ""); ours != 10 || all != 10 {
		t.Errorf("%d of %d keys are under the prefix", ours, all)
	}
}

func TestCreateMeetsAKeyThatIsThere(t *testing.T) {
	s := startEtcd(t)
	w := prepared(t, options(s, scenario(v1.EtcdWorkload{KubeCreate: &v1.EtcdKeys{KeySpace: 1}}, 2)))
	results := perform(t, dialled(t, w, 0), 2, newParts())
	if results[0].Outcome != record.OK || results[1].Outcome != record.Failed || results[1].Reason != exists {
		t.Errorf("creating a key twice comes to %+v", results)
	}
}

func TestUpdateMeetsAConflict(t *testing.T) {
	s := startEtcd(t)
	for _, row := range []struct {
		retries  int
		want     workload.Result
		attempts int
	}{
		{0, workload.Result{Outcome: record.Failed, Reason: conflict}, 1},
		{1, workload.Result{Outcome: record.OK, Reason: retried}, 2},
	} {
		o := options(s, scenario(v1.EtcdWorkload{KubeUpdate: &v1.EtcdUpdate{EtcdKeys: v1.EtcdKeys{KeySpace: 1}, Retries: row.retries}}, 1))
		w := prepared(t, o)
		w.(*etcd).revisions[0].Store(1) // as if somebody else had changed the key since
		seen := newParts()
		got := perform(t, dialled(t, w, 0), 1, seen)[0]
		got.Bytes = 0
		if got != row.want || len(seen.kinds["attempt"]) != row.attempts {
			t.Errorf("with %d retries: %+v after %d attempts", row.retries, got, len(seen.kinds["attempt"]))
		}
	}
}

// A frozen server answers nothing: the client gives up, and the update is applied when the server goes on.
func TestUpdateThatTimedOutIsReadBack(t *testing.T) {
	s := startEtcd(t)
	o := options(s, scenario(v1.EtcdWorkload{KubeUpdate: &v1.EtcdUpdate{EtcdKeys: v1.EtcdKeys{KeySpace: 1}, Retries: 5}}, 1))
	o.Timeout = 2 * time.Second
	c := dialled(t, prepared(t, o), 0)
	op, _ := c.Next()
	s.freeze(t)
	seen := newParts()
	seen.after = sync.OnceFunc(func() { s.signal(t, "CONT") }) // when the first attempt is over
	got := op.Do(t.Context(), seen)
	if got.Outcome != record.OK || got.Reason != applied && got.Reason != retried {
		t.Errorf("the update came to %+v; attempts %+v, read back %+v", got, seen.kinds["attempt"], seen.kinds["read-back"])
	}
	if first := seen.kinds["attempt"][0]; first.Outcome != record.TimedOut || first.Reason != "timeout" {
		t.Errorf("the first attempt came to %+v", first)
	}
	if len(seen.kinds["read-back"]) == 0 {
		t.Error("nothing was read back")
	}
	allFine(t, perform(t, c, 1, seen), 1) // the connection is whole
}

func TestWatchTimesEventsFromTheirWrites(t *testing.T) {
	s := startEtcd(t)
	writes := new(Writes)
	watching := options(s, v1.EtcdWorkload{Watch: &v1.EtcdWatch{To: "any"}})
	putting := options(s, scenario(v1.EtcdWorkload{Put: &v1.EtcdKeys{}}, 20))
	watching.Writes, putting.Writes = writes, writes
	watcher := dialled(t, prepared(t, watching), 0)
	putter := dialled(t, prepared(t, putting), 0)
	op, _ := watcher.Next()
	if !op.Lasting {
		t.Fatal("a watch goes on until its phase ends")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	seen := newParts()
	ended := make(chan workload.Result)
	go func() { ended <- op.Do(ctx, seen) }()
	early := 0 // puts until the watch is there, which it may miss
	eventually(t, "the watch hears of a put", func() bool {
		early++
		allFine(t, perform(t, putter, 1, seen), 1)
		return seen.events() > 0
	})
	const puts = 20
	allFine(t, perform(t, putter, puts, seen), puts)
	eventually(t, "the watch hears of the last put", func() bool { return seen.events() > puts })
	cancel(workload.ErrOver)
	r := <-ended
	if r.Outcome != record.OK || r.Items > int64(early+puts) || int64(len(seen.took)) != r.Items {
		t.Errorf("of %d puts the watch came to %+v, with %d delays", early+puts, r, len(seen.took))
	}
}

func TestAnUnreachableServerIsAnErrorWithinFiveSeconds(t *testing.T) {
	for _, endpoint := range []string{
		freeURL(t),              // nobody listens
		"http://192.0.2.1:2379", // nobody answers: reserved for documentation
		deafServer(t),           // somebody accepts, and says nothing
		"https://" + deafServer(t)[len("http://"):], // the same, in the midst of a handshake
	} {
		for _, to := range []string{"any", "leader"} {
			t.Run(endpoint+" "+to, func(t *testing.T) {
				t.Parallel()
				o := options(server{endpoint: endpoint}, scenario(v1.EtcdWorkload{Put: &v1.EtcdKeys{To: to}}, 1))
				started := time.Now()
				err := New(o).Prepare(t.Context())
				if err == nil || !strings.Contains(err.Error(), endpoint) || !strings.Contains(err.Error(), "is the server running") {
					t.Errorf("error is %v", err)
				}
				if took := time.Since(started); took > connectTimeout+4*time.Second { // less than a request may take
					t.Errorf("it took %s", took)
				}
			})
		}
	}
}

func TestASpaceQuotaIsNoSpace(t *testing.T) {
	s := startEtcd(t, "--quota-backend-bytes=1048576")
	w := prepared(t, options(s, scenario(v1.EtcdWorkload{Put: &v1.EtcdKeys{ValueSize: 100 << 10}}, 100)))
	results := perform(t, dialled(t, w, 0), 100, newParts())
	last := results[len(results)-1]
	if last.Outcome != record.Failed || last.Reason != "no-space" {
		t.Errorf("on a full etcd, a put comes to %+v", last)
	}
	full := New(options(s, scenario(v1.EtcdWorkload{KubeList: &v1.EtcdList{ValueSize: 100 << 10}}, 1)))
	if err := full.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "raise etcd's quota-backend-bytes") {
		t.Errorf("filling a full etcd: %v", err)
	}
}

func TestAServerThatIsKilled(t *testing.T) {
	s := startEtcd(t)
	c := dialled(t, prepared(t, options(s, scenario(v1.EtcdWorkload{Put: &v1.EtcdKeys{}}, 10))), 0)
	allFine(t, perform(t, c, 1, newParts()), 1)
	s.signal(t, "KILL")
	<-s.process.Exited()
	for _, r := range perform(t, c, 3, newParts()) {
		if r.Outcome != record.Failed || r.Reason != "reset" && r.Reason != "closed" && r.Reason != refused {
			t.Errorf("a put on a dead server comes to %+v", r)
		}
	}
}
