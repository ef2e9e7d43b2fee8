package plan

import (
	"time"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

// Estimate is roughly what the runs come to. It rests on the rates below, and
// is there so that nobody starts an hour or fills a disk by mistake.
type Estimate struct {
	Objects  int64       `json:"objects"`   // made in preparation
	Requests int64       `json:"requests"`  // of the steps, but for loops that go on as long as others
	Bytes    int64       `json:"bytes"`     // moved by those requests
	Disk     int64       `json:"diskBytes"` // at a time: of one run
	Duration v1.Duration `json:"duration"`
}

// Rates behind the estimate, as seen on two cores: creates through the API at
// 800-1,000/s when small and 90 MB/s when large, walks at 250 pages of 100 objects
// of 10 KiB per second.
const (
	createsPerSecond  = 800
	createBytesPerSec = 50e6
	filledPerSecond   = 50_000 // straight into the datastore
	filledBytesPerSec = 60e6
	settling          = 5 * time.Second
	requestsPerSecond = 1500
	storesPerSecond   = 10_000 // puts of 100 clients, or blocks that are synced
	bytesPerSecond    = 300e6
	bootAndTeardown   = 8 * time.Second
	metadataBytes     = 350   // of an object in JSON, beside its payload
	emptyTarget       = 150e6 // of disk: preallocated logs, results
	diskPerByte       = 2     // a database and its log, against the objects in it
)

// stock is what a fill makes: objects of one resource and namespace.
type stock struct {
	resource  v1.Resource
	namespace v1.Name
	count     int64
	size      int64 // of one object
}

type stocks []stock

// fill brings a stock to the fill's count, and says how many objects of what
// size that makes.
func (s *stocks) fill(fill v1.Fill) (made, size int64) {
	size, count := objectBytes(fill.Payload), int64(fill.Count)
	if fill.Template != "" {
		return count, size + int64(len(fill.Template))
	}
	for i := range *s {
		if known := &(*s)[i]; known.resource == fill.Resource && known.namespace == fill.Namespace {
			made = max(0, count-known.count)
			known.count += made
			return made, size
		}
	}
	*s = append(*s, stock{fill.Resource, fill.Namespace, count, size})
	return count, size
}

func estimate(spec *v1.Spec) Estimate {
	e := Estimate{Duration: v1.Duration(bootAndTeardown)}
	var stocks stocks
	var written int64
	prepare := func(preparations []v1.Preparation) {
		for _, p := range preparations {
			if fill := p.Fill; fill != nil {
				made, size := stocks.fill(*fill)
				written += made * size
				e.Objects += made
				e.Duration += v1.Duration(creating(made, size, fill.Through))
			}
			if p.Settle != nil {
				e.Duration += v1.Duration(settling)
			}
		}
	}
	prepare(spec.Prepare)
	for _, step := range spec.Steps {
		prepare(step.Prepare)
		var longest time.Duration
		for _, phase := range step.Phases {
			operations, took := operationsOf(phase)
			requests, bytes, kept := perOperation(phase, stocks)
			switch each := max(float64(requests)/pace(phase), float64(bytes)/bytesPerSecond); {
			case took == 0:
				took = seconds(float64(operations)*each) + thinking(phase)
			case operations == 0 && phase.Load.Closed != nil:
				operations = within(took, each, phase)
			}
			longest = max(longest, took)
			e.Requests += operations * requests
			e.Bytes += operations * bytes
			written += operations * kept
		}
		e.Duration += v1.Duration(longest)
	}
	e.Disk = (emptyTarget + written*diskPerByte) * members(spec.Target)
	return e
}

// with adds another run's estimate; of disk, it is the larger one that counts.
func (e Estimate) with(o Estimate) Estimate {
	return Estimate{e.Objects + o.Objects, e.Requests + o.Requests, e.Bytes + o.Bytes, max(e.Disk, o.Disk), e.Duration + o.Duration}
}

// pace is how many requests of the phase's kind are answered in a second.
func pace(phase v1.Phase) float64 {
	if phase.Etcd != nil || phase.Disk != nil {
		return storesPerSecond
	}
	return requestsPerSecond
}

// creating is how long it takes to create objects.
func creating(count, size int64, through v1.Way) time.Duration {
	if through == v1.ThroughDatastore {
		return max(seconds(float64(count)/filledPerSecond), seconds(float64(count*size)/filledBytesPerSec))
	}
	return max(seconds(float64(count)/createsPerSecond), seconds(float64(count*size)/createBytesPerSec))
}

// operationsOf gives the operations of a phase, and its duration if that is what bounds it.
func operationsOf(phase v1.Phase) (int64, time.Duration) {
	switch load := phase.Load; {
	case load.Open != nil:
		return int64(load.Open.Operations()), time.Duration(load.Open.Duration)
	case load.Closed.IterationsPerClient > 0:
		return int64(load.Closed.IterationsPerClient) * int64(load.Closed.Clients), 0
	case load.Closed.Iterations > 0:
		return int64(load.Closed.Iterations), 0
	case phase.Kube != nil && phase.Kube.Delete != nil:
		return int64(phase.Kube.Delete.Count), time.Duration(load.Closed.Duration)
	default:
		return 0, time.Duration(load.Closed.Duration)
	}
}

// within is how many operations a closed loop comes to in a time, if each takes so
// many seconds of the server. A watch goes on until then.
func within(d time.Duration, each float64, phase v1.Phase) int64 {
	clients := phase.Load.Clients()
	if phase.Kube != nil && phase.Kube.Watch != nil || phase.Etcd != nil && phase.Etcd.Watch != nil || phase.Steve != nil && phase.Steve.Watch != nil {
		return int64(clients)
	}
	think := time.Duration(phase.Load.Closed.Think).Seconds()
	return int64(d.Seconds() / max(each, think/float64(clients)))
}

// thinking is how long a client of a phase pauses, in all.
func thinking(phase v1.Phase) time.Duration {
	closed := phase.Load.Closed
	if closed == nil {
		return 0
	}
	return time.Duration(max(closed.IterationsPerClient, closed.Iterations/closed.Clients)) * time.Duration(closed.Think)
}

// walk gives the requests and the bytes of one walk over a collection.
func (s stocks) walk(resource v1.Resource, namespace v1.Name, pageSize int) (requests, bytes int64) {
	var objects int64
	for _, stock := range s {
		if stock.resource == resource && (namespace == "" || namespace == stock.namespace) {
			objects += stock.count
			bytes += stock.count * stock.size
		}
	}
	if size := int64(pageSize); size > 0 {
		return max(1, (objects+size-1)/size), bytes
	}
	return 1, bytes
}

// perOperation gives the requests of one operation, the bytes that they move,
// and the bytes that stay in the datastore.
func perOperation(phase v1.Phase, stocks stocks) (requests, bytes, kept int64) {
	switch {
	case phase.Kube != nil:
		return perKubeOperation(phase.Kube, stocks)
	case phase.Steve != nil && phase.Steve.List != nil:
		l := phase.Steve.List
		requests, bytes = stocks.walk(l.Resource, l.Namespace, l.PageSize)
		return requests, bytes, 0
	case phase.Disk != nil && phase.Disk.Sequential != nil:
		return 1, int64(phase.Disk.Sequential.Block), 0 // the file is written over
	case phase.Etcd != nil && phase.Etcd.Put != nil:
		size := int64(phase.Etcd.Put.KeySize + phase.Etcd.Put.ValueSize)
		return 1, size, size
	}
	return 1, metadataBytes, 0
}

func perKubeOperation(o *v1.KubeWorkload, stocks stocks) (requests, bytes, kept int64) {
	switch {
	case o.List != nil:
		requests, bytes = stocks.walk(o.List.Resource, o.List.Namespace, o.List.PageSize)
		return requests, bytes, 0
	case o.Get != nil:
		for _, s := range stocks {
			if s.resource == o.Get.Resource && s.namespace == o.Get.Namespace {
				return 1, s.size, 0
			}
		}
		return 1, 0, 0
	case o.Create != nil:
		return 1, 2 * objectBytes(o.Create.Payload), objectBytes(o.Create.Payload)
	case o.Bundle != nil:
		_, parts := o.Operations()
		made := int64(len(o.Bundle.Templates))
		return int64(len(parts)), int64(len(parts)) * objectBytes(o.Bundle.Payload), made * objectBytes(o.Bundle.Payload)
	case o.Unbundle != nil:
		made := int64(len(o.Unbundle.Bundle.Templates))
		return made, made * metadataBytes, 0
	case o.Churn != nil: // what it deletes stays until etcd compacts
		return 2, 2 * objectBytes(o.Churn.Payload), objectBytes(o.Churn.Payload)
	default:
		return 1, metadataBytes, 0
	}
}

func objectBytes(payload v1.Bytes) int64 { return metadataBytes + (int64(payload)+2)/3*4 }

func members(t v1.Target) int64 {
	if t.Local == nil || t.Local.Datastore.Etcd == nil {
		return 1
	}
	return int64(t.Local.Datastore.Etcd.Members)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
