package v1alpha1

import (
	"strings"
	"testing"
)

// phaseOn gives a scenario of one phase, with its defaults.
func phaseOn(t Target, p Phase) *Scenario {
	p.Name = "p"
	if p.Load == (Load{}) {
		p.Load = Load{Closed: &ClosedLoad{Clients: 1, Iterations: 100}}
	}
	s := &Scenario{Spec: Spec{Target: t, Steps: []Step{{Name: "s", Phases: []Phase{p}}}}}
	s.Default()
	return s
}

func TestFaultsOfDiskAndEtcdWorkloads(t *testing.T) {
	folder := Target{Directory: &DirectoryTarget{}}
	no := false
	etcd := Target{Local: &LocalTarget{KubeAPIServer: KubeAPIServer{Enabled: &no}}}
	kine := Target{Local: &LocalTarget{KubeAPIServer: KubeAPIServer{Enabled: &no}, Datastore: Datastore{Kine: &Kine{Backend: SQLite}}}}
	for _, row := range []struct {
		name   string
		target Target
		phase  Phase
		want   string // in the one fault; empty for none
	}{
		{"sequential writes", folder, Phase{Disk: &DiskWorkload{Sequential: &SequentialWrites{}}}, ""},
		{"writes of a log", folder, Phase{Disk: &DiskWorkload{WAL: &WALWrites{}}}, ""},
		{"direct writes", folder, Phase{Disk: &DiskWorkload{Sequential: &SequentialWrites{Direct: true, Block: 4096}}}, ""},
		{"direct writes of no whole sectors", folder, Phase{Disk: &DiskWorkload{Sequential: &SequentialWrites{Direct: true}}}, "disk.sequential.block: is 2300B: direct writes"},
		{"a block larger than its file", folder, Phase{Disk: &DiskWorkload{Sequential: &SequentialWrites{File: 1000}}}, "no block of 2300B has room"},
		{"no kind of writes", folder, Phase{Disk: &DiskWorkload{}}, "exactly one of sequential and wal"},
		{"entries that shrink", folder, Phase{Disk: &DiskWorkload{WAL: &WALWrites{Entry: 100, EntryTo: 10}}}, "less than entry"},
		{"entries that etcd would not take", folder, Phase{Disk: &DiskWorkload{WAL: &WALWrites{EntryTo: 17 << 20}}}, "etcd takes no entry"},
		{"small segments", folder, Phase{Disk: &DiskWorkload{WAL: &WALWrites{Segment: 1000}}}, "must be 1MiB at least"},
		{"etcd on a folder", folder, Phase{Etcd: &EtcdWorkload{Put: &EtcdKeys{}}}, "needs a local target, or a borrowed etcd"},

		{"puts", etcd, Phase{Etcd: &EtcdWorkload{Put: &EtcdKeys{}}}, ""},
		{"deletes, which have an end of their own", etcd, Phase{Etcd: &EtcdWorkload{Delete: &EtcdKeys{}}, Load: Load{Closed: &ClosedLoad{Clients: 3}}}, ""},
		{"no kind of operation", etcd, Phase{Etcd: &EtcdWorkload{}}, "exactly one kind of operation, but has 0"},
		{"two kinds of operations", etcd, Phase{Etcd: &EtcdWorkload{Put: &EtcdKeys{}, Lease: &EtcdLease{}}}, "but has 2: put, lease"},
		{"keys that have no room", etcd, Phase{Etcd: &EtcdWorkload{Put: &EtcdKeys{KeySize: 3, KeySpace: 1001}}}, "the last of 1001 keys has 4 digits"},
		{"more deletes than keys", etcd, Phase{Etcd: &EtcdWorkload{Delete: &EtcdKeys{KeySpace: 10}}}, "there are 100 deletions"},
		{"deletes by popularity", etcd, Phase{Etcd: &EtcdWorkload{KubeDelete: &EtcdKeys{Order: "zipfian"}}}, "each key is deleted once"},
		{"large transactions", etcd, Phase{Etcd: &EtcdWorkload{Txn: &EtcdTxn{Puts: 129}}}, "at most 128 operations"},
		{"transactions of more keys than there are", etcd, Phase{Etcd: &EtcdWorkload{Txn: &EtcdTxn{EtcdKeys: EtcdKeys{KeySpace: 5}}}}, "only 5 different keys"},
		{"a watch of ten iterations", etcd, Phase{Etcd: &EtcdWorkload{Watch: &EtcdWatch{}}}, "a watch goes on until its phase ends"},

		{"puts on kine", kine, Phase{Etcd: &EtcdWorkload{Put: &EtcdKeys{}}}, "kine answers only the transactions that kube-apiserver sends"},
		{"leases on kine", kine, Phase{Etcd: &EtcdWorkload{Lease: &EtcdLease{}}}, "kine answers only the transactions that kube-apiserver sends"},
		{"kube-apiserver's creates on kine", kine, Phase{Etcd: &EtcdWorkload{KubeCreate: &EtcdKeys{}}}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			faults := phaseOn(row.target, row.phase).Validate()
			var texts []string
			for _, f := range faults {
				texts = append(texts, f.Path+": "+f.Message)
			}
			got := strings.Join(texts, "\n")
			if row.want == "" && got != "" || row.want != "" && len(faults) != 1 || !strings.Contains(got, row.want) {
				t.Errorf("faults are %q", got)
			}
		})
	}
}

func TestKeySpacesThatFitTheLoad(t *testing.T) {
	closed := Load{Closed: &ClosedLoad{Clients: 4, IterationsPerClient: 50}}
	unknown := Load{Closed: &ClosedLoad{Clients: 4, Duration: 1e9}}
	open := Load{Open: &OpenLoad{Rate: 10, RateTo: 30, Duration: 5e9}}
	for _, row := range []struct {
		load Load
		does EtcdWorkload
		want int
	}{
		{closed, EtcdWorkload{Put: &EtcdKeys{}}, 200},
		{open, EtcdWorkload{Put: &EtcdKeys{}}, 100},
		{unknown, EtcdWorkload{Put: &EtcdKeys{}}, 1_000_000},
		{closed, EtcdWorkload{Txn: &EtcdTxn{Puts: 3}}, 600},
		{closed, EtcdWorkload{KubeUpdate: &EtcdUpdate{}}, 10_000},
		{closed, EtcdWorkload{KubeDelete: &EtcdKeys{}}, 200},
		{unknown, EtcdWorkload{Delete: &EtcdKeys{}}, 100_000},
		{closed, EtcdWorkload{Range: &EtcdRange{EtcdKeys: EtcdKeys{KeySpace: 5}}}, 5},
	} {
		w := row.does
		w.setDefaults(row.load)
		if got := w.keys()[0].KeySpace; got != row.want {
			t.Errorf("%s under a %s has %d keys instead of %d", w.InWords(), row.load.InWords(), got, row.want)
		}
	}
}
